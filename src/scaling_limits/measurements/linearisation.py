"""Distance of the changes of residual blocks from their linearisation in the blocks' weights.

Source: depth-mup Def. 7.7 and Claim 7.6 for blocks of one layer, Sec. 9 for several.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from scaling_limits.cells import Cell
from scaling_limits.measurements.requirements import lacking
from scaling_limits.networks import layers_of

if TYPE_CHECKING:
    from jaxtyping import Array, Float, PyTree

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.network import Scaling, Segment
    from scaling_limits.networks.work import Count

AXES: dict[str, tuple[str, ...]] = {"linearisation_distance": ()}


def measure(context: Context) -> dict[str, Array]:
    """Compute the root mean square over all residual blocks of the relative distance from the linearisation.

    For one block, the distance is

        ||g(W_t) - g(W_0) - dg(W_0) (W_t - W_0)|| / ||g(W_t) - g(W_0)||

    with g(W) the contribution of a block with weights W to its current input x_t^{l-1}, dg its derivative with respect
    to the weights, W_0 the weights before training, and norms over units and batch. The distance is 0 if the block's
    weights or its contribution have not changed, so at step 0.
    """
    import jax
    import jax.numpy as jnp

    problem = context.problem
    inputs = problem.inputs(problem.activities())
    stacks = zip(problem.network.segments, problem.params, context.initial, inputs, strict=True)
    distances = [
        jax.vmap(partial(_distance, segment, problem.scaling))(now, first, x)
        for segment, now, first, x in stacks
        if segment.residual
    ]
    return {"linearisation_distance": jnp.sqrt((jnp.concatenate(distances) ** 2).mean())}


def _distance(
    segment: Segment, scaling: Scaling, now: PyTree, first: PyTree, x: Float[Array, "batch units"]
) -> Float[Array, ""]:
    """Compute the distance of one block."""
    import jax
    import jax.numpy as jnp

    moved = jax.tree.map(jnp.subtract, now, first)
    before, linear = jax.jvp(lambda w: segment.apply(w, scaling, x), (first,), (moved,))
    # the block's input cancels in the difference
    change = segment.apply(now, scaling, x) - before
    size = jnp.linalg.norm(change)
    # at equal weights the two may differ by round-off, as they may be compiled differently
    weights = jnp.stack([(leaf != 0).any() for leaf in jax.tree.leaves(moved)])
    changed = weights.any() & (size != 0)
    distance = jnp.linalg.norm(change - linear) / jnp.where(changed, size, 1.0)
    return jnp.where(changed, distance, 0.0)


def refuse(cell: Cell) -> None:
    """Reject networks without residual branches; raises ConfigurationError."""
    if not cell.network.has_branches:
        raise lacking(
            "linearisation",
            f"requires residual branches, which network '{cell.network.name}' does not have here; use mlp with "
            "skip: true and at least one block, residual_cnn or transformer",
        )


def work(cell: Cell, count: Count) -> None:
    """Add the activities, and the outputs of all blocks now and before training, with the derivative."""
    blocks = [layer for layer in layers_of(cell.network) if layer.role == "hidden"]
    count.forward()
    for _ in range(4):
        count.at_once(blocks)


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory of the weights before training, and of the blocks' outputs with their derivative."""
    return {"weights": 1, "units": 3}
