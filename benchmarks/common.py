"""What the benchmarks share: cells, data, the clock, and the tables of docs/performance.md."""

import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from scaling_limits import runtime

if "jax" not in sys.modules:
    runtime.configure()

from scaling_limits.cells import Cell
from scaling_limits.configuration import Configuration, load
from scaling_limits.configuration.models import MeasurementPlan, Resources
from scaling_limits.configuration.resolve import Resolver
from scaling_limits.datasets.loading import Arrays

Result = TypeVar("Result")

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"
EXPERIMENT = "hyperparameter_transfer_tanh"
LEARNING_RATES = (0.5, 0.1, 0.05, 0.01)
ACTIVITY_LEARNING_RATES = (1000, 500, 100, 50, 10, 5, 1, 0.5, 0.1, 0.05, 0.01)


def cell(settings: Mapping[str, Any], plans: Mapping[str, MeasurementPlan] | None = None) -> Cell:
    """A cell of no paper, by its settings and measurements, as a part of a long run."""
    resolver = Resolver(Resources(mem_mb=64_000), {}, {})
    return optimised(resolver.resolve(dict(settings), dict(plans or {})).cell)


def optimised(cell: Cell) -> Cell:
    """The cell, its program optimised: the few steps that are timed would be compiled quickly by themselves."""
    return cell.model_copy(update={"compiled": None})


def cells(
    *,
    depth: int,
    width: int,
    num_steps: int,
    learning_rates: Sequence[float] = (0.01,),
    activity_learning_rates: Sequence[float] = (50,),
) -> list[Cell]:
    """Cells of a panel of mupc Fig. 5 (784 inputs, 10 outputs, batches of 64, T = H steps), one seed."""
    changes = {
        "num_train": 1024,
        "num_test": 64,
        "num_steps": num_steps,
        "learning_rate": list(learning_rates),
        "activity_learning_rate": list(activity_learning_rates),
        "seed": 0,
        "grids": {"width": {"depth": depth, "width": width}},
    }
    papers = {"mupc": {"experiments": {EXPERIMENT: changes}}}
    configuration = load(ROOT, {"preset": "paper", "papers": papers})
    points = configuration.points("mupc", EXPERIMENT)
    return [optimised(point.cell) for point in points if point.grid == "width"]


def preset(name: str) -> Configuration:
    """The configuration at a preset, with the memory of a small machine."""
    return load(ROOT, {"preset": name, "resources": {"mem_mb": 24_000}})


def of_figure(
    figure: str, grid: str, width: int, depth: int | None, configuration: Configuration
) -> Cell:
    """The first cell of a figure's grid with this network, of any depth without one."""
    paper, name = figure.split("/")
    points = configuration.points(paper, configuration.figure(paper, name).experiment)
    sizes: dict[tuple[int, int], Cell] = {}
    for point in points:
        if point.grid == grid:
            network = point.cell.network
            sizes.setdefault((network.width, network.num_hidden_layers), point.cell)
    for (own_width, own_depth), cell in sizes.items():
        if own_width == width and depth in (None, own_depth):
            return cell
    known = ", ".join(f"{own_width} ({own_depth})" for own_width, own_depth in sorted(sizes))
    raise SystemExit(
        f"{figure}: grid '{grid}' has no width {width} with {depth or 'any number of'} hidden layers; "
        f"widths (hidden layers): {known or 'none, there is no such grid'}"
    )


def data(cell: Cell) -> Arrays:
    """Random samples of the cell's shapes, or random tokens: what they show does not matter for the time."""
    draw, dataset = np.random.default_rng(0), cell.dataset
    length, context = dataset.sequence_length, dataset.context_size

    def words(*shape: int) -> NDArray[np.int32]:
        return draw.integers(0, dataset.num_classes, shape, np.int32)

    if context is not None:
        train, test = words(dataset.num_train), words(dataset.num_test)
        contexts = words(dataset.num_train, context), words(dataset.num_test, context)
        return Arrays(contexts[0], train, train, contexts[1], test, test, words(8, 4))

    def inputs(count: int) -> NDArray[np.float32]:
        return draw.standard_normal((count, cell.network.input_dim), np.float32)

    targets = np.eye(dataset.target_dim, dtype=np.float32)
    shape = () if length is None else (length,)
    train, test = words(dataset.num_train, *shape), words(dataset.num_test, *shape)
    if length is not None:
        return Arrays(train, train, train, test, test, test)
    x_train, x_test = inputs(dataset.num_train), inputs(dataset.num_test)
    return Arrays(x_train, targets[train], train, x_test, targets[test], test)


def timed(run: Callable[[], Result]) -> tuple[float, Result]:
    """CPU seconds of a call, and its result. On one thread these are wall seconds of a free core."""
    begun = time.process_time()
    result = run()
    return time.process_time() - begun, result


def spread(values: Sequence[float], digits: int) -> str:
    """The median, with the smallest and the largest in brackets."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def publish(section: str, text: str) -> None:
    """Print `text`, and put it between the markers of `section` in docs/performance.md."""
    print(text)
    begin, end = (f"<!-- {word} {section} -->" for word in ("begin", "end"))
    page = PAGE.read_text()
    before, rest = page.split(begin)
    PAGE.write_text(f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}")
