"""Training dynamics at infinite width and depth: one pipeline for five papers."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike

    from scaling_limits.model_check.report import Report
    from scaling_limits.model_check.training import Loss
    from scaling_limits.model_check.transfer import TransferReport

__all__ = ["__version__", "check", "check_transfer", "load", "train"]

__version__ = version("scaling-limits")


def load(figure: str, preset: str = "smoke", root: Path | str | None = None) -> pd.DataFrame:
    """The table that a computed figure shows: one row for each panel, line, point and seed.

    Its columns are `panel` (from 0), `title`, `line`, `quantity`, `grid`, `cell_id`, `seed`, `value` and `diverged`
    (some seed did at this point), then all settings of the cell as in `docs/settings.md`, and the axis that the
    quantity keeps, if it has one (`step`, `inference_step`, `layer`, `index`, or over the depth `relative_layer`,
    `relative_index`). Of a figure of several plots the first column is `plot` (from 0).

    `figure` is named as in `load("mupc/fig5")`; `root` is the project's folder (default: the nearest one above the
    working directory that has results).

    Raises:
        ScalingLimitsError: the figure was not computed at this preset; says how to compute it, and which were.
    """
    # pandas and matplotlib take a second to import: only for who asks
    from scaling_limits.plots.figure_folder import FigureFolder, find

    return FigureFolder.open(find(figure, preset, root)).table()


def train(
    settings: Mapping[str, object],
    measurements: Mapping[str, Sequence[int | Literal["end"]]] | None = None,
    data: Mapping[str, ArrayLike] | Path | str | None = None,
    *,
    algorithms: Mapping[str, Path | str] | None = None,
    parameterisations: Sequence[Mapping[str, object]] | None = None,
) -> pd.DataFrame:
    """Train one network and return its records, with the numbers that a figure's cell of the same settings has.

    Nothing is stored.

    Args:
        settings: those of `docs/settings.md`, one value each.
        measurements: for each name of `docs/adding.md`, the numbers of updates after which it is taken; `"end"` is all.
        data: an own dataset, as the arrays `x_train`, `y_train`, `x_test` and `y_test` or an .npz file of these, which
            the setting `dataset` may give a name; or a folder with copies of the project's datasets.
        algorithms: own algorithms, a Python file for each name, as in `config/config.yaml`.
        parameterisations: own rows of the table, as in `config/config.yaml`.

    Returns:
        The columns `metric`, `step`, `inference_step`, `layer`, `index` (each missing where a metric does not have it)
        and `value`.

    Raises:
        ConfigurationError: an argument, setting or measurement is unknown, missing, invalid or does not go with the
            others; a measured step is never reached; the network does not fit into this machine's memory.
        DatasetError: the dataset is invalid or could not be obtained.
    """
    from scaling_limits.pipeline import by_hand

    return by_hand.train(settings, measurements, data, algorithms, parameterisations)


def check(
    build: Callable[..., object],
    optimiser: Callable[..., Any],
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
    optimiser: Callable[..., Any],
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
