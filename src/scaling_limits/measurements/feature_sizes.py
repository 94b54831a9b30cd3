"""Sizes of the activities, and of what residual blocks compute, along the depth.

Source: depth-mup Fig. 8 and 9, and Claim 7.3 for blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import Cell
from scaling_limits.networks.blocks import quarter_blocks, quarters

if TYPE_CHECKING:
    from jaxtyping import Array

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.work import Count

AXES: dict[str, tuple[str, ...]] = {
    "activity_rms": ("index",),
    "block_rms": ("index",),
    "output_rms": (),
}


def measure(context: Context) -> dict[str, Array]:
    """Return root mean squares over units and samples of the batch.

    `activity_rms` is of x^0, x^{L/4}, x^{L/2}, x^{3L/4}, x^L (rounded down, L blocks or hidden layers after the first),
    `output_rms` of the output. With residual branches, `block_rms` is of what blocks 1, L/4, L/2, 3L/4 and L compute
    before the branch multiplier b, (x^l - x^{l-1}) / b: h^l = W^l x^{l-1} in linear networks.
    """
    import jax.numpy as jnp

    from scaling_limits.measurements.stacks import rms

    problem = context.problem
    activities = problem.activities()
    *hidden, output = activities
    # layer by layer, as convolutions have layers of several sizes
    sizes = jnp.concatenate([rms(stack) for stack in hidden])
    result = {
        "activity_rms": sizes[jnp.asarray(quarters(len(sizes) - 1))],
        "output_rms": rms(output)[0],
    }
    nodes = zip(problem.network.segments, problem.inputs(activities), activities, strict=True)
    added = [
        rms(after - before) / jnp.asarray(problem.scaling[segment.role]["branch"], after.dtype)
        for segment, before, after in nodes
        if segment.residual
    ]
    if added:
        blocks = jnp.concatenate(added)
        result["block_rms"] = blocks[jnp.asarray(quarter_blocks(len(blocks))) - 1]
    return result


def metrics(cell: Cell) -> set[str]:
    """Return what it records of a cell: `block_rms` of networks with residual branches."""
    return set(AXES) if cell.network.has_branches else set(AXES) - {"block_rms"}


def work(cell: Cell, count: Count) -> None:
    """Activities."""
    count.forward()
