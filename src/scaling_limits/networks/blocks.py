"""Which residual blocks the measurements of features look at: x^l leaves block l of L, x^0 enters the first.

Apart from the measurements, as limits take them without jax.
"""


def quarters(num_blocks: int) -> tuple[int, ...]:
    """0, L/4, L/2, 3L/4 and L, rounded down (depth-mup Fig. 8, 9)."""
    return tuple(num_blocks * quarter // 4 for quarter in range(5))


def distances(num_blocks: int) -> tuple[int, ...]:
    """1, 2, 4, ... as long as `floor(L/4)` plus it is a block (depth-mup Sec. 10.4 at lambda = 1/4)."""
    beyond = num_blocks - num_blocks // 4
    return tuple(2**power for power in range(beyond.bit_length()))
