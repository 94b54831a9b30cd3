"""Seconds of each kind of work: nominal ones, and those of a machine, from the times that its stored cells carry."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from scaling_limits.cells import Cell, Compiled
from scaling_limits.configuration.costs.count import PREPARING, RUNNING, counted

NOMINAL_FILE = Path(__file__).with_name("rates.json")
"""One core of the machine that the presets were made on. Jobs are packed by it, so they are the same anywhere."""
STARTING = {
    "run": "starting Snakemake and planning",
    "job": "a process until its first cell",
    "figure": "judging, drawing and copying a figure",
}
"""What surrounds the cells. No cell carries it: these are as much slower on a machine as everything else is."""
_PREPARED = ("programs", "operations", "loops")
_ELEMENTWISE = ("activities", "weights")
_MOVED = ("shifts", "windows", "draws")
TIMES: Mapping[Compiled, Mapping[str, float]] = {
    None: {},
    "partly": dict.fromkeys(_PREPARED, 0.45)
    | dict.fromkeys(_ELEMENTWISE, 1.5)
    | dict.fromkeys(_MOVED, 1.2),
    "quickly": dict.fromkeys(_PREPARED, 0.22) | dict.fromkeys((*_ELEMENTWISE, *_MOVED), 4),
}
"""By how a program is compiled and by kind of work, its time over that in one that is optimised, as measured (see
docs/performance.md). Products of matrices come from a library."""
KINDS = (*RUNNING, *PREPARING, *STARTING)
TRUST = 0.3
"""What one between the logarithms of a rate and the known one counts for, beside one between estimate and time."""
SHORTEST = 1e-5
"""Seconds below which times say nothing."""

Rates = Mapping[str, float]


@dataclass(frozen=True)
class Timed:
    """A cell with the seconds that it took, and those before the first cell of its shard."""

    cell: Cell
    running: float
    preparing: float


@cache
def nominal() -> Rates:
    """The rates of `NOMINAL_FILE`."""
    rates: dict[str, float] = json.loads(NOMINAL_FILE.read_text(encoding="utf-8"))
    return rates


def cell_seconds(cell: Cell, rates: Rates) -> float:
    """Seconds that a cell takes in a full batch of its `cells_per_batch`, preparation apart."""
    return float(_work(cell, RUNNING) @ _vector(rates, RUNNING))


def shard_seconds(shard: Sequence[Cell], rates: Rates) -> float:
    """Seconds that cells of one shard take: preparation, and batches, of which a short one is padded."""
    first = shard[0]
    batches = -(-len(shard) // first.cells_per_batch)
    preparing = float(_work(first, PREPARING) @ _vector(rates, PREPARING))
    return preparing + batches * first.cells_per_batch * cell_seconds(first, rates)


def fitted(timed: Sequence[Timed], known: Rates) -> dict[str, float]:
    """The rates by which estimates are nearest to these times, in logarithms; one of each shard will do.

    What the times say little about stays in proportion to the `known` rates, all of which may be off by one factor.
    """
    from scipy.optimize import least_squares

    start = np.log(_vector(known, KINDS))
    work = np.zeros((2 * len(timed), len(KINDS)))
    for row, each in enumerate(timed):
        work[2 * row, : len(RUNNING)] = _work(each.cell, RUNNING)
        work[2 * row + 1, len(RUNNING) : -len(STARTING)] = _work(each.cell, PREPARING)
    times = np.array([[each.running, each.preparing] for each in timed]).reshape(-1)
    kept = (times > SHORTEST) & (work.sum(axis=1) > 0)
    work, taken = work[kept], np.log(times[kept])
    identity = TRUST * np.eye(len(KINDS))

    def distances(logs: np.ndarray) -> np.ndarray:
        *rates, factor = logs
        return np.concatenate(
            [np.log(work @ np.exp(rates)) - taken, TRUST * (rates - start - factor)]
        )

    def slopes(logs: np.ndarray) -> np.ndarray:
        each = work * np.exp(logs[:-1])
        upper = np.pad(each / each.sum(axis=1, keepdims=True), ((0, 0), (0, 1)))
        return np.vstack([upper, np.pad(identity, ((0, 0), (0, 1)), constant_values=-TRUST)])

    # times of cells that waited for others of the machine are far off: those count less
    found = least_squares(distances, np.append(start, 0.0), slopes, loss="soft_l1", f_scale=0.5)
    return dict(zip(KINDS, np.exp(found.x[:-1]).tolist(), strict=True))


def _work(cell: Cell, kinds: Mapping[str, Any]) -> np.ndarray:
    found = counted(cell).found
    times = TIMES[cell.compiled]
    # a batch shares its kernels
    shared = {"kernels": cell.cells_per_batch}
    return np.array([found[kind] * times.get(kind, 1) / shared.get(kind, 1) for kind in kinds])


def _vector(rates: Rates, kinds: Mapping[str, Any] | Sequence[str]) -> np.ndarray:
    return np.array([rates[kind] for kind in kinds])
