"""Table rows of lines."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.figures.metrics import Centre, metric_info
from scaling_limits.figures.references import comparison_key, reference_values
from scaling_limits.plots.lines import Line, Panel, SlopeAlong
from scaling_limits.plots.options import SIZES
from scaling_limits.plots.tables import (
    GridResults,
    best_rows,
    selected,
    values,
    with_divergence,
)
from scaling_limits.records import AXES


def of_panel(grids: GridResults, panel: Panel) -> pd.DataFrame:
    """Return the quantity of each line of a panel at each point.

    Lines without runs at the settings that the panel fixes (`only`) are left out, since a preset may leave out some
    settings.

    Raises:
        ScalingLimitsError: no line has runs at these settings, or none has the selected `values`.
    """
    lines = list(zip(panel.lines, panel.names, strict=True))
    if panel.only:
        grids = {name: results.only(panel.only) for name, results in grids.items()}
        lines = [(line, name) for line, name in lines if len(grids[line.grid].cells)]
        if not lines:
            fixed = ", ".join(f"{column} {value}" for column, value in panel.only.items())
            raise ScalingLimitsError(f"none of {', '.join(panel.names)} has runs at {fixed}")
    parts = [_line(grids, panel, line).assign(line=name) for line, name in lines]
    return pd.concat(parts, ignore_index=True)


def _line(grids: GridResults, panel: Panel, line: Line) -> pd.DataFrame:
    hue = [panel.hue] if panel.hue and line.each else []
    # the quantity may lack the axis that is x, as an analytic solution has no steps
    has_x = not line.across or panel.x not in AXES or panel.x in line.quantity.kept_axes
    by = [*hue, panel.x] if has_x else hue or ["grid"]
    axis = [panel.slope_along.axis] if panel.slope_along else []
    further = [*axis, *panel.further(line), *panel.over]
    rows = values(grids, line.grid, line.quantity, [*by, *further])
    rows = _slopes(rows, by, panel.slope_along) if panel.slope_along else rows
    rows = rows if has_x else rows.assign(**{panel.x: np.nan})
    if line.reference is not None:
        rows = _errors(grids, panel, line, rows)
        rows = _rms(rows, by) if line.rms else rows
    if line.quantity.below is not None and panel.centre == "median":
        rows = _with_median(rows, by)
    if panel.over:
        # along an axis of the records, the whole curve belongs to one combination
        points, end = (hue, panel.x) if panel.keeps_x(line) else (by, None)
        rows = _tuned(grids, panel, line, rows, points, end)
    if panel.hue and line.each and panel.values is not None:
        rows = selected(rows, panel.hue, panel.values, line.grid)
    if line.across and rows[panel.x].nunique() > 1:
        raise ScalingLimitsError(
            f"the grid '{line.grid}' has several values of '{panel.x}': it cannot go across"
        )
    if panel.x_limits is not None and has_x:
        rows = rows[rows[panel.x].between(*panel.x_limits)]
    if panel.over_hue:
        rows = rows.assign(**{panel.x: rows[panel.x] / rows[panel.hue]})
    if panel.divided_by is not None:
        powers = rows[panel.x].astype(float) ** panel.divided_by.power
        rows = rows.assign(value=rows["value"] / powers)
    if line.ratio_to is not None:
        # at its own best point, also if the line's is tuned elsewhere
        other = line.model_copy(update={"grid": line.ratio_to, "ratio_to": None})
        best = _line(grids, panel.model_copy(update={"tuned_at": None}), other)
        rows = _ratios(rows, best, by, line.ratio_to)
    if panel.relative:
        rows = _relative(rows, panel.x, hue, panel.centre)
    label = metric_info(line.quantity).label
    return rows.assign(title=panel.title, quantity=label)


def _with_median(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the points at which most seeds reach a threshold; the other seeds take as long as their training."""
    medians = rows.groupby(list(by))["value"].transform("median")
    rows = rows[np.isfinite(medians)]
    return rows.assign(value=rows["value"].clip(upper=rows["num_steps"]), diverged=False)


def _tuned(
    grids: GridResults,
    panel: Panel,
    line: Line,
    rows: pd.DataFrame,
    points: Sequence[str],
    end: str | None,
) -> pd.DataFrame:
    """Return the rows of the combination of `over` that is best for each of the `points`, as the panel defines best.

    Args:
        grids: the results of each grid.
        panel: the panel.
        line: one of its lines.
        rows: all rows of the line.
        points: the columns that distinguish points.
        end: the column along which the line is a curve, which is judged by its last value.
    """
    judged, best = rows, panel.best
    if panel.tuned_by is not None:
        judged = values(grids, line.grid, panel.tuned_by, [*points, *panel.over])
        best, end = metric_info(panel.tuned_by).best, None
    assert best is not None
    if panel.tuned_at == "smallest":
        judged = judged[judged[panel.x] == judged[panel.x].min()]
        points = [column for column in points if column != panel.x]
    elif panel.tuned_at is not None and panel.hue is not None and panel.hue in points:
        judged = selected(judged, panel.hue, [panel.tuned_at], line.grid)
        points = [column for column in points if column != panel.hue]
    elif judged is rows:
        return best_rows(rows, points, panel.over, best, end)
    key = [*points, *panel.over]
    return rows.merge(
        best_rows(judged, points, panel.over, best, end)[key].drop_duplicates(), on=key
    )


