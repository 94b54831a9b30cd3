"""The metrics that the cells of a figure will record, and the check that they include all that it uses."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from scaling_limits import algorithms, measurements
from scaling_limits.cells import Cell
from scaling_limits.configuration.grid_cells import GridCells
from scaling_limits.configuration.models import Figure
from scaling_limits.errors import unknown
from scaling_limits.figures.quantities import Quantity
from scaling_limits.figures.written import MisplacedError


def unrecorded(figure: Figure, grids: Mapping[str, GridCells]) -> Iterator[MisplacedError]:
    """Yield quantities whose metric no cell of their grid will record, with the nearest recorded metric.

    Args:
        figure: the figure, whose grids exist.
        grids: the cells of every grid.
    """
    known: dict[str, frozenset[str] | None] = {}
    used = [
        (path, grid, metric)
        for path, grid, quantity in quantities(figure)
        for metric in quantity.metrics
    ]
    for path, grid, metric in used:
        cells = [cell for _, cell in grids[grid].points]
        if grid not in known:
            known[grid] = metrics(cells)
        recorded = known[grid]
        if recorded is not None and metric not in recorded:
            measurement = measured_by(metric)
            plan = None if measurement is None else grids[grid].plans.get(measurement)
            if plan is not None:
                last = max(cell.num_steps for cell in cells)
                problem = (
                    f"{measurement}: the grid '{grid}' measures at {', '.join(map(str, plan))}"
                )
                valid = f"name steps from 0 to {last}, or end"
                yield MisplacedError(path, f"{problem}, but training ends after {last}; {valid}")
                continue
            problem = unknown("metric", metric, recorded)
            files = sorted({cell.algorithm.file for cell in cells if cell.algorithm.file})
            declared = "".join(f"; metrics(cell) in {file} says what it records" for file in files)
            yield MisplacedError(
                path, f"no cell of the grid '{grid}' will record it: {problem}{declared}"
            )


def metrics(cells: Iterable[Cell]) -> frozenset[str] | None:
    """Return the metrics that any of these cells records, or None if they are unknown, as for limits."""
    recorded: set[str] = set()
    for cell in cells:
        if cell.limit is not None:
            return None
        if cell.num_steps:
            recorded |= getattr(algorithms.part(cell.algorithm), "metrics", _usual)(cell)
        for spec in cell.measurements:
            measurement = measurements.registry.part(spec.name)
            declared = getattr(measurement, "metrics", None)
            recorded |= set(measurement.AXES) if declared is None else declared(cell)
    return frozenset(recorded)


@cache
def measured_by(metric: str) -> str | None:
    """Return the measurement that records a metric; None for metrics of algorithms, recorded at every step."""
    parts = measurements.registry.modules
    return next((n for n in parts if metric in measurements.registry.part(n).AXES), None)


def axes_of(metric: str) -> tuple[str, ...] | None:
    """Return the axes of a measurement's metric besides the training step, or None if they are unknown."""
    name = measured_by(metric)
    axes = None if name is None else measurements.registry.part(name).AXES[metric]
    return axes


def _usual(_: Cell) -> set[str]:
    """Return the metrics of an algorithm that declares none."""
    return {"train_loss"}


def quantities(figure: Figure) -> Iterator[tuple[tuple[str, ...], str, Quantity]]:
    """Yield the path, grid and quantity of everything that a figure shows or judges."""
    yield from ((("plot",), *shown) for shown in figure.plot.shown_quantities())
    for claim in figure.claims:
        for key, quantity in claim.quantities.items():
            path = ("claims", claim.id, claim.kind, key)
            yield from ((path, grid, quantity) for grid in claim.all_grids)
