"""Training dynamics at infinite width and depth: one pipeline for five papers."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike

__all__ = ["__version__", "load", "train"]

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
        ScalingLimitsError: the figure was not computed at this preset; says which were.
    """
    # pandas and matplotlib take a second to import: only for who asks
    from scaling_limits.plotting.figure_folder import FigureFolder, find

    return FigureFolder.open(find(figure, preset, root)).table()


def train(
    settings: Mapping[str, Any],
    measurements: Mapping[str, Sequence[int | Literal["end"]]] | None = None,
    data: Mapping[str, ArrayLike] | Path | str | None = None,
) -> pd.DataFrame:
    """Train one network and give its records: the columns `metric`, `step`, `inference_step`, `layer`, `index` (each
    missing where a metric does not have it) and `value`.

    `settings` are those of `docs/settings.md`, one value each; `measurements` maps names of `docs/adding.md` to the
    numbers of updates after which they are taken, `"end"` being all. `data` is a dataset of one's own, the arrays
    `x_train`, `y_train`, `x_test` and `y_test` or an .npz file of these, which the setting `dataset` may give a name;
    or a folder with copies of the project's datasets.
    What is computed is what a figure's cell of the same settings has. Nothing is stored.

    Raises:
        ConfigurationError: a setting or measurement is unknown, missing or does not go with the others.
        DatasetError: the dataset is not to be had.
    """
    from scaling_limits.pipeline import by_hand

    return by_hand.train(settings, measurements, data)