def _slopes(rows: pd.DataFrame, by: Sequence[str], along: SlopeAlong) -> pd.DataFrame:
    """Return one row for each point and seed, with the log-log slope of the values along an axis.

    Without at least two positive values, or after divergence, the slope is infinite.
    """
    fitted = rows[rows[along.axis] >= along.at_least]
    key = [*by, "seed"]

    def slope(points: pd.DataFrame) -> float:
        x, y = points[along.axis].to_numpy(float), points["value"].to_numpy(float)
        if len(x) < 2 or not (np.isfinite(y) & (y > 0)).all():
            return np.inf
        return float(np.polyfit(np.log(x), np.log(y), 1)[0])

    slopes = fitted.groupby(key)[[along.axis, "value"]].apply(slope).rename("value").reset_index()
    firsts = fitted.drop_duplicates(key).drop(columns="value")
    return with_divergence(firsts.merge(slopes, on=key), by)


def _ratios(rows: pd.DataFrame, others: pd.DataFrame, by: Sequence[str], grid: str) -> pd.DataFrame:
    """Return the ratios of values to those of the rows of another grid at equal points and seeds.

    Raises:
        ScalingLimitsError: the other grid lacks a point or a seed.
    """
    key = [*by, "seed"]
    paired = rows.merge(others[[*key, "value"]], on=key, how="left", suffixes=("", "_other"))
    if paired["value_other"].isna().any():
        raise ScalingLimitsError(f"the grid '{grid}' lacks values of {' and '.join(key)}")
    ratios = (paired["value"] / paired["value_other"]).fillna(np.inf)
    return with_divergence(paired.drop(columns="value_other").assign(value=ratios), by)


def _errors(grids: GridResults, panel: Panel, line: Line, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the absolute relative errors of single networks with respect to the line's reference.

    The pairing is that of `claims.agrees_with.relative_errors`: at equal seed, or with the mean of the reference over
    its seeds if it lacks a seed of the line.

    Args:
        grids: the results of each grid.
        panel: the panel.
        line: the line.
        rows: the rows of the line.

    Raises:
        ScalingLimitsError: the reference lacks a point of the line, or all `values` of the hue that the panel selects.
    """
    assert line.reference is not None
    columns = list(panel.compared_at(line))
    cells = grids[line.reference].cells
    if panel.x in SIZES and panel.x not in columns and cells[panel.x].nunique() > 1:
        columns.append(panel.x)
        rows = rows[rows[panel.x].isin(cells[panel.x])]
    references = values(grids, line.reference, line.quantity, [*columns, "seed"])
    if panel.hue in columns:
        sizes = references[panel.hue].unique()
        if len(sizes) == 1 and "limit" in references and references["limit"].notna().all():
            columns.remove(panel.hue)
        elif panel.values is not None:
            selected(references, panel.hue, panel.values, line.reference)
            rows = rows[rows[panel.hue].isin(sizes)]
    key = comparison_key(rows, references, columns)
    reference = reference_values(rows, references, key)
    if reference.isna().any():
        raise ScalingLimitsError(
            f"the grid '{line.reference}' lacks values of {' and '.join(key)} that '{line.grid}' has"
        )
    known = np.isfinite(reference) & (reference != 0)
    errors = (rows["value"] / reference - 1).abs().where(known, np.inf)
    return with_divergence(rows.assign(value=errors), panel.point_columns(line) or ["grid"])


def _rms(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the root mean square over training steps of the values of each point and seed."""
    key = [*by, "seed"]
    squares = rows.assign(value=rows["value"] ** 2).groupby(key)["value"].mean()
    firsts = rows.drop_duplicates(key).drop(columns="value")
    return with_divergence(firsts.merge(np.sqrt(squares).reset_index(), on=key), by)


def _relative(rows: pd.DataFrame, x: str, by: Sequence[str], centre: Centre) -> pd.DataFrame:
    """Return values divided by their centre over seeds at the smallest x that all lines have."""
    key = list(by) or rows["grid"]
    start = rows.groupby(key)[x].min().max()
    firsts = rows["value"].where(np.isclose(rows[x], start))
    centres = pd.Series(firsts.agg(centre), rows.index)
    if by:
        centres = firsts.groupby([rows[c] for c in by]).transform(centre)
    # a line whose first value diverged counts as diverged everywhere
    known = np.isfinite(centres)
    values = (rows["value"] / centres).where(known, np.inf)
    return rows.assign(value=values, diverged=rows["diverged"] | ~known)
