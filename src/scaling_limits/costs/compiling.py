"""How much the program of a cell is optimised; without jax."""

from scaling_limits.cells import Cell, Compiled
from scaling_limits.costs.count import RUNNING, counted
from scaling_limits.costs.rates import RATES, TIMES

_CELLS = 20
"""Cells of a shard that the time of its compilation is weighed for. A shard of smoke has fewer, one of laptop more."""


def compiled(cell: Cell) -> Compiled:
    """The way in which a shard of `_CELLS` such cells takes the least time in all.

    It is decided by the cell alone, as its bits may not depend on its shard. XLA's GPU compiler has no such choice.
    """
    if cell.limit is not None or cell.device == "gpu":
        return None
    seconds = {
        kind: amount * RATES["cpu"][kind] * (_CELLS if kind in RUNNING else 1)
        for kind, amount in counted(cell).found.items()
    }
    return min(
        TIMES,
        key=lambda way: sum(each * TIMES[way].get(kind, 1) for kind, each in seconds.items()),
    )
