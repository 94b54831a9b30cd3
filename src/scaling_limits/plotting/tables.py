"""From a quantity of single cells to the matrices that maps show: means over seeds."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from scaling_limits.errors import ScalingLimitsError, unknown
from scaling_limits.quantities import Quantity
from scaling_limits.records import Results


def seed_means(results: Results, grid: str, quantity: Quantity, by: Sequence[str]) -> pd.DataFrame:
    """The mean of a quantity over seeds, one row for each combination of `by` in a grid.

    The mean is infinite where a seed diverged. Raises ScalingLimitsError if the grid or a column is
    missing, if nothing was recorded, or if the grid varies over anything else, since then a mean
    would mix different experiments.
    """
    grids = sorted(results.cells["grid"].unique())
    if grid not in grids:
        raise ScalingLimitsError(unknown("grid", grid, grids))
    for column in by:
        if column not in results.cells:
            raise ScalingLimitsError(unknown("column of the cells", column, results.cells.columns))
    table = results.grids([grid]).quantity(quantity)
    table = table[table["grid"] == grid]
    if table.empty:
        raise ScalingLimitsError(
            f"no records of the metric '{quantity.metric}' in the grid '{grid}'"
        )
    if table.duplicated([*by, "seed"]).any():
        varying = [
            name
            for name in table.columns.difference([*by, "seed", "cell_id", "value", "grid"])
            if table.groupby(list(by))[name].nunique(dropna=False).max() > 1
        ]
        raise ScalingLimitsError(
            f"the grid '{grid}' varies not only over {', '.join(by)} and seed: {', '.join(varying)}"
        )
    values = table["value"].astype(float)
    table = table.assign(value=values.where(np.isfinite(values), np.inf))
    return table.groupby(list(by))["value"].mean().reset_index()


def matrix(
    table: pd.DataFrame, x: str, y: str, xs: Sequence[float], ys: Sequence[float]
) -> np.ndarray:
    """`value` as an array [len(ys), len(xs)]; NaN where there is none, infinite if diverged."""
    wide = table.pivot(index=y, columns=x, values="value")
    return wide.reindex(index=list(ys), columns=list(xs)).to_numpy(dtype=float)


def axis_values(results: Results, grid: str, column: str) -> list[float]:
    """The different values of a column in a grid, in order."""
    cells = results.cells
    return sorted(cells.loc[cells["grid"] == grid, column].unique().tolist())
