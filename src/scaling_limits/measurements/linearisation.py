"""Distance of the changes of residual blocks from their linearisation in the blocks' own weights.

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
    """Return the root mean square over all residual blocks of `||g(W_t) - g(W_0) - dg(W_0) (W_t - W_0)|| / ||g(W_t) -
    g(W_0)||`.

    g(W) is what a block of weights W adds to its present input x_t^{l-1}, dg its derivative by the weights, W_0 are
    the weights before training and norms are over units and batch. The distance of a block is 0 if its weights or what
    it adds have not changed, so at step 0.
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
    """Return the distance of one block."""
    import jax
    import jax.numpy as jnp

    moved = jax.tree.map(jnp.subtract, now, first)
    before, linear = jax.jvp(lambda w: segment.apply(w, scaling, x), (first,), (moved,))
    # the block's input, which both sums have, cancels
    change = segment.apply(now, scaling, x) - before
    size = jnp.linalg.norm(change)
    # at equal weights the two may differ by rounding, as they may be compiled differently
    weights = jnp.stack([(leaf != 0).any() for leaf in jax.tree.leaves(moved)])
    changed = weights.any() & (size != 0)
    distance = jnp.linalg.norm(change - linear) / jnp.where(changed, size, 1.0)
    return jnp.where(changed, distance, 0.0)


def refuse(cell: Cell) -> None:
    """Refuse networks without residual branches; raises ConfigurationError."""
    if not cell.network.has_branches:
        raise lacking(
            "linearisation",
            "is of residual branches; use network: mlp with skip: true and at least one block, residual_cnn or "
            f"transformer, not '{cell.network.name}' without",
        )


def work(cell: Cell, count: Count) -> None:
    """Activities, and of all blocks what they compute now and at first, with the derivative."""
    blocks = [layer for layer in layers_of(cell.network) if layer.role == "hidden"]
    count.forward()
    for _ in range(4):
        count.at_once(blocks)


def memory(cell: Cell) -> dict[str, float]:
    """The weights before training, and what blocks compute with their derivative."""
    return {"weights": 1, "units": 3}
