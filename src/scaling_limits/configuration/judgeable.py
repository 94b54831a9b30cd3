"""Check that the named cells can decide claims and supply plots, with everything known before any cell is computed.

A preset may shrink axes so far that a claim is undecided, which is no error. Requirements of a claim on its axes may
therefore also be met at the scale of the file.
"""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from scaling_limits.cells import Cell, CellSettings
from scaling_limits.claims.base import ClaimBase
from scaling_limits.configuration.grid_cells import GridCells
from scaling_limits.configuration.models import Figure
from scaling_limits.configuration.recorded import axes_of, measured_by, quantities
from scaling_limits.errors import unknown
from scaling_limits.figures.needs import AXES, Use, listed, value_of
from scaling_limits.figures.written import MisplacedError, Path


def problems(figure: Figure, grids: Mapping[str, GridCells]) -> Iterator[MisplacedError]:
    """Yield the problems of a figure's claims and plots with the cells of its grids, each with its path."""
    for claim in figure.claims:
        unknown_columns = list(_unknown_columns(claim, grids))
        # without its columns, everything else about a claim would be wrong as well
        yield from unknown_columns or _claim_problems(claim, grids)
    for use in figure.plot.uses():
        yield from _use_problems(use, grids)
    yield from figure.plot.problems(grids)


def _claim_problems(claim: ClaimBase, grids: Mapping[str, GridCells]) -> Iterator[MisplacedError]:
    for use in _claim_uses(claim):
        yield from _use_problems(use, grids)
    for key, text in claim.problems(grids):
        yield MisplacedError(("claims", claim.id, claim.kind, *key), text)


def _unknown_columns(claim: ClaimBase, grids: Mapping[str, GridCells]) -> Iterator[MisplacedError]:
    """Yield columns that the cells and records of a claim's own grids lack, each at the key that names it."""
    path: Path = ("claims", claim.id, claim.kind)
    use = Use(path, claim.grids, claim.quantity, claim.columns, claim.only)
    for column, problem in _column_problems(use, grids, claim.decided_at):
        yield MisplacedError((*path, *_key_of(claim, column)), problem)


def _key_of(claim: ClaimBase, column: str) -> Path:
    """Return the key of a claim that names a column; `grids` if the kind has no such key."""
    shared = set(ClaimBase.model_fields) - {"only", "decided_at"}
    for key, value in claim.model_dump(mode="json", exclude=shared).items():
        if isinstance(value, dict) and column in value:
            return (key, column)
        if value == column or (isinstance(value, list) and column in value):
            return (key,)
    return ("grids",)


def warnings(figure: Figure, grids: Mapping[str, GridCells]) -> Iterator[MisplacedError]:
    """Yield warnings about a figure: windows that are longer than training, and claims about values that a preset
    leaves out.
    """
    for claim in figure.claims:
        for use in _claim_uses(claim):
            yield from _absent_values(use, grids)
    for path, grid, quantity in quantities(figure):
        last = grids[grid].last_step
        if quantity.window > 1 and last < quantity.window:
            problem = f"window: {quantity.window} is longer than the training of the grid '{grid}', {last:g} steps"
            yield MisplacedError(path, f"{problem}: all of them are averaged")


def _absent_values(use: Use, grids: Mapping[str, GridCells]) -> Iterator[MisplacedError]:
    for name in use.grids:
        for column, value in use.only.items():
            known = grids[name].configured(column, {}) - {None}
            if known and value not in known:
                problem = f"no cell of the grid '{name}' has {column} {value}: the claim cannot be decided"
                yield MisplacedError(use.path, problem)


def _claim_uses(claim: ClaimBase) -> Iterator[Use]:
    path: Path = ("claims", claim.id, claim.kind)
    groups = [("grids", claim.grids), *(("control", (grid,)) for grid in claim.control)]
    steps = claim.steps if isinstance(claim.steps, tuple) else ()
    for key, names in (*groups, *(("reference", names) for names in claim.compared)):
        yield Use((*path, key), names, claim.quantity, claim.columns, claim.only, steps)
    for key, quantity in claim.quantities.items():
        if key != "quantity":
            yield Use((*path, key), claim.grids, quantity, claim.columns, claim.only)


def _use_problems(use: Use, grids: Mapping[str, GridCells]) -> Iterator[MisplacedError]:
    kept_axes = use.quantity.kept_axes
    for _, problem in _column_problems(use, grids):
        yield MisplacedError(use.path, problem)
    # plots may use the seed as a column, but claims need it for the spread
    columns = (*use.columns, "seed") if use.path[0] == "claims" else use.columns
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        yield MisplacedError(use.path, f"{', '.join(twice)} is named twice; name it once")
    for axis in kept_axes:
        chosen = getattr(use.quantity, axis, None) is not None
        if not chosen and not {axis, f"relative_{axis}"} & set(use.columns):
            problem = f"the quantity is `per: {axis}`, which nothing here tells apart: name {axis}, or choose one"
            yield MisplacedError(use.path, problem)
    yield from _axis_problems(use)
    yield from _step_problems(use, grids)
    yield from _period_problems(use, grids)
    differing = _ambiguous_settings(use, grids)
    if differing:
        points = ", ".join(dict.fromkeys((*use.columns, "seed")))
        verb = "have" if len(use.grids) > 1 else "has"
        problem = (
            f"{_named(use.grids)} {verb} several cells at one point of {points}: they differ in "
            f"{', '.join(differing)}; name it among these, or choose one value"
        )
        yield MisplacedError(use.path, problem)


