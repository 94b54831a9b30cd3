"""Seconds that each kind of work takes, by device."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from scaling_limits.cells import Cell, Compiled
from scaling_limits.costs.count import PREPARING, RUNNING, counted

Rates = Mapping[str, float]

RUN_SECONDS = 2.8
"""Starting Snakemake and planning."""
JOB_SECONDS = 1.8
"""A process up to its first cell."""
FIGURE_SECONDS = 6.5
"""Judging, drawing and copying a figure."""
RATES: Mapping[Literal["cpu", "gpu"], Rates] = {
    # fitted to the run times of about a thousand cells on one core of the machine on which the presets were designed
    "cpu": {
        "products_float32": 1.28e-11,
        "products_float64": 3.5e-11,
        "activities": 3.93e-11,
        "shifts": 1.7e-10,
        "windows": 4.78e-10,
        "weights": 4.24e-11,
        "draws": 3.38e-9,
        "kernels": 5.4e-7,
        "decompositions": 2.15e-6,
        "decomposed": 3.7e-10,
        "python": 1.25e-4,
        "cells": 2.89e-3,
        "data": 9.61e-9,
        "programs": 0.956,
        "operations": 0.0456,
        "loops": 0.0395,
    },
    # measured on an H100 (docs/gpu.md): 24 TFLOP/s in training, 2.1 TB/s, 4.4 µs per kernel. Products in float64 and
    # small decompositions were not measured; work of the host has the rates of the CPU, and compilation is estimated
    # from a few programs.
    "gpu": {
        "products_float32": 8.3e-14,
        "products_float64": 8.3e-14,
        "activities": 4.8e-13,
        "shifts": 4.8e-13,
        "windows": 4.8e-13,
        "weights": 4.8e-13,
        "draws": 4.8e-13,
        "kernels": 4.4e-6,
        "decompositions": 2.15e-6,
        "decomposed": 3.8e-11,
        "python": 1.25e-4,
        "cells": 2.89e-3,
        "data": 9.61e-9,
        "programs": 2.4,
        "operations": 0.11,
        "loops": 0.1,
    },
}
"""Seconds of each kind of work.

The rates of a CPU determine how a program is compiled (`compiling`), which is part of a cell's key: if they change,
cells are recomputed.
"""
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
"""Time of each kind of work relative to a fully optimised program, by kind of compilation.

Values are measured (see docs/performance.md). Matrix products come from a library and are not affected.
"""


def cell_seconds(cell: Cell) -> float:
    """Return the seconds that a cell takes in a full batch of its `cells_per_batch`, without preparation."""
    return float(_work(cell, RUNNING) @ _rates(cell, RUNNING))


def shard_seconds(shard: Sequence[Cell]) -> float:
    """Return the seconds that the cells of one shard take: preparation, and batches; an incomplete batch is padded."""
    first = shard[0]
    batches = -(-len(shard) // first.cells_per_batch)
    preparing = float(_work(first, PREPARING) @ _rates(first, PREPARING))
    return preparing + batches * first.cells_per_batch * cell_seconds(first)


def _work(cell: Cell, kinds: Iterable[str]) -> np.ndarray:
    amounts = counted(cell).amounts
    times = TIMES[cell.compiled]
    # the cells of a batch share kernels
    shared = {"kernels": cell.cells_per_batch}
    return np.array([amounts[kind] * times.get(kind, 1) / shared.get(kind, 1) for kind in kinds])


def _rates(cell: Cell, kinds: Iterable[str]) -> np.ndarray:
    return np.array([RATES[cell.device][kind] for kind in kinds])
