"""Residual blocks: the names of their layers, and which blocks the measurements of features look at.

x^l leaves block l of L, x^0 enters the first. Apart from the measurements, as limits take them without jax.
"""


def layer_names(block_depth: int) -> tuple[str, ...]:
    """Return the names of a block's layers in a cell's `scaling`: the role of a single layer, else one for each."""
    if block_depth == 1:
        return ("hidden",)
    return tuple(f"hidden_{number}" for number in range(1, block_depth + 1))


def quarters(num_blocks: int) -> tuple[int, ...]:
    """0, L/4, L/2, 3L/4 and L, rounded down (depth-mup Fig. 8, 9)."""
    return tuple(num_blocks * quarter // 4 for quarter in range(5))


def quarter_blocks(num_blocks: int) -> tuple[int, ...]:
    """Return the blocks 1, L/4, L/2, 3L/4 and L, rounded down but at least 1."""
    return tuple(max(block, 1) for block in quarters(num_blocks))


def distances(num_blocks: int) -> tuple[int, ...]:
    """1, 2, 4, ... as long as `floor(L/4)` plus it is a block (depth-mup Sec. 10.4 at lambda = 1/4)."""
    beyond = num_blocks - num_blocks // 4
    return tuple(2**power for power in range(beyond.bit_length()))
