"""Seconds that each kind of work takes, by device."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from scaling_limits.cells import Cell, Compiled
from scaling_limits.costs.count import PREPARING, RUNNING, counted

Rates = Mapping[str, float]

RUN_SECONDS = 2.8
"""Starting Snakemake and planning."""
JOB_SECONDS = 1.8
"""A process up to its first cell."""
FIGURE_SECONDS = 6.5
"""Judging, drawing and copying a figure."""
CELL_SECONDS = 2.89e-3
"""Handing over a cell and storing it."""
RATES: Mapping[Literal["cpu", "gpu"], Rates] = {
    # fitted to the run times of about a thousand cells on one core of the machine on which the presets were designed;
    # kinds of similar cost were merged later, at rates that change the compilation of no cell of the presets
    "cpu": {
        "products": 1.28e-11,
        "bytes": 4.06e-11,
        "moved": 4.6e-10,
        "kernels": 5.4e-7,
        "data": 9.61e-9,
        "operations": 0.0447,
    },
    # measured on an H100 (docs/gpu.md): 24 TFLOP/s in training, 2.1 TB/s, 4.4 µs per kernel. Small
    # decompositions were not measured. Data are prepared on the host, and compilation is estimated from a few programs.
    "gpu": {
        "products": 8.3e-14,
        "bytes": 4.8e-13,
        "moved": 4.8e-13,
        "kernels": 4.4e-6,
        "data": 9.61e-9,
        "operations": 0.11,
    },
}
"""Seconds of each kind of work.

The rates of a CPU determine how a program is compiled (`compiling`), which is part of a cell's key: if they change,
cells are recomputed.
"""
_FLOAT64 = {"cpu": 2.73, "gpu": 1.0}
"""Time of a product in float64, relative to float32; not measured on a GPU."""
TIMES: Mapping[Compiled, Mapping[str, float]] = {
    None: {},
    "partly": {"operations": 0.45, "bytes": 1.5, "moved": 1.2},
    "quickly": {"operations": 0.22, "bytes": 4, "moved": 4},
}
"""Time of each kind of work relative to a fully optimised program, by kind of compilation.

Values are measured (see docs/performance.md). Matrix products come from a library and are not affected.
"""


def cell_seconds(cell: Cell) -> float:
    """Return the seconds that a cell takes in a full batch of its `cells_per_batch`, without preparation."""
    return CELL_SECONDS + _seconds(cell, RUNNING)


def shard_seconds(shard: Sequence[Cell]) -> float:
    """Return the seconds that the cells of one shard take: preparation, and batches; an incomplete batch is padded."""
    first = shard[0]
    batches = -(-len(shard) // first.cells_per_batch)
    return _seconds(first, PREPARING) + batches * first.cells_per_batch * cell_seconds(first)


def _seconds(cell: Cell, kinds: Iterable[str]) -> float:
    # limits are computed on the host, one after the other
    device, batch = cell.device, cell.cells_per_batch
    if cell.limit is not None:
        device, batch = "cpu", 1
    factors = {"products": _FLOAT64[device] if cell.dtype == "float64" else 1.0}
    # the cells of a batch share kernels
    factors |= {"kernels": 1 / batch, **TIMES[cell.compiled]}
    amounts = counted(cell).amounts
    return sum(amounts[kind] * RATES[device][kind] * factors.get(kind, 1.0) for kind in kinds)
