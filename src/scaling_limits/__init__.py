"""Training dynamics at infinite width and depth: one pipeline for five papers."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    from jaxtyping import PyTree
    from numpy.typing import ArrayLike

    from scaling_limits.model_check.report import Report
    from scaling_limits.model_check.training import Loss, OptimiserBySize
    from scaling_limits.model_check.transfer import TransferReport
    from scaling_limits.mup_rules.rules import Optimiser
    from scaling_limits.mup_rules.scaler import Scaler

__all__ = ["__version__", "check", "check_transfer", "load", "mup", "train"]

__version__ = version("scaling-limits")


def load(figure: str, preset: str = "smoke", root: Path | str | None = None) -> pd.DataFrame:
    """Return the table that a computed figure shows, with one row for each panel, line, point and seed.

    Args:
        figure: the figure, as `<paper>/<figure>`.
        preset: the preset that it was computed at.
        root: the project's folder; by default the working directory, or the nearest folder above it, that has this
            figure.

    Returns:
        A table with the columns `panel` (from 0), `title`, `line`, `quantity`, `grid`, `cell_id`, `seed`, `value` and
        `diverged` (whether any seed diverged at this point). They are followed by all settings of `docs/settings.md`
        and the axis that the quantity keeps, if any: `step`, `inference_step`, `layer`, `index`, or, relative to the
        last layer and to the depth, `relative_layer` and `relative_index`. For a figure with several plots, the first
        column is `plot` (from 0).

    Raises:
        ScalingLimitsError: the figure has not been computed at this preset. The message gives the command that computes
            it and the figures that have been computed.

    Examples:
        >>> import scaling_limits
        >>> table = scaling_limits.load("mupc/fig5", preset="smoke")
        >>> list(table)[:4]
        ['panel', 'title', 'line', 'quantity']
        >>> means = table.groupby(["line", "learning_rate"])["value"].mean()
    """
    # pandas and matplotlib take a second to import, which the command line should not wait for
    from scaling_limits.plots.figure_folder import FigureFolder, find

    return FigureFolder.open(find(figure, preset, root)).table()


def mup(
    params: PyTree,
    base_params: PyTree,
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
    # jax and optax take seconds to import, so they are imported only when needed
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
    """Train one network, or a sweep over lists of values, and return the records.

    The numbers are those of a figure's cells with the same settings. Networks that differ only in seed, learning rates
    and multipliers share one compiled program. If standard error is a terminal, a progress bar is shown.

    Args:
        settings: settings of `docs/settings.md`. A list of values, also a tuple, range or array, makes a sweep: the
            product of all lists is trained. If one value is a list (`input_shape`, `frozen`, `augmentation`), only a
            list of lists makes a sweep.
        measurements: for each measurement of `docs/adding/measurement.md`, the numbers of updates after which it is
            taken; `"end"` means after the last update.
        data: your own dataset, as the arrays `x_train`, `y_train`, `x_test` and `y_test` or as an .npz file with these
            arrays, which the setting `dataset` may give a name; or a folder with copies of the project's datasets.
        store: a folder of computed cells, such as `results/cells`. Networks in it are loaded instead of trained, and
            trained networks are added to it. By default nothing is stored.
        algorithms: your own algorithms, a Python file for each name, as in `config/config.yaml`.
        parameterisations: your own rows of the table of parameterisations, as in `config/config.yaml`.

    Returns:
        A table with the columns `metric`, `step`, `inference_step`, `layer`, `index` (missing values if a metric lacks
        the axis) and `value`. For a sweep, these columns follow one column for each setting with a list of values, and
        the column `seed`.

    Raises:
        ConfigurationError: an argument, setting or measurement is unknown, missing, invalid or incompatible with the
            others; a measured step is never reached; the dataset is invalid or could not be obtained; the networks
            do not fit into this machine's memory; or the store cannot be read or written.

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


