"""Training dynamics at infinite width and depth: one pipeline for five papers."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike

    from scaling_limits.mup_rules.rules import Optimiser
    from scaling_limits.mup_rules.scaler import Scaler

__all__ = ["__version__", "load", "mup", "train"]

__version__ = version("scaling-limits")


def load(figure: str, preset: str = "smoke", root: Path | str | None = None) -> pd.DataFrame:
    """Return the table that a computed figure shows, with one row for each panel, line, point and seed.

    Args:
        figure: the figure as `<paper>/<figure>`, for example `mupc/fig5`.
        preset: the preset at which the figure was computed.
        root: the project's folder; by default the nearest folder at or above the working directory that has results.

    Returns:
        A table with the columns `panel` (from 0), `title`, `line`, `quantity`, `grid`, `cell_id`, `seed`, `value` and
        `diverged` (whether any seed diverged at this point), then all settings of the cell as in `docs/settings.md`,
        and the axis that the quantity keeps, if any: `step`, `inference_step`, `layer` or `index`, or `relative_layer`
        or `relative_index` for positions relative to the depth. For a figure with several plots, the first column is
        `plot` (from 0).

    Raises:
        ScalingLimitsError: the figure was not computed at this preset. The message says how to compute it and which
            figures were computed.
    """
    # pandas and matplotlib take a second to import, so they are imported only when needed
    from scaling_limits.plots.figure_folder import FigureFolder, find

    return FigureFolder.open(find(figure, preset, root)).table()


def mup(
    params: Any,
    base_params: Any,
    optimiser: Optimiser = "adam",
    *,
    depth: tuple[int, int] | None = None,
    branches: str | Sequence[str] | None = None,
    depth_exponent: float = 1.0,
    roles: Mapping[str, str] | None = None,
) -> Scaler:
    """Scale the initialisation and the optimiser of a Flax model with its width (µP) and depth (CompleteP).

    At the base size everything is as the user has it. The axes in which the two trees differ give each parameter its
    role (`docs/mup.md`), and its role the powers (Tensor Programs V Table 3; depth-mup Table 2; Dey et al. 2025).
    Multipliers in the forward pass cannot be set from outside; the result lists those that the model needs.

    Args:
        params: parameters of the target model, arrays or shapes (`jax.eval_shape`): a pytree with Flax's order of axes,
            such as `model.init(...)["params"]` or `nnx.state(model, nnx.Param)`.
        base_params: the same parameters at the base width, with the depth of the target; arrays for `rescale`.
        optimiser: the update rule, `sgd`, `adam` or `adamw`.
        depth: base and target number of residual blocks, if the depth is scaled.
        branches: pattern of the paths of all parameters in residual branches, or several, if the depth is scaled.
        depth_exponent: alpha of the branch multiplier m_L^-alpha: 1 is CompleteP, 1/2 Depth-µP.
        roles: pattern of paths -> role (`input`, `hidden`, `output`, `tied` or `fixed`) instead of that of the axes.

    Returns:
        An object with `rescale(params)`, `optimiser(inner, **hyperparameters)`, `table()` and `multipliers`: the
        numbers by which the model itself multiplies residual branches, attention scores and tied logits.

    Raises:
        ConfigurationError: a parameter exists at one width only, no shape changes, axes grow by different ratios, a
            role does not follow from the axes, a pattern matches nothing, or another argument is invalid.

    Example:
        >>> mup = scaling_limits.mup(params, base_params, optimiser="adam")
        >>> params = mup.rescale(params)
        >>> transformation = mup.optimiser(optax.adamw, learning_rate=1e-3, weight_decay=0.01)
        >>> print(mup.table())
    """
    # jax and optax take seconds to import: only for who asks
    from scaling_limits.mup_rules.build import build

    return build(
        params,
        base_params,
        optimiser,
        depth=depth,
        branches=branches,
        depth_exponent=depth_exponent,
        roles=roles or {},
    )


def train(
    settings: Mapping[str, object],
    measurements: Mapping[str, Sequence[int | Literal["end"]]] | None = None,
    data: Mapping[str, ArrayLike] | Path | str | None = None,
    *,
    store: Path | str | None = None,
    algorithms: Mapping[str, Path | str] | None = None,
    parameterisations: Sequence[Mapping[str, object]] | None = None,
) -> pd.DataFrame:
    """Train one network and return its records, which equal those of a figure's cell with the same settings.

    The numbers are those of a figure's cells with the same settings. Networks that differ only in seed, learning rates
    and multipliers share one compiled program. If standard error is a terminal, a progress bar is shown.

    Args:
        settings: the settings of `docs/settings.md`, one value each.
        measurements: for each measurement of `docs/adding/measurement.md`, the numbers of updates after which it is
            taken; `"end"` means after the last update.
        data: a dataset of your own, either as the arrays `x_train`, `y_train`, `x_test` and `y_test` or as an .npz file
            with these arrays, which the setting `dataset` may name; or a folder with copies of the project's datasets.
        algorithms: your own algorithms, one Python file for each name, as in `config/config.yaml`.
        parameterisations: your own rows of the table of parameterisations, as in `config/config.yaml`.

    Returns:
        A table with the columns `metric`, `step`, `inference_step`, `layer`, `index` (each missing for metrics without
        this axis) and `value`.

    Raises:
        ConfigurationError: an argument, setting or measurement is unknown, missing, invalid or incompatible with the
            others; a measured step is never reached; or the network does not fit into this machine's memory.
        DatasetError: the dataset is invalid or could not be obtained.
    """
    from scaling_limits.pipeline import by_hand

    Examples:
        One network:

        >>> import scaling_limits
        >>> settings = {
        ...     "dataset": "digits",
        ...     "num_train": 64,
        ...     "width": 16,
        ...     "depth": 2,
        ...     "depth_kind": "hidden_layers",
        ...     "activation": "tanh",
        ...     "parameterisation": "mup",
        ...     "algorithm": "backpropagation",
        ...     "optimiser": "sgd",
        ...     "learning_rate": 0.1,
        ...     "num_steps": 5,
        ...     "batch_size": 64,
        ... }
        >>> records = scaling_limits.train(settings, {"performance": ["end"]})
        >>> sorted(records["metric"].unique())
        ['test_accuracy', 'test_loss', 'train_loss']

        A sweep over width and seed:

        >>> records = scaling_limits.train({**settings, "width": [8, 16], "seed": range(2)})
        >>> records[records["step"] == 4].shape
        (4, 8)
        >>> list(records)
        ['width', 'seed', 'metric', 'step', 'inference_step', 'layer', 'index', 'value']
    """
    from scaling_limits.pipeline import sweep

    return sweep.train(settings, measurements, data, store, algorithms, parameterisations)
