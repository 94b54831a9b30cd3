"""How much the program of a cell is optimised; without jax."""

from scaling_limits.cells import Cell, Compiled
from scaling_limits.configuration.costs.count import RUNNING, counted
from scaling_limits.configuration.costs.rates import TIMES

_SECONDS = {
    "products_float32": 1.28e-11,
    "products_float64": 3.5e-11,
    "activities": 3.93e-11,
    "shifts": 1.7e-10,
    "windows": 4.78e-10,
    "weights": 4.24e-11,
    "draws": 3.38e-09,
    "kernels": 5.4e-07,
    "decompositions": 2.15e-06,
    "decomposed": 3.7e-10,
    "python": 0.000125,
    "cells": 0.00289,
    "data": 9.61e-09,
    "programs": 0.956,
    "operations": 0.0456,
    "loops": 0.0395,
}
"""Seconds of each kind of work. The choice is part of a cell's key, so it does not follow `rates.json`, which
`scaling-limits rates` rewrites."""
_CELLS = 20
"""Cells of a shard that the time of its compilation is weighed for. A shard of smoke has fewer, one of laptop more."""


def compiled(cell: Cell) -> Compiled:
    """The way in which a shard of `_CELLS` such cells takes the least time in all.

    It is decided by the cell alone, as its bits may not depend on its shard. XLA's GPU compiler has no such choice.
    """
    if cell.limit is not None or cell.device == "gpu":
        return None
    seconds = {
        kind: amount * _SECONDS[kind] * (_CELLS if kind in RUNNING else 1)
        for kind, amount in counted(cell).found.items()
    }
    return min(
        TIMES,
        key=lambda way: sum(each * TIMES[way].get(kind, 1) for kind, each in seconds.items()),
    )
