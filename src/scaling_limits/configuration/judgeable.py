"""Whether claims can be judged, and plots drawn, by the cells that they name: all that is known before anything runs.

A preset may shrink axes until a claim is undecided. What a claim needs of its axes is therefore looked for at the scale
of the file as well.
"""

import math
import typing
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from scaling_limits.cells import Cell
from scaling_limits.configuration.grid_cells import GridCells, value_of
from scaling_limits.configuration.models import Figure
from scaling_limits.configuration.recorded import axes_of, measured_by, quantities
from scaling_limits.configuration.words import MisplacedError
from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.figures.claims import (
    Bound,
    Claim,
    Flatter,
    Gap,
    LevelSet,
    Slope,
    SlopeDifference,
    Theory,
)
from scaling_limits.figures.plots import singles
from scaling_limits.figures.plots.exponent_plane import ALONG, ExponentPlanePlot, X, Y
from scaling_limits.figures.plots.histograms import HistogramsPlot
from scaling_limits.figures.plots.lines import Line, LinesPlot, Panel
from scaling_limits.figures.plots.maps import MapsPlot
from scaling_limits.figures.plots.results_table import ResultsTablePlot
from scaling_limits.figures.quantities import Axis, Quantity
from scaling_limits.parameterisations.theory import depth_exponents_of

Path = tuple[str | int, ...]
AXES: tuple[str, ...] = typing.get_args(Axis)
Values = Callable[[str, Iterable[str]], set[Any]]
"""The values of a column in the cells of some grids."""


class Use(NamedTuple):
    """A quantity of the cells of some grids together, one number for each value of `columns` and seed."""

    path: Path
    grids: tuple[str, ...]
    quantity: Quantity
    columns: tuple[str, ...]
    only: Mapping[str, Any] = {}
    at: tuple[int, ...] = ()


def problems(figure: Figure, grids: Mapping[str, GridCells]) -> Iterator[MisplacedError]:
    """Yield the claims and plots of a figure that the cells of its grids cannot support, each with its path."""
    for use in _uses(figure):
        yield from _of_use(use, grids)
    for claim in figure.claims:
        yield from _of_claim(claim, grids)
    for plot in singles(figure.plot):
        if isinstance(plot, LinesPlot):
            for panel in plot.panels:
                yield from _of_panel(panel, grids)
        elif isinstance(plot, ExponentPlanePlot):
            for grid in plot.points:
                yield from _of_theory(grid, grids[grid], ("plot", "points"))
            yield from _of_one_theory(plot, grids)
        elif hasattr(plot, "panels"):
            rows: Sequence[Any] = plot.panels
            if isinstance(plot, MapsPlot) and plot.level_set is not None:
                yield from _of_level_set(plot, grids)
            for row in rows:
                if getattr(row, "values", None) is not None:
                    yield from _shown(("plot", "panels"), row.grid, row.along, row.values, grids)


def warnings(figure: Figure, grids: Mapping[str, GridCells]) -> Iterator[MisplacedError]:
    """Yield warnings about a figure: windows that are longer than training."""
    for path, grid, quantity in quantities(figure):
        last = grids[grid].last_step
        if quantity.window > 1 and last < quantity.window:
            problem = f"window: {quantity.window} is longer than the training of the grid '{grid}', {last:g} steps"
            yield MisplacedError(path, f"{problem}: all of them are averaged")


def _uses(figure: Figure) -> Iterator[Use]:
    for claim in figure.claims:
        path: Path = ("claims", claim.id, claim.kind)
        groups = [("grids", claim.grids), *(("control", (grid,)) for grid in claim.control)]
        at = getattr(claim, "at", None)
        steps = at if isinstance(at, tuple) else ()
        for key, names in (*groups, *(("reference", names) for names in claim.compared)):
            yield Use((*path, key), names, claim.quantity, claim.columns, claim.only, steps)
        for key, quantity in claim.quantities.items():
            if key != "quantity":
                yield Use((*path, key), claim.grids, quantity, claim.columns, claim.only)
    for plot in singles(figure.plot):
        path = ("plot",)
        if isinstance(plot, LinesPlot):
            for panel in plot.panels:
                yield from _of_lines(panel, (*path, "panels"))
        elif isinstance(plot, MapsPlot):
            for row in plot.panels:
                columns = (row.along, plot.y, plot.x)
                yield Use((*path, "panels"), (row.grid,), plot.quantity, columns)
        elif isinstance(plot, ExponentPlanePlot):
            for name, quantity in plot.quantities:
                for grid in plot.points:
                    yield Use((*path, "quantities", name), (grid,), quantity, (X, Y, ALONG))
        elif isinstance(plot, HistogramsPlot):
            for one in plot.panels:
                yield Use((*path, "panels"), (one.grid,), plot.quantity, (plot.hue, "index"))
        elif isinstance(plot, ResultsTablePlot):
            for grid in plot.grids:
                over = (*plot.settings, *plot.over)
                yield Use((*path, "entries"), (grid,), plot.quantity, over)