def _column_problems(
    use: Use, grids: Mapping[str, GridCells], further: Iterable[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the columns that neither cells nor records have, among those of a use and `further` ones, and why."""
    kept_axes = use.quantity.kept_axes
    record_columns = {
        *kept_axes,
        *(f"relative_{axis}" for axis in kept_axes if axis in ("layer", "index")),
    }
    known = record_columns.union(*(grids[name].columns for name in use.grids))
    for column in dict.fromkeys((*use.columns, *use.only, *further)):
        if column not in known and column in AXES:
            yield column, f"{column}: the quantity has no `per: {column}`"
        elif column not in known:
            yield column, f"{_named(use.grids)}: {unknown('column', column, known)}"


def _named(grids: Sequence[str]) -> str:
    return f"the grid{'s' if len(grids) > 1 else ''} {' and '.join(grids)}"


def _step_problems(use: Use, grids: Mapping[str, GridCells]) -> Iterator[MisplacedError]:
    """Yield training steps at which no cell records the quantity, neither as configured nor as written."""
    quantity, path = use.quantity, (*use.path, "quantity")
    known = [_recorded(use, grids[name]) for name in use.grids]
    if quantity.relative_to is not None and not any(known):
        problem = (
            f"relative_to: {' and '.join(quantity.metrics)} are never recorded at the same step"
        )
        yield MisplacedError(path, problem)
        return
    chosen = (quantity.step,) if quantity.reduce == "at" else ()
    for step in use.at or chosen:
        if step is not None and not any(step in steps for steps in known):
            listed = " or ".join(dict.fromkeys(_steps(steps) for steps in known))
            problem = f"{' over '.join(quantity.metrics)} is never recorded at step {step}"
            yield MisplacedError(path, f"{problem}; valid: {listed}")


def _recorded(use: Use, grid: GridCells) -> range | frozenset[int]:
    """Return the training steps at which all metrics of a quantity are recorded."""
    steps = sorted((grid.recorded(measured_by(m)) for m in use.quantity.metrics), key=len)
    fewest = steps[0]
    if all(other == fewest for other in steps):
        return fewest
    return frozenset(step for step in fewest if all(step in other for other in steps))


def _period_problems(use: Use, grids: Mapping[str, GridCells]) -> Iterator[MisplacedError]:
    """Yield parts of training that contain no record, or that begin or end inside a recorded mean."""
    during, metric = use.quantity.during, use.quantity.metric
    if during is None:
        return
    path = (*use.path, "quantity")
    of_algorithm = measured_by(metric) is None
    for name in use.grids:
        numbers = {c.averaged_records for _, c in grids[name].points if c.averaged_records}
        split = [n for n in numbers if any(abs(x * n - round(x * n)) > 1e-9 for x in during)]
        if of_algorithm and split:
            problem = f"during: the grid '{name}' records means over {listed(split)} equal parts of training"
            yield MisplacedError(
                path, f"{problem}, so both fractions should be multiples of 1 over that"
            )
        last = grids[name].last_step
        if math.isfinite(last):
            start, end = (fraction * last for fraction in during)
            steps = grids[name].recorded(measured_by(metric))
            if not any(start <= step < end for step in steps):
                problem = f"during: {metric} has no record in steps {start:g} to {end:g} of the grid '{name}'"
                yield MisplacedError(path, f"{problem}; recorded: {_steps(steps)}")


def _steps(steps: range | frozenset[int]) -> str:
    if isinstance(steps, range):
        return f"0 to {steps[-1]}" if steps else "none"
    return listed(steps)


def _axis_problems(use: Use) -> Iterator[MisplacedError]:
    """Yield axes of the metric that the quantity neither keeps nor selects from, and axes that the metric lacks."""
    axes, divisor = axes_of(use.quantity.metric), use.quantity.relative_to
    if axes is None:
        return
    further = set() if divisor is None else set(axes_of(divisor) or ()).difference(axes)
    if further:
        axis = listed(further)
        problem = (
            f"{divisor} has one number for each {axis}, but {use.quantity.metric} has no {axis}"
        )
        yield MisplacedError((*use.path, "quantity"), f"relative_to: {problem}")
    for axis in ("layer", "index", "inference_step"):
        selected = getattr(use.quantity, axis) is not None or axis in use.quantity.kept_axes
        if selected and axis not in axes:
            problem = f"{axis}: the metric {use.quantity.metric} has none; leave it out"
            yield MisplacedError((*use.path, "quantity"), problem)
        if not selected and axis in axes and axis != "inference_step":
            problem = (
                f"{use.quantity.metric} has one number for each {axis}: choose one by `{axis}`"
            )
            yield MisplacedError((*use.path, "quantity"), f"{problem}, or keep them by `per`")


def _ambiguous_settings(use: Use, grids: Mapping[str, GridCells]) -> list[str]:
    """Return the settings in which the cells of one point differ; empty if each point has one cell."""
    fixed = {*use.columns, *use.only, "seed"}
    if len(use.grids) == 1 and grids[use.grids[0]].axes <= fixed:
        return []
    columns = [c for c in dict.fromkeys((*use.columns, "seed")) if c not in AXES]
    columns = [column for column in columns if not column.startswith("relative_")]
    seen: dict[tuple[Hashable, ...], tuple[CellSettings, Cell]] = {}
    for name in use.grids:
        for settings, cell in grids[name].points:
            if any(value_of(settings, column) != value for column, value in use.only.items()):
                continue
            key = tuple(value_of(settings, column) for column in columns)
            first_settings, first_cell = seen.setdefault(key, (settings, cell))
            if first_cell is not cell and first_cell != cell:
                fields = {*type(settings).model_fields, *type(first_settings).model_fields}
                return sorted(
                    c for c in fields if value_of(settings, c) != value_of(first_settings, c)
                )
    return []
