"""Residual blocks: the names of their layers, and the blocks at which features are measured.

x^l is the output of block l of L, and x^0 the input of the first block. This module is separate from the measurements
because limits use it without JAX.
"""


def layer_names(block_depth: int) -> tuple[str, ...]:
    """Return the keys of a block's layers in a cell's `scaling`: the role for a single layer, else one name each."""
    if block_depth == 1:
        return ("hidden",)
    return tuple(f"hidden_{number}" for number in range(1, block_depth + 1))


def quarters(num_blocks: int) -> tuple[int, ...]:
    """Return 0, L/4, L/2, 3L/4 and L, rounded down (depth-mup Fig. 8, 9)."""
    return tuple(num_blocks * quarter // 4 for quarter in range(5))


def quarter_blocks(num_blocks: int) -> tuple[int, ...]:
    """Return the blocks 1, L/4, L/2, 3L/4 and L, rounded down but at least 1."""
    return tuple(max(block, 1) for block in quarters(num_blocks))


def distances(num_blocks: int) -> tuple[int, ...]:
    """Return 1, 2, 4, ... up to the largest distance at which `floor(L/4)` plus it is a block.

    This is depth-mup Sec. 10.4 at lambda = 1/4.
    """
    beyond = num_blocks - num_blocks // 4
    return tuple(2**power for power in range(beyond.bit_length()))