def _of_lines(panel: Panel, path: Path) -> Iterator[Use]:
    for line in panel.lines:
        by = _points_of(panel, line)
        yield Use(path, (line.grid,), line.quantity, (*by, *panel.over))
        if line.reference is not None:
            yield Use(path, (line.reference,), line.quantity, by[:-1])
        if panel.tuned_by is not None:
            kept = panel.x.removeprefix("relative_") in line.quantity.kept
            points = by[:-1] if kept else by
            yield Use((*path, "tuned_by"), (line.grid,), panel.tuned_by, (*points, *panel.over))


def _points_of(panel: Panel, line: Line) -> tuple[str, ...]:
    """Return the columns that identify a point of a line: its hue, and x unless it goes across without one."""
    hue = (panel.hue,) if panel.hue and line.each else ()
    has_x = not line.across or panel.x not in AXES or panel.x in line.quantity.kept
    return (*hue, panel.x) if has_x else hue


def _of_use(use: Use, grids: Mapping[str, GridCells]) -> Iterator[MisplacedError]:
    kept = use.quantity.kept
    made = {*kept, *(f"relative_{axis}" for axis in kept if axis in ("layer", "index"))}
    known = made.union(*(grids[name].columns for name in use.grids))
    named = f"the grid{'s' if len(use.grids) > 1 else ''} {' and '.join(use.grids)}"
    for column in dict.fromkeys((*use.columns, *use.only)):
        if column in AXES and column not in made:
            yield MisplacedError(use.path, f"{column}: the quantity has no `per: {column}`")
        elif column not in known:
            yield MisplacedError(use.path, f"{named}: {unknown('column', column, known)}")
    # plots may go over seeds, a claim takes its spread over them
    columns = (*use.columns, "seed") if use.path[0] == "claims" else use.columns
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        yield MisplacedError(use.path, f"{', '.join(twice)} is named twice; name it once")
    for axis in kept:
        chosen = getattr(use.quantity, axis, None) is not None
        if not chosen and not {axis, f"relative_{axis}"} & set(use.columns):
            problem = f"the quantity is `per: {axis}`, which nothing here tells apart: name {axis}, or choose one"
            yield MisplacedError(use.path, problem)
    yield from _of_metric(use)
    yield from _of_steps(use, grids)
    yield from _of_part(use, grids)
    differing = _untold(use, grids)
    if differing:
        points = ", ".join(dict.fromkeys((*use.columns, "seed")))
        problem = (
            f"{named} {'have' if len(use.grids) > 1 else 'has'} several cells at one point of {points}: they differ in "
            f"{', '.join(differing)}; name it among these, or choose one value"
        )
        yield MisplacedError(use.path, problem)


def _of_steps(use: Use, grids: Mapping[str, GridCells]) -> Iterator[MisplacedError]:
    """Training steps at which the metric is recorded in no cell, neither as configured nor as the file says."""
    metric = use.quantity.metric
    chosen = (use.quantity.step,) if use.quantity.reduce == "at" else ()
    for step in use.at or chosen:
        known = [grids[name].recorded(measured_by(metric)) for name in use.grids]
        if step is not None and not any(step in steps for steps in known):
            listed = " or ".join(dict.fromkeys(_steps(steps) for steps in known))
            problem = f"{metric} is never recorded at step {step}; valid: {listed}"
            yield MisplacedError((*use.path, "quantity"), problem)


