"""The tidy table behind a figure: what `scaling_limits.load` gives and notebooks draw."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from scaling_limits.errors import ScalingLimitsError, unknown
from scaling_limits.figures.metrics import words_of
from scaling_limits.figures.plots import DRAWN_BY, Plot
from scaling_limits.figures.plots.composite import CompositePlot
from scaling_limits.figures.plots.exponent_plane import ALONG, ExponentPlanePlot, X, Y
from scaling_limits.figures.plots.histograms import HistogramPanel, HistogramsPlot
from scaling_limits.figures.plots.landscapes import LandscapePanel, LandscapesPlot
from scaling_limits.figures.plots.lines import Line, LinesPlot, Panel
from scaling_limits.figures.plots.maps import MapPanel, MapsPlot
from scaling_limits.figures.plots.results_table import ResultsEntry, ResultsTablePlot
from scaling_limits.figures.quantities import Quantity
from scaling_limits.records import AXES, Results

FIRST = ("panel", "title", "line", "quantity", "grid", "cell_id", "seed", "value", "diverged")
"""The columns before those of the cells' settings.

`panel` counts from 0 and `title` is its heading; `line` names a line inside of a panel; `value` is of the
`quantity`, and `diverged` says that at this point training of some seed diverged. Of a table of results each entry
is a panel; what belongs to a difference is that of the cell from which another is taken. Of several plots `plot`,
which counts from 0, stands before them.
"""


Grids = Mapping[str, Results]
"""The results of each grid."""


def table_of(plot: Plot, results: Results) -> pd.DataFrame:
    """One row for each panel, line, point and seed that a plot shows; none for a table of parameterisations.

    Columns are `FIRST`, of several plots after `plot`, then the settings of the cells and the axis that the
    quantity keeps.

    Raises:
        ScalingLimitsError: a grid, column or metric does not exist, a grid varies over more than what is
            drawn, or has none of the values that are to be shown.
    """
    if isinstance(plot, CompositePlot):
        tables = [table_of(single, results) for single in plot.plots]
        return pd.concat(tables, keys=range(len(tables)), names=["plot"]).reset_index("plot")
    parts: list[pd.DataFrame] = []
    grids = {name: results.grids([name]) for name in results.cells["grid"].unique()}
    if isinstance(plot, LinesPlot):
        parts = [
            _line(grids, panel, line).assign(panel=number, line=name)
            for number, panel in enumerate(plot.panels)
            for line, name in zip(panel.lines, panel.names, strict=True)
        ]
    elif isinstance(plot, MapsPlot | HistogramsPlot | LandscapesPlot):
        of_panel = _OF_PANEL[plot.kind]
        parts = [
            of_panel(grids, plot, panel).assign(panel=number)
            for number, panel in enumerate(plot.panels)
        ]
    elif isinstance(plot, ResultsTablePlot):
        parts = [
            _entry(grids, plot, entry).assign(panel=number)
            for number, entry in enumerate(plot.entries)
        ]
    elif isinstance(plot, ExponentPlanePlot):
        parts = [
            values(grids, grid, quantity, [X, Y, ALONG]).assign(
                panel=0, title="", line=name, quantity=words_of(quantity).label
            )
            for grid in plot.points
            for name, quantity in plot.quantities
        ]
    elif plot.kind not in DRAWN_BY.own:
        parts = [_added(plot, grids)]
    if not parts:
        return pd.DataFrame(columns=FIRST)
    table = pd.concat(parts, ignore_index=True)
    return table[[*FIRST, *(column for column in table if column not in FIRST)]]


def visible(rows: pd.DataFrame, *, log: bool) -> pd.DataFrame:
    """The rows that have a place on a logarithmic, or linear, axis."""
    return rows[~rows["diverged"] & ((rows["value"] > 0) | (not log))]


def best_rows(
    rows: pd.DataFrame, by: Sequence[str], over: Sequence[str], best: str, end: str | None = None
) -> pd.DataFrame:
    """Of each combination of `by`, the rows of that combination of `over` whose mean over seeds is best.

    With the column `end` they are curves along it: a combination is as good as at the end of its curve.
    What diverged is best nowhere; where everything did, the first combination stays.
    """
    ends = rows
    if end is not None:
        ends = rows[rows[end] == rows.groupby([*by, *over])[end].transform("max")]
    means = ends.groupby([*by, *over])["value"].mean().reset_index()
    worse = means["value"] if best == "min" else -means["value"]
    means["value"] = worse.where(np.isfinite(worse), np.inf)
    first = means.groupby(list(by))["value"].idxmin() if by else [means["value"].idxmin()]
    return rows.merge(means.loc[first, [*by, *over]], on=[*by, *over])


def _line(grids: Grids, panel: Panel, line: Line) -> pd.DataFrame:
    hue = [panel.hue] if panel.hue and line.each else []
    # an axis of records that this quantity lacks, as an analytic solution does that of steps
    has_x = not line.across or panel.x not in AXES or panel.x in line.quantity.kept
    by = [*hue, panel.x] if has_x else hue or ["grid"]
    rows = values(grids, line.grid, line.quantity, [*by, *panel.over])
    rows = rows if has_x else rows.assign(**{panel.x: np.nan})
    if line.reference is not None:
        rows = _errors(grids, line, rows, by)
    if panel.over:
        # a curve along an axis that the quantity keeps is that of one combination
        kept = panel.x.removeprefix("relative_") in line.quantity.kept
        points, end = (hue, panel.x) if kept else (by, None)
        rows = _tuned(grids, panel, line, rows, points, end)
    if panel.hue and line.each and panel.values is not None:
        rows = _chosen(rows, panel.hue, panel.values, line.grid)
    if line.across and rows[panel.x].nunique() > 1:
        raise ScalingLimitsError(
            f"the grid '{line.grid}' has several values of '{panel.x}': it cannot go across"
        )
    if panel.divided_by is not None:
        powers = rows[panel.x].astype(float) ** panel.divided_by.power
        rows = rows.assign(value=rows["value"] / powers)
    if panel.relative:
        rows = _relative(rows, panel.x, hue)
    label = words_of(line.quantity).label
    return rows.assign(title=panel.title, quantity=label)


def _tuned(
    grids: Grids,
    panel: Panel,
    line: Line,
    rows: pd.DataFrame,
    points: Sequence[str],
    end: str | None,
) -> pd.DataFrame:
    """Of each of the `points` the rows of the combination of `over` that is best, by what the panel says."""
    judged, best = rows, panel.best
    if panel.tuned_by is not None:
        judged = values(grids, line.grid, panel.tuned_by, [*points, *panel.over])
        best, end = words_of(panel.tuned_by).best, None
    assert best is not None
    if panel.tuned_at is not None and panel.hue is not None and panel.hue in points:
        judged = _chosen(judged, panel.hue, [panel.tuned_at], line.grid)
        points = [column for column in points if column != panel.hue]
    elif judged is rows:
        return best_rows(rows, points, panel.over, best, end)
    key = [*points, *panel.over]
    return rows.merge(
        best_rows(judged, points, panel.over, best, end)[key].drop_duplicates(), on=key
    )


def _map(grids: Grids, plot: MapsPlot, panel: MapPanel) -> pd.DataFrame:
    rows = values(grids, panel.grid, plot.quantity, [panel.along, plot.y, plot.x])
    if panel.values is not None:
        rows = _chosen(rows, panel.along, panel.values, panel.grid)
    title = panel.title or panel.grid
    return rows.assign(title=title, line=panel.grid, quantity=words_of(plot.quantity).label)


def _histogram(grids: Grids, plot: HistogramsPlot, panel: HistogramPanel) -> pd.DataFrame:
    rows = values(grids, panel.grid, plot.quantity, [plot.hue, "index"])
    title, label = panel.title or panel.grid, words_of(plot.quantity).label
    return rows.assign(title=title, line=panel.grid, quantity=label)


def _landscape(grids: Grids, _plot: LandscapesPlot, panel: LandscapePanel) -> pd.DataFrame:
    parts = []
    for name, per in (("curvature", ("index",)), ("path", ("inference_step", "index"))):
        quantity = Quantity(metric=f"landscape_{name}", per=per)
        rows = values(grids, panel.grid, quantity, [panel.along, *per])
        if panel.values is not None:
            rows = _chosen(rows, panel.along, panel.values, panel.grid)
        rows = rows[rows["seed"] == rows["seed"].min()]
        parts.append(rows.assign(line=name, quantity=words_of(quantity).label))
    found: pd.DataFrame = pd.concat(parts, ignore_index=True)
    return found.assign(title=panel.title or panel.grid)


_OF_PANEL: dict[str, Callable[..., pd.DataFrame]] = {
    "maps": _map,
    "histograms": _histogram,
    "landscapes": _landscape,
}


def _added(plot: Any, grids: Grids) -> pd.DataFrame:
    """The table of a package's kind of plot."""
    module = DRAWN_BY.get(plot.kind)
    table: pd.DataFrame = module.table(plot, grids)
    for column in FIRST:
        if column not in table:
            raise ScalingLimitsError(
                f"{module.__name__}.table has no column '{column}'; a table has {', '.join(FIRST)}"
            )
    return table


