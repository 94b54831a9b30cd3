"""Building blocks of Newton iterations towards an equilibrium.

The unknowns belong to the hidden nodes, in stacks `[count, batch, units]`. Each sample has its own iterations; the
batch performs them together.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, PyTree

from scaling_limits.networks.network import Stacks

NUM_PRODUCTS = 32
"""Maximum number of products with the Hessian for one Newton direction."""

MOST_ITERATIONS = 100
DECREASE = 1e-4
"""Fraction of the decrease predicted by the gradient that a step must achieve (Armijo condition)."""
_HALVINGS = 20
_ROUND_OFF = 10.0
"""Number of units in the last place by which energies of the same point may differ."""

PerSample = Float[Array, " batch"]


class State(Protocol):
    """The fields that every state of iterations has."""

    @property
    def residual(self) -> PerSample:
        """The residual of each sample."""

    @property
    def stalled(self) -> Bool[Array, " batch"]:
        """Whether the energy of each sample no longer decreases."""

    @property
    def iterations(self) -> Int[Array, ""]:
        """The number of iterations so far."""


AnyState = TypeVar("AnyState", bound=State)


def iterated(
    begin: AnyState,
    iterate: Callable[[AnyState, Bool[Array, " batch"]], AnyState],
    tolerance: Float[Array, ""],
) -> AnyState:
    """Repeat `iterate(state, chosen)` until every sample has converged or stalled, at most `MOST_ITERATIONS` times.

    Args:
        begin: the initial state.
        iterate: performs one iteration of the chosen samples.
        tolerance: residual at which a sample has converged; a sample is chosen until then, or until it has stalled.

    Returns:
        The final state.
    """

    def unconverged(state: AnyState) -> Array:
        return (state.residual > tolerance) & ~state.stalled

    def unfinished(state: AnyState) -> Array:
        remaining: Array = unconverged(state).any() & (state.iterations < MOST_ITERATIONS)
        return remaining

    return jax.lax.while_loop(unfinished, lambda state: iterate(state, unconverged(state)), begin)


def slack(energy: PerSample) -> PerSample:
    """Return by how much energies of the same point may differ because of round-off."""
    return _ROUND_OFF * float(np.finfo(energy.dtype).eps) * jnp.abs(energy)


def norm(vector: Stacks) -> PerSample:
    """Compute each sample's Euclidean norm."""
    return jnp.sqrt(dot(vector, vector))


def dot(left: Stacks, right: Stacks) -> PerSample:
    """Compute each sample's inner product."""
    pairs = zip(left, right, strict=True)
    return jnp.stack([(a * b).sum(axis=(0, 2)) for a, b in pairs]).sum(axis=0)


def add(onto: Stacks, length: PerSample, direction: Stacks) -> Stacks:
    """Compute `onto + length * direction` with one length per sample."""
    return tuple(a + length[None, :, None] * b for a, b in zip(onto, direction, strict=True))


def over(numerator: PerSample, denominator: PerSample) -> PerSample:
    """Divide, with the result 0 where the denominator is 0."""
    there = denominator != 0
    return jnp.where(there, numerator / jnp.where(there, denominator, 1.0), 0.0)


def largest(stacks: Stacks) -> PerSample:
    """Return each sample's largest absolute entry over all nodes."""
    return jnp.stack([jnp.abs(stack).max(axis=(0, 2)) for stack in stacks]).max(axis=0)


def conjugate_gradients(
    product: Callable[[Stacks], Stacks],
    gradients: Stacks,
    precondition: Callable[[Stacks], Stacks],
    enough: PerSample,
) -> Stacks:
    """Solve `H p = -gradients` for each sample by preconditioned conjugate gradients.

    A sample's iterations end when the norm of the residual is at most `enough`, when the curvature is negative, or
    after `NUM_PRODUCTS` products. If the curvature is negative at the first product, p is the preconditioned negative
    gradient.

    Args:
        product: multiplies stacks by the Hessian H.
        gradients: the gradients at the hidden nodes, for every segment `[count, batch, units]`.
        precondition: multiplies stacks by the preconditioner, an approximate inverse of H.
        enough: the residual norm at which a sample ends `[batch]`.

    Returns:
        The solution p, laid out as `gradients`.
    """

    def unfinished(carried: PyTree) -> Array:
        remaining: Array = (carried[0] < NUM_PRODUCTS) & carried[-1].any()
        return remaining

    def step(carried: PyTree) -> PyTree:
        number, solution, residual, conditioned, direction, active = carried
        applied = product(direction)
        curvature = dot(direction, applied)
        convex = curvature > 0
        alpha = over(dot(residual, conditioned), curvature)
        first = active & ~convex & (number == 0)
        active = active & convex
        alpha = jnp.where(active, alpha, jnp.where(first, 1.0, 0.0))
        solution = add(solution, alpha, direction)
        next_residual = add(residual, -jnp.where(active, alpha, 0.0), applied)
        next_conditioned = precondition(next_residual)
        beta = over(dot(next_residual, next_conditioned), dot(residual, conditioned))
        active = active & (norm(next_residual) > enough)
        number, direction = number + 1, add(next_conditioned, beta, direction)
        return number, solution, next_residual, next_conditioned, direction, active

    residual = jax.tree.map(jnp.negative, gradients)
    conditioned = precondition(residual)
    zero = jax.tree.map(jnp.zeros_like, gradients)
    start = (jnp.int32(0), zero, residual, conditioned, conditioned, jnp.ones(enough.shape, bool))
    result: Stacks = jax.lax.while_loop(unfinished, step, start)[1]
    return result


def step_size(
    good: Callable[[PerSample], Bool[Array, " batch"]],
    chosen: Bool[Array, " batch"],
    like: PerSample,
) -> PerSample:
    """Return the first of the steps 1, 1/2, 1/4, ... that is `good` for each chosen sample, or 0 if none is."""

    def halve(carried: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        size, _, number = carried
        fine = good(size)
        return jnp.where(fine, size, size / 2), fine, number + 1

    def too_long(carried: tuple[Array, Array, Array]) -> Array:
        _, fine, number = carried
        return (chosen & ~fine).any() & (number < _HALVINGS)

    start = (jnp.ones_like(like), jnp.zeros(like.shape, bool), jnp.int32(0))
    size, fine, _ = jax.lax.while_loop(too_long, halve, start)
    return jnp.where(chosen & fine, size, 0.0)