def _of_part(use: Use, grids: Mapping[str, GridCells]) -> Iterator[MisplacedError]:
    """Parts of training that have no record, or begin or end between two of the means that are recorded."""
    during, metric = use.quantity.during, use.quantity.metric
    if during is None:
        return
    path = (*use.path, "quantity")
    of_algorithm = measured_by(metric) is None
    for name in use.grids:
        parts = {c.averaged_records for _, c in grids[name].points if c.averaged_records}
        split = [n for n in parts if any(abs(x * n - round(x * n)) > 1e-9 for x in during)]
        if of_algorithm and split:
            problem = f"during: the grid '{name}' records means over {_listed(split)} equal parts of training"
            yield MisplacedError(
                path, f"{problem}, so both fractions should be multiples of 1 over that"
            )
        last = grids[name].last_step
        if math.isfinite(last):
            start, end = (share * last for share in during)
            steps = grids[name].recorded(measured_by(metric))
            if not any(start <= step < end for step in steps):
                problem = f"during: {metric} has no record in steps {start:g} to {end:g} of the grid '{name}'"
                yield MisplacedError(path, f"{problem}; recorded: {_steps(steps)}")


def _steps(steps: range | frozenset[int]) -> str:
    if isinstance(steps, range):
        return f"0 to {steps[-1]}" if steps else "none"
    return _listed(steps)


def _of_metric(use: Use) -> Iterator[MisplacedError]:
    """Axes that the metric has, and the quantity neither keeps nor chooses from, and those that it does not have."""
    axes = axes_of(use.quantity.metric)
    if axes is None:
        return
    for axis in ("layer", "index", "inference_step"):
        said = getattr(use.quantity, axis) is not None or axis in use.quantity.kept
        if said and axis not in axes:
            problem = f"{axis}: the metric {use.quantity.metric} has none; leave it out"
            yield MisplacedError((*use.path, "quantity"), problem)
        if not said and axis in axes and axis != "inference_step":
            problem = (
                f"{use.quantity.metric} has one number for each {axis}: choose one by `{axis}`"
            )
            yield MisplacedError((*use.path, "quantity"), f"{problem}, or keep them by `per`")


def _untold(use: Use, grids: Mapping[str, GridCells]) -> list[str]:
    """The settings in which cells of one point differ; none where each point has one cell."""
    settled = {*use.columns, *use.only, "seed"}
    if len(use.grids) == 1 and grids[use.grids[0]].axes <= settled:
        return []
    columns = [c for c in dict.fromkeys((*use.columns, "seed")) if c not in AXES]
    columns = [column for column in columns if not column.startswith("relative_")]
    seen: dict[tuple[Hashable, ...], tuple[Any, Cell]] = {}
    for name in use.grids:
        for settings, cell in grids[name].points:
            if any(value_of(settings, column) != value for column, value in use.only.items()):
                continue
            key = tuple(value_of(settings, column) for column in columns)
            other, twin = seen.setdefault(key, (settings, cell))
            if twin is not cell and twin != cell:
                fields = {*type(settings).model_fields, *type(other).model_fields}
                return sorted(c for c in fields if value_of(settings, c) != value_of(other, c))
    return []


