"""The level at which the program of a cell is optimised. Does not import jax."""

from scaling_limits.cells import Cell, Compiled
from scaling_limits.costs.count import RUNNING, counted
from scaling_limits.costs.rates import RATES, TIMES

_CELLS = 20
"""Number of cells of a shard for which compile time and run time are balanced.

Shards at `smoke` have fewer cells, shards at `laptop` more.
"""


def compiled(cell: Cell) -> Compiled:
    """Return the compilation that minimises the total time of a shard of `_CELLS` such cells.

    The choice depends on the cell alone, because the bits of its results must not depend on its shard. XLA's GPU
    compiler offers no such choice.

    Returns:
        A key of `rates.TIMES`; None for full optimisation.
    """
    if cell.limit is not None or cell.device == "gpu":
        return None
    seconds = {
        kind: amount * RATES["cpu"][kind] * (_CELLS if kind in RUNNING else 1)
        for kind, amount in counted(cell).amounts.items()
    }
    return min(
        TIMES,
        key=lambda way: sum(each * TIMES[way].get(kind, 1) for kind, each in seconds.items()),
    )