def check(
    build: Callable[..., object],
    optimiser: OptimiserBySize,
    *,
    data: tuple[ArrayLike, ArrayLike],
    loss: Loss = "cross_entropy",
    widths: Sequence[int] = (64, 128, 256, 512),
    depths: Sequence[int] = (1,),
    seeds: int = 3,
    steps: int = 10,
) -> Report:
    """Check whether the features of your own model keep their size and change as it gets wider or deeper.

    The model is trained for a few full-batch steps at several widths (at the smallest depth) and depths (at the largest
    width). Each layer gets a verdict from the exponents of its size, change and update by its own weights, with
    intervals. `docs/check.md` defines quantities, thresholds and verdicts.

    Args:
        build: returns the model of a width and depth: `build(width, depth)` a Flax linen module, or functions
            `(init, apply)` with `init(key)` the parameters and `apply(params, x)` the outputs and a dictionary of
            features by layer; `build(width, depth, rngs)` a Flax nnx module.
        optimiser: `optimiser(width, depth)` returns an optax transformation, or a dictionary of them by pattern of
            layer names, as in `{"readout": optax.sgd(0.1), "*": optax.sgd(1.0)}`; the first match decides.
        data: x and y, both with one entry for each sample, all of which each step uses.
        loss: `cross_entropy` (y: integer classes, or probabilities), `mean_squared_error`, or a function of outputs
            and y that returns a scalar.
        widths: different positive integers.
        depths: different positive integers.
        seeds: the number of independent initialisations at each size.
        steps: the number of updates, at least 2.

    Returns:
        The report. `report.verdict` is `stable`, `explodes`, `vanishes`, `lazy` or `inconclusive`; `report.layers`
        holds the same for each layer, with reasons and usual causes; `report.culprit` is the layer to look at first.

    Raises:
        ConfigurationError: an argument is invalid, or models of different sizes cannot be compared; names the layer.
    """
    from scaling_limits.model_check.check import check as run

    return run(
        build,
        optimiser,
        data=data,
        loss=loss,
        widths=widths,
        depths=depths,
        seeds=seeds,
        steps=steps,
    )


def check_transfer(
    build: Callable[..., object],
    optimiser: OptimiserBySize,
    *,
    data: tuple[ArrayLike, ArrayLike],
    learning_rates: Sequence[float] | None = None,
    hyperparameters: Mapping[str, Sequence[float]] | None = None,
    loss: Loss = "cross_entropy",
    widths: Sequence[int] = (64, 128, 256, 512),
    depths: Sequence[int] = (1,),
    seeds: int = 3,
    steps: int = 100,
    max_shift: float = 1.0,
) -> TransferReport:
    """Check whether the optimum of a hyperparameter of your own model stays in place as it gets wider or deeper.

    All values and seeds of one size are trained by one compiled program. The optimum has the smallest training loss
    after the last update. It is judged as the claims of kind `optimum_stays` in this project's figures are.

    Args:
        build: as for `check`. It may have the hyperparameter as a further parameter.
        optimiser: as for `check`, with the hyperparameter as a further parameter:
            `optimiser(width, depth, learning_rate)`.
        data: x and y, all of which each step uses.
        learning_rates: the values of `learning_rate`; at least three, positive, in factors of two for instance.
        hyperparameters: another hyperparameter and its values instead, as in `{"weight_decay": [0.01, 0.1, 1.0]}`.
        loss: as for `check`.
        widths: different positive integers.
        depths: different positive integers.
        seeds: the number of independent initialisations at each size.
        steps: the number of updates, at least 2.
        max_shift: by how many octaves the optimum may move in all. Over a short range of sizes it may move by a quarter
            octave for each doubling only.

    Returns:
        The report. `report.verdict` is `transfers`, `moves` or `inconclusive`.

    Raises:
        ConfigurationError: an argument is invalid, or models of different sizes cannot be compared; names the layer.
    """
    from scaling_limits.errors import ConfigurationError
    from scaling_limits.model_check.transfer import check_transfer as run

    swept = dict(hyperparameters or {})
    if learning_rates is not None:
        swept["learning_rate"] = learning_rates
    if len(swept) != 1:
        raise ConfigurationError(
            "hyperparameters",
            f"{len(swept)} are swept; give either learning_rates or one entry of hyperparameters",
        )
    ((name, values),) = swept.items()
    return run(
        build,
        optimiser,
        name,
        list(values),
        data=data,
        loss=loss,
        widths=widths,
        depths=depths,
        seeds=seeds,
        steps=steps,
        max_shift=max_shift,
    )
