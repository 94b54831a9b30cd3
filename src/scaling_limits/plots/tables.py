"""The tidy table of a figure, which `scaling_limits.load` returns and the notebook shows."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from scaling_limits.errors import ScalingLimitsError, unknown
from scaling_limits.figures.quantities import Quantity
from scaling_limits.plots.contract import kind_of
from scaling_limits.plots.options import PlotOptions
from scaling_limits.records import Results

FIRST = ("panel", "title", "line", "quantity", "grid", "cell_id", "seed", "value", "diverged")
"""The columns before the columns of the cells' settings.

`panel` counts from 0 and `title` is its heading; `line` names a line within a panel; `value` is the value of the
`quantity`, and `diverged` states whether training of any seed diverged at this point. In a table of results each entry
is a panel, and the row of a difference has the settings of the minuend. Figures of several plots have the column
`plot`, which counts from 0, before these columns.
"""


GridResults = Mapping[str, Results]
"""The results of each grid."""


def table_of(plot: PlotOptions, results: Results) -> pd.DataFrame:
    """Return a row for each panel, line, point and seed that a plot shows, or no rows if it shows no cells.

    The columns are `plot` (only for several plots), `FIRST`, the settings of the cells and the axis that the quantity
    keeps.

    Raises:
        ScalingLimitsError: a grid, column or metric does not exist; a grid varies over further columns than the plot
            distinguishes, or has none of the selected values; or a kind of plot returns a table without `FIRST`.
    """
    grids = {name: results.grids([name]) for name in results.cells["grid"].unique()}
    return rows_of(plot, grids)


def rows_of(plot: PlotOptions, grids: GridResults) -> pd.DataFrame:
    """Return the same table as `table_of`, with the same errors, from the results of each grid."""
    table = kind_of(plot).table(plot, grids)
    for column in FIRST:
        if column not in table:
            raise ScalingLimitsError(
                f"the table of the kind of plot '{plot.kind}' has no column '{column}'; a table has {', '.join(FIRST)}"
            )
    first = [column for column in ("plot", *FIRST) if column in table]
    return table[[*first, *(column for column in table if column not in first)]]


def no_rows() -> pd.DataFrame:
    """Return the table of a figure that shows no cells."""
    return pd.DataFrame(columns=FIRST)


def panel_rows(panels: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of all panels, with panels numbered from 0."""
    parts = [rows.assign(panel=number) for number, rows in enumerate(panels)]
    return pd.concat(parts, ignore_index=True)


def visible(rows: pd.DataFrame, *, log: bool) -> pd.DataFrame:
    """Return the rows that can be drawn: not diverged, and positive if the axis is logarithmic."""
    return rows[~rows["diverged"] & ((rows["value"] > 0) | (not log))]


def best_rows(
    rows: pd.DataFrame, by: Sequence[str], over: Sequence[str], best: str, end: str | None = None
) -> pd.DataFrame:
    """Return, for each combination of `by`, the rows of the combination of `over` with the best mean over seeds.

    A diverged combination is never best; if all diverged, the first one is kept.

    Args:
        rows: rows of a table, with `value`.
        by: the columns that distinguish points.
        over: the columns over which the best is taken.
        best: "min" or "max".
        end: the column along which `rows` are curves; a combination is judged by the last value of its curve.
    """
    ends = rows
    if end is not None:
        ends = rows[rows[end] == rows.groupby([*by, *over])[end].transform("max")]
    means = ends.groupby([*by, *over])["value"].mean().reset_index()
    worse = means["value"] if best == "min" else -means["value"]
    means["value"] = worse.where(np.isfinite(worse), np.inf)
    first = means.groupby(list(by))["value"].idxmin() if by else [means["value"].idxmin()]
    return rows.merge(means.loc[first, [*by, *over]], on=[*by, *over])


def values(grids: GridResults, grid: str, quantity: Quantity, by: Sequence[str]) -> pd.DataFrame:
    """Return a quantity of a grid, with a row for each combination of `by` and seed.

    Args:
        grids: the results of each grid.
        grid: the name of one of them.
        quantity: the quantity that becomes the column `value`.
        by: settings of the cells, and axes that the quantity keeps.

    Returns:
        The settings of the cells, the axes that the quantity keeps, `value` (infinite after divergence), and `diverged`
        (whether training of any seed diverged at this combination).

    Raises:
        ScalingLimitsError: a grid, column or metric does not exist, or the grid varies over further columns than `by`
            and seed.
    """
    if grid not in grids:
        raise ScalingLimitsError(unknown("grid", grid, sorted(grids)))
    rows = grids[grid].quantity(quantity)
    if rows.empty:
        raise ScalingLimitsError(f"no records of the metric '{quantity.metric}' in '{grid}'")
    rows = rows.astype(dict.fromkeys(quantity.kept_axes, int))
    for column in by:
        if column not in rows:
            columns = rows.columns.difference(["value", "cell_id", "grid"])
            raise ScalingLimitsError(unknown("column of the cells", column, columns))
    if rows.duplicated([*by, "seed"]).any():
        others = rows.columns.difference([*by, "seed", "cell_id", "value", "grid"])
        varying = [
            name for name in others if rows.groupby(list(by))[name].nunique(dropna=False).max() > 1
        ]
        raise ScalingLimitsError(
            f"the grid '{grid}' varies not only over {', '.join(by)} and seed: {', '.join(varying)}"
        )
    values = rows["value"].astype(float)
    return with_divergence(rows.assign(value=values.where(np.isfinite(values), np.inf)), by)


def with_divergence(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the rows with `diverged`: whether any seed at the same combination of `by` has an infinite value."""
    infinite = rows["value"] == np.inf
    return rows.assign(diverged=infinite.groupby([rows[name] for name in by]).transform("any"))


def selected(rows: pd.DataFrame, column: str, values: Sequence[float], grid: str) -> pd.DataFrame:
    """Return the rows that have one of the `values` in a column.

    Args:
        rows: rows of a grid.
        column: a column of `rows`.
        values: the values to show; a preset may leave out some.
        grid: the grid's name, for errors.

    Raises:
        ScalingLimitsError: no row has one of the values.
    """
    some = rows[rows[column].isin(values)]
    if some.empty:
        shown = ", ".join(f"{value:g}" for value in values)
        raise ScalingLimitsError(
            f"the grid '{grid}' has none of the values of '{column}' to be shown: {shown}"
        )
    return some