def _entry(grids: Grids, plot: ResultsTablePlot, entry: ResultsEntry) -> pd.DataFrame:
    key = [*plot.settings, "seed"]

    def best(grid: str) -> pd.DataFrame:
        rows = values(grids, grid, plot.quantity, [*plot.settings, *plot.over])
        if not plot.over:
            return rows
        assert plot.best is not None
        return best_rows(rows, plot.settings, plot.over, plot.best)

    rows = best(entry.grid)
    if entry.minus is not None:
        rows = rows.merge(best(entry.minus)[[*key, "value"]], on=key, suffixes=("", "_minus"))
        if rows.empty:
            raise ScalingLimitsError(
                f"the grids '{entry.grid}' and '{entry.minus}' share no {', '.join(key)}"
            )
        less = rows.pop("value_minus")
        known = np.isfinite(rows["value"]) & np.isfinite(less)
        rows = _lost(rows.assign(value=(rows["value"] - less).where(known, np.inf)), plot.settings)
    label = words_of(plot.quantity).label
    return rows.assign(title=entry.title, line=entry.title, quantity=label)


def values(grids: Grids, grid: str, quantity: Quantity, by: Sequence[str]) -> pd.DataFrame:
    """The `value` of a quantity for each combination of `by` and seed in a grid, infinite where it diverged."""
    if grid not in grids:
        raise ScalingLimitsError(unknown("grid", grid, sorted(grids)))
    rows = grids[grid].quantity(quantity)
    if rows.empty:
        raise ScalingLimitsError(f"no records of the metric '{quantity.metric}' in '{grid}'")
    rows = rows.astype(dict.fromkeys(quantity.kept, int))
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
    return _lost(rows.assign(value=values.where(np.isfinite(values), np.inf)), by)


