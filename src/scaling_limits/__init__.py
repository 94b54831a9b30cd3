"""Training dynamics at infinite width and depth: one pipeline for five papers."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["__version__", "load"]

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
