"""How much the program of a cell is optimised; without jax."""

from typing import Literal

from scaling_limits.cells import Cell
from scaling_limits.configuration.costs.count import flops

_QUICKLY_BELOW = 2e9
"""Operations of one cell. Programs without optimisation compile in a third to a half of the time and run three times as
long; cells of this many operations take about 0.1 s, and a shard has a handful of them (docs/performance.md)."""


def compiled(cell: Cell) -> Literal["quickly"] | None:
    """Quickly where less time would go into running a shard of this cell's than into its compilation.

    It is decided by the cell alone, as its bits may not depend on its shard. XLA's GPU compiler has no such choice.
    """
    if cell.limit is not None or cell.device == "gpu" or flops(cell) >= _QUICKLY_BELOW:
        return None
    return "quickly"