def _of_claim(claim: Claim, grids: Mapping[str, GridCells]) -> Iterator[MisplacedError]:
    path: Path = ("claims", claim.id, claim.kind)
    others = [("control", claim.control), *(("reference", names) for names in claim.compared)]
    for key, names in others:
        for grid in names:
            if grid in claim.grids:
                yield MisplacedError((*path, key), f"'{grid}' is judged itself; take another grid")

    def values(column: str, names: Iterable[str]) -> set[Any]:
        if column in claim.only:
            return {claim.only[column]}
        return set().union(*(grids[name].values(column) for name in names))

    for column, needed in claim.decided_at.items():
        sizes = _numbers(values(column, claim.grids))
        if sizes and max(sizes) < needed:
            problem = f"{needed:g} is more than any {column} of {' and '.join(claim.grids)}"
            yield MisplacedError(
                (*path, "decided_at", column), f"{problem}; at most {max(sizes):g}"
            )
    for column, value in claim.only.items():
        found = set().union(*(grids[name].values(column) for name in claim.grids))
        if found and value not in found:
            problem = f"no cell of {' and '.join(claim.grids)} has {value}; valid: {_listed(found)}"
            yield MisplacedError((*path, "only", column), problem)
    for key, ratio in (("ratio", getattr(claim, "ratio", ())), ("where", _where(claim))):
        for column in ratio:
            if column not in claim.columns:
                problem = unknown("column of the claim's points", column, claim.columns)
                yield MisplacedError((*path, key), problem)
        if len(set(ratio)) < len(ratio):
            yield MisplacedError((*path, key), f"{ratio[0]} over itself is 1 everywhere")
    for key in ("along", "growing_along"):
        along = getattr(claim, key, None)
        if along is not None and along not in AXES:
            yield from _of_sizes(claim, along, (*path, key), values)
    if isinstance(claim, LevelSet):
        for column in claim.over:
            yield from _of_logarithms(claim.grids, column, (*path, "over"), values)
    if isinstance(claim, Flatter):
        for key, column in (("over", claim.over), ("than", claim.than)):
            yield from _of_logarithms(claim.grids, column, (*path, key), values)
        yield from _of_spans(claim, path, grids)
    if isinstance(claim, SlopeDifference) and claim.reference:
        for grid in set(claim.control) & set(claim.reference):
            problem = f"'{grid}' is the reference, whose slopes differ by 0 from themselves"
            yield MisplacedError((*path, "control"), f"{problem}; take a third grid")
        seeds, theirs = (values("seed", names) for names in (claim.grids, claim.reference))
        if seeds and theirs and not seeds & theirs:
            problem = f"{' and '.join(claim.reference)} has the seeds {_listed(theirs)}"
            yield MisplacedError(
                (*path, "reference"), f"{problem}; differences need some of {_listed(seeds)}"
            )
    if isinstance(claim, Slope) and isinstance(claim.expected, Theory):
        for grid in (*claim.grids, *claim.control):
            yield from _of_theory(grid, grids[grid], (*path, "expected"))


def _of_one_theory(
    plot: ExponentPlanePlot, grids: Mapping[str, GridCells]
) -> Iterator[MisplacedError]:
    """Check that all points of a plane have the same prediction, and depths to take slopes along."""
    path: Path = ("plot", "points")
    for column in ("parameterisation", "optimiser"):
        found = set().union(*(grids[grid].values(column) for grid in plot.points))
        if len(found) > 1:
            yield MisplacedError(
                path, f"have several values of {column}, {_listed(found)}; take one"
            )
    for grid in plot.points:
        sizes = grids[grid].values(ALONG)
        if len(sizes) == 1:
            problem = f"the grid '{grid}' has a single {ALONG}, {_listed(sizes)}; two are needed"
            yield MisplacedError(path, problem)


def _of_theory(name: str, grid: GridCells, path: Path) -> Iterator[MisplacedError]:
    """Check that theory predicts powers of depth for the cells of a grid."""
    for settings, _ in grid.points:
        try:
            if not getattr(settings, "residual", False):
                raise ConfigurationError("powers of depth are predicted for residual networks only")
            depth_exponents_of(settings.model_dump())
        except ConfigurationError as error:
            yield MisplacedError(path, f"the grid '{name}': {error}")
            return


def _where(claim: Claim) -> tuple[str, ...]:
    where = claim.where if isinstance(claim, Bound | Slope | SlopeDifference) else None
    return () if where is None else where.ratio


def _of_sizes(claim: Claim, along: str, path: Path, values: Values) -> Iterator[MisplacedError]:
    """Check the sizes of a claim: numbers, at least two unless one is compared with another arm's."""
    sizes = values(along, claim.grids)
    words = sorted(str(size) for size in sizes if not _is_number(size))
    if words:
        yield MisplacedError(path, f"{along} has values that are no numbers: {', '.join(words)}")
    elif len(sizes) == 1 and not (isinstance(claim, Gap) and not claim.grows):
        problem = (
            f"{' and '.join(claim.grids)} has a single {along}, {_listed(sizes)}; two are needed"
        )
        yield MisplacedError(path, problem)
    elif isinstance(claim, Gap) and sizes:
        theirs = _numbers(values(along, claim.reference))
        if theirs and max(theirs) != max(_numbers(sizes)):
            problem = f"the largest {along} of {' and '.join(claim.reference)} is {max(theirs):g}"
            yield MisplacedError(path, f"{problem}, not {max(_numbers(sizes)):g}; take the same")


