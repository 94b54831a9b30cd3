"""How much the program of a cell is optimised, and what that costs; without jax."""

from scaling_limits.cells import Cell, Compiled
from scaling_limits.configuration.costs.count import counted, product_flops

_QUICKLY_BELOW = 1e9
"""Operations of products of one cell. A shard of smoke compiles for some 3 s, and few have more than 20 cells of this
size."""
_FOR_EACH_OPERATION = 6e7
"""The same by operations on layers in the program: one with many, such as a ResNet's, compiles that much longer."""
QUICKLY = {
    **dict.fromkeys(("programs", "operations", "loops"), 0.6),
    **dict.fromkeys(("activities", "shifts", "windows", "weights", "draws"), 3.5),
}
"""By kind of work, its time in a program that is compiled quickly over that in one that is optimised, as measured in
smoke. Products of matrices come from a library."""


def compiled(cell: Cell) -> Compiled:
    """Quickly where more time would go into the compilation of this cell's shard than into running it.

    It is decided by the cell alone, as its bits may not depend on its shard. XLA's GPU compiler has no such choice.
    """
    if cell.limit is not None or cell.device == "gpu":
        return None
    work = counted(cell)
    enough = max(_QUICKLY_BELOW, _FOR_EACH_OPERATION * work.found["operations"])
    return "quickly" if product_flops(work) < enough else None
