"""Passes over a network's nodes, shared by algorithms; none unrolls a run of equal nodes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, PyTree

from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.network import Params, Scaling, Segment, Stacks

NodeStep = Callable[[Segment, Array, PyTree], tuple[Array, PyTree]]


def upwards(
    segments: Sequence[Segment], step: NodeStep, carry: Array, entries: Iterable[PyTree]
) -> tuple[Array, tuple[PyTree, ...]]:
    """Scan the nodes of a network from the bottom up.

    Args:
        segments: the segments of the network, lowest first.
        step: `step(segment, carry, entry) -> (carry, result)`, called for every node.
        carry: the input of the lowest node, usually an activity `[batch, units]`.
        entries: for every segment a tree with leaves stacked over its nodes, `[count, ...]`; `step` gets the slice of
            its node.

    Returns:
        The carry after the top node, and for every segment its stacked results, a tree with leaves `[count, ...]`.
    """
    results = []
    for segment, stacked in zip(segments, entries, strict=True):
        carry, result = _through(segment, step, carry, stacked, reverse=False)
        results.append(result)
    return carry, tuple(results)


def downwards(
    segments: Sequence[Segment], step: NodeStep, carry: Array, entries: Iterable[PyTree]
) -> tuple[Array, tuple[PyTree, ...]]:
    """Scan the nodes of a network from the top down.

    Args:
        segments: the segments of the network, lowest first.
        step: `step(segment, carry, entry) -> (carry, result)`, called for every node.
        carry: the initial carry at the top node, usually a cotangent or error `[batch, units]`.
        entries: for every segment, lowest first, a tree with leaves stacked over its nodes, `[count, ...]`; `step` gets
            the slice of its node.

    Returns:
        The carry after the lowest node, and for every segment, lowest first, its stacked results, a tree with leaves
        `[count, ...]`.
    """
    results: list[PyTree] = []
    for segment, stacked in reversed(list(zip(segments, entries, strict=True))):
        carry, result = _through(segment, step, carry, stacked, reverse=True)
        results.insert(0, result)
    return carry, tuple(results)


def rollout(problem: Problem, errors: Stacks) -> Stacks:
    """Compute the activities z_l = p_l(z_{l-1}) + e_l of all nodes from their errors."""

    def step(segment: Segment, z: Array, entry: PyTree) -> tuple[Array, Array]:
        params, error = entry
        z = segment.apply(params, problem.scaling, z) + error
        return z, z

    entries = zip(problem.params, errors, strict=True)
    return upwards(problem.network.segments, step, problem.x, entries)[1]


def pull(
    segment: Segment,
    params: PyTree,
    scaling: Scaling,
    x: Array,
    cotangent: Float[Array, "batch out"],
) -> Float[Array, "batch in"]:
    """Compute the vector-Jacobian product `J^T cotangent` of one node, with its Jacobian J at the input `x`.

    Args:
        segment: the segment of the node.
        params: the weights of this node, without the axis over nodes.
        scaling: the numbers of the parameterisation, role -> quantity -> number.
        x: the input of the node `[batch, in]`.
        cotangent: the vector to propagate back, `[batch, out]`.

    Returns:
        The product for every sample, `[batch, in]`.
    """
    _, pullback = jax.vjp(lambda x: segment.apply(params, scaling, x), x)
    pulled: Array = pullback(cotangent)[0]
    return pulled


def backward_pass(problem: Problem, inputs: Stacks, cotangent: Float[Array, "batch out"]) -> Stacks:
    """Compute the derivative of `cotangent . f` with respect to every node's output, at the given inputs."""

    def step(segment: Segment, cotangent: Array, entry: PyTree) -> tuple[Array, Array]:
        params, x = entry
        return pull(segment, params, problem.scaling, x, cotangent), cotangent

    entries = zip(problem.params, inputs, strict=True)
    return downwards(problem.network.segments, step, cotangent, entries)[1]


def output_jacobians(problem: Problem, inputs: Stacks) -> Stacks:
    """Compute each sample's Jacobian of f with respect to every node's output, `[count, batch, out, units]`.

    This is the transpose of pc-tp delta_l; the output node's Jacobian is the identity.
    """
    batch = inputs[-1].shape[1]
    size = problem.y.shape[-1]
    rows = jnp.broadcast_to(jnp.eye(size, dtype=inputs[-1].dtype)[:, None], (size, batch, size))

    def one(row: Array) -> Stacks:
        return backward_pass(problem, inputs, row)

    stacks: Stacks = jax.vmap(one, out_axes=2)(rows)
    return stacks


def weight_gradients(problem: Problem, inputs: Stacks, errors: Stacks) -> Params:
    """Compute the batch mean of `-e_l dp_l/dW_l` at the given inputs (pc-tp S.33).

    For sequences, it is also the mean over tokens. It contains no energy weight, so it is dF/dW_l divided by gamma_l.
    """

    def predictions(params: Params) -> Stacks:
        return replace(problem, params=params).predictions(inputs)

    _, pullback = jax.vjp(predictions, problem.params)
    gradients: Params = pullback(jax.tree.map(lambda e: -e / problem.batch_tokens, errors))[0]
    return gradients


def _through(
    segment: Segment, step: NodeStep, carry: Array, stacked: PyTree, *, reverse: bool
) -> tuple[Array, PyTree]:
    if segment.count == 1:
        # outside of a loop, results that nothing uses are not computed
        carry, result = step(segment, carry, jax.tree.map(lambda leaf: leaf[0], stacked))
        return carry, jax.tree.map(lambda leaf: leaf[None], result)
    return jax.lax.scan(
        lambda carry, entry: step(segment, carry, entry), carry, stacked, reverse=reverse
    )
