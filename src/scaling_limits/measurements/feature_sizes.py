"""Sizes of the activities, and of the outputs of residual blocks, along the depth.

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
    """Compute root mean squares over units and samples of the batch.

    `activity_rms` covers x^0, x^{L/4}, x^{L/2}, x^{3L/4} and x^L (rounded down, with L blocks or hidden layers after
    the first), and `output_rms` the output. In networks with residual branches, `block_rms` covers the outputs of
    blocks 1, L/4, L/2, 3L/4 and L before the branch multiplier b, (x^l - x^{l-1}) / b, which is h^l = W^l x^{l-1} in
    linear networks.
    """
    import jax.numpy as jnp

    from scaling_limits.measurements.stacks import rms

    problem = context.problem
    activities = problem.activities()
    *hidden, output = activities
    # layer by layer, because convolutional layers differ in size
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
    """Return the metrics recorded for a cell: `block_rms` only with residual branches."""
    return set(AXES) if cell.network.has_branches else set(AXES) - {"block_rms"}


def work(cell: Cell, count: Count) -> None:
    """Add the activities."""
    count.forward()