def _lost(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The rows, in which all of a point have diverged if the value of some seed is infinite."""
    infinite = rows["value"] == np.inf
    return rows.assign(diverged=infinite.groupby([rows[name] for name in by]).transform("any"))


def _chosen(rows: pd.DataFrame, column: str, values: Sequence[float], grid: str) -> pd.DataFrame:
    chosen = rows[rows[column].isin(values)]
    if chosen.empty:
        shown = ", ".join(f"{value:g}" for value in values)
        raise ScalingLimitsError(
            f"the grid '{grid}' has none of the values of '{column}' to be shown: {shown}"
        )
    return chosen


def _errors(grids: Grids, line: Line, rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Values relative to those of the line's reference, as errors, with the same seed; the last of `by` is x."""
    assert line.reference is not None
    key = [*by[:-1], "seed"]
    found = values(grids, line.reference, line.quantity, key)[[*key, "value"]]
    paired = rows.merge(found, on=key, how="left", suffixes=("", "_reference"))
    if paired["value_reference"].isna().any():
        raise ScalingLimitsError(
            f"the grid '{line.reference}' has not the {', '.join(key)} of '{line.grid}'"
        )
    reference = paired.pop("value_reference")
    known = np.isfinite(reference) & (reference != 0)
    errors = (paired["value"] / reference - 1).abs().where(known, np.inf)
    return _lost(paired.assign(value=errors), by)


def _relative(rows: pd.DataFrame, x: str, by: Sequence[str]) -> pd.DataFrame:
    """Values over the mean at the smallest x that all lines have."""
    key = list(by) or rows["grid"]
    start = rows.groupby(key)[x].min().max()
    firsts = rows["value"].where(np.isclose(rows[x], start))
    means = pd.Series(firsts.mean(), rows.index)
    if by:
        means = firsts.groupby([rows[c] for c in by]).transform("mean")
    # relative to what diverged everything did
    known = np.isfinite(means)
    values = (rows["value"] / means).where(known, np.inf)
    return rows.assign(value=values, diverged=rows["diverged"] | ~known)