def _of_logarithms(
    names: Sequence[str], column: str, path: Path, values: Values
) -> Iterator[MisplacedError]:
    """Check that a hyperparameter has two values or more that all have a logarithm."""
    found = values(column, names)
    wrong = [value for value in found if not (_is_number(value) and value > 0)]
    named = " and ".join(names)
    if wrong:
        problem = f"{column} should be a positive number; {named} has {_listed(wrong)}"
        yield MisplacedError(path, problem)
    elif len(found) == 1:
        problem = f"{named} has a single {column}, {_listed(found)}; two are needed"
        yield MisplacedError(path, problem)


def _of_spans(
    claim: Flatter, path: Path, grids: Mapping[str, GridCells]
) -> Iterator[MisplacedError]:
    """Check that two hyperparameters span as many octaves, in the cells as configured and as the file says."""

    def configured(column: str, names: Iterable[str]) -> set[Any]:
        points = [settings for name in names for settings, _ in grids[name].points]
        kept = [s for s in points if all(value_of(s, c) == v for c, v in claim.only.items())]
        return {value_of(settings, column) for settings in kept}

    def written(column: str, names: Iterable[str]) -> set[Any]:
        found: set[Any] = set()
        for name in names:
            node = grids[name].written
            said = None if node is None else node.settings.value(column)
            found |= set(said) if isinstance(said, list) else configured(column, [name])
        return found

    for names in (claim.grids, *((grid,) for grid in claim.control)):
        for look in (configured, written):
            found = [_numbers(look(column, names)) for column in (claim.over, claim.than)]
            if not all(each and min(each) > 0 for each in found):
                continue
            spans = [math.log2(max(each) / min(each)) for each in found]
            if not math.isclose(*spans, abs_tol=1e-6):
                told = f"{claim.over} spans {spans[0]:.3g} octaves and {claim.than} {spans[1]:.3g}"
                problem = f"in {' and '.join(names)}, {told}; spreads compare over equal spans"
                yield MisplacedError((*path, "than"), problem)
                break


def _of_level_set(plot: MapsPlot, grids: Mapping[str, GridCells]) -> Iterator[MisplacedError]:
    def values(column: str, names: Iterable[str]) -> set[Any]:
        return set().union(*(grids[name].values(column) for name in names))

    for panel in plot.panels:
        for column in (plot.x, plot.y):
            yield from _of_logarithms((panel.grid,), column, ("plot", "level_set"), values)


def _of_panel(panel: Panel, grids: Mapping[str, GridCells]) -> Iterator[MisplacedError]:
    path: Path = ("plot", "panels")
    for line in panel.lines:
        points = grids[line.grid].points
        if panel.hue and line.each and panel.hue not in AXES:
            chosen = [] if panel.values is None else [panel.values]
            chosen += [] if panel.tuned_at is None else [(panel.tuned_at,)]
            for values in chosen:
                yield from _shown(path, line.grid, panel.hue, values, grids)
        if line.across and panel.x not in AXES and panel.x in grids[line.grid].columns:
            found = {value_of(settings, panel.x) for settings, _ in points}
            if len(found) > 1:
                problem = (
                    f"the grid '{line.grid}' has several values of {panel.x}: it cannot go across"
                )
                yield MisplacedError(path, problem)
        if line.reference is not None:
            columns = [c for c in (*_points_of(panel, line)[:-1], "seed") if c not in AXES]
            own, others = (
                {
                    tuple(value_of(settings, c) for c in columns)
                    for settings, _ in grids[name].points
                }
                for name in (line.grid, line.reference)
            )
            if own - others:
                problem = f"the grid '{line.reference}' lacks values of {' and '.join(columns)} that '{line.grid}' has"
                yield MisplacedError(path, problem)


def _shown(
    path: Path, grid: str, column: str, values: Sequence[float], grids: Mapping[str, GridCells]
) -> Iterator[MisplacedError]:
    """Check that a grid has one of the values of a column that are to be shown."""
    if column in AXES or column not in grids[grid].columns:
        return
    found = {value_of(settings, column) for settings, _ in grids[grid].points}
    if not found & set(values):
        shown = ", ".join(f"{value:g}" for value in values)
        problem = f"the grid '{grid}' has none of the values of {column} to be shown, {shown}; valid: {_listed(found)}"
        yield MisplacedError(path, problem)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _numbers(values: Iterable[Any]) -> list[float]:
    return [value for value in values if _is_number(value)]


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(sorted(map(str, values), key=lambda text: (len(text), text)))
