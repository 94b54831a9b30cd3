"""From the records of single cells to what figures show: means and spread over seeds."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd

from scaling_limits.errors import ScalingLimitsError, unknown
from scaling_limits.figures.quantities import Quantity
from scaling_limits.plotting import text
from scaling_limits.records import Results


def seed_means(results: Results, grid: str, quantity: Quantity, by: Sequence[str]) -> pd.DataFrame:
    """The mean of a quantity over seeds, one row for each combination of `by` in a grid.

    The mean is infinite where a seed diverged. Raises ScalingLimitsError as `seed_values`.
    """
    table = seed_values(results, grid, quantity, by)
    return table.groupby(list(by))["value"].mean().reset_index()


def seed_values(results: Results, grid: str, quantity: Quantity, by: Sequence[str]) -> pd.DataFrame:
    """The `value` of a quantity for each combination of `by` and seed in a grid.

    `by` may also name the axis that the quantity keeps, or that over the depth. The value is
    infinite where the seed diverged. Raises ScalingLimitsError if the grid or a column is missing,
    if nothing was recorded, or if the grid varies over anything else, since then a mean would mix
    different experiments.
    """
    table = _grid(results, grid).quantity(quantity)
    if quantity.per:
        table = table.astype({quantity.per: int})
    return _checked(table, grid, quantity.metric, by)


def seed_curves(results: Results, grid: str, metric: str, by: Sequence[str]) -> pd.DataFrame:
    """The `value` of a metric for each combination of `by`, training `step` and seed in a grid.

    It is infinite where it is not finite. Raises ScalingLimitsError as `seed_values`, and if the
    metric has several records at one step.
    """
    table = _grid(results, grid).metric(metric).dropna(subset="step")
    return _checked(table, grid, metric, [*by, "step"])


def best_over(
    table: pd.DataFrame, by: Sequence[str], over: Sequence[str], best: Literal["min", "max"]
) -> pd.DataFrame:
    """Of each combination of `by`, the rows of that combination of `over` whose mean over seeds is best.

    Where the largest is best, one that diverged is none; if all diverged, the first one stays.
    """
    means = table.groupby([*by, *over])["value"].mean().reset_index()
    if best == "max":
        means["value"] = -means["value"].where(np.isfinite(means["value"]), -np.inf)
    chosen = means.loc[means.groupby(list(by))["value"].idxmin(), [*by, *over]]
    return table.merge(chosen, on=[*by, *over])


def lines_of(
    table: pd.DataFrame, hue: str, values: Sequence[float] | None, grid: str
) -> dict[float, pd.DataFrame]:
    """The rows of each line: of each of `values` of the column `hue` (default: all there are).

    Raises ScalingLimitsError if a grid has none of the values.
    """
    there = sorted(table[hue].unique().tolist())
    lines = {v: table[table[hue] == v] for v in there if values is None or v in values}
    if not lines:
        raise ScalingLimitsError(
            f"the grid '{grid}' has none of the values of '{hue}' to be shown: "
            f"{', '.join(map(text.short, values or ()))}"
        )
    return lines


def _grid(results: Results, grid: str) -> Results:
    grids = sorted(results.cells["grid"].unique())
    if grid not in grids:
        raise ScalingLimitsError(unknown("grid", grid, grids))
    return results.grids([grid])


def _checked(table: pd.DataFrame, grid: str, metric: str, by: Sequence[str]) -> pd.DataFrame:
    if table.empty:
        raise ScalingLimitsError(f"no records of the metric '{metric}' in the grid '{grid}'")
    for column in by:
        if column not in table:
            columns = table.columns.difference(["value", "cell_id", "grid"])
            raise ScalingLimitsError(unknown("column of the cells", column, columns))
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
    return table.assign(value=values.where(np.isfinite(values), np.inf))


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
