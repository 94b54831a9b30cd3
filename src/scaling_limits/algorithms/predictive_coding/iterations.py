"""What iterations of Newton's method towards an equilibrium share.

The unknowns stand at the hidden nodes, in stacks `[count, batch, units]`. Each sample has iterations of its own, the
batch takes them together.
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
"""With the Hessian in one direction of Newton's method, at most."""

MOST_ITERATIONS = 100
DECREASE = 1e-4
"""The share of the fall that the slope promises which a step has to bring."""
_HALVINGS = 20
_ROUND_OFF = 10.0
"""By so many units in the last place energies of the same point may differ."""

PerSample = Float[Array, " batch"]


class State(Protocol):
    """The properties that the states of all methods have."""

    @property
    def residual(self) -> PerSample:
        """The residual gradient."""

    @property
    def stalled(self) -> Bool[Array, " batch"]:
        """Whether the energy falls no more."""

    @property
    def iterations(self) -> Int[Array, ""]:
        """How many there were."""


AnyState = TypeVar("AnyState", bound=State)


def iterated(
    begin: AnyState,
    iterate: Callable[[AnyState, Bool[Array, " batch"]], AnyState],
    tolerance: Float[Array, ""],
) -> AnyState:
    """Repeat `iterate(state, chosen)`: each sample is chosen until its residual is the tolerance or its energy
    falls no more, `MOST_ITERATIONS` times at most.
    """

    def unconverged(state: AnyState) -> Array:
        return (state.residual > tolerance) & ~state.stalled

    def unfinished(state: AnyState) -> Array:
        going: Array = unconverged(state).any() & (state.iterations < MOST_ITERATIONS)
        return going

    return jax.lax.while_loop(unfinished, lambda state: iterate(state, unconverged(state)), begin)


def slack(energy: PerSample) -> PerSample:
    """By how much energies of the same point may differ."""
    return _ROUND_OFF * float(np.finfo(energy.dtype).eps) * jnp.abs(energy)


def norm(vector: Stacks) -> PerSample:
    """Each sample's Euclidean norm."""
    return jnp.sqrt(dot(vector, vector))


def dot(left: Stacks, right: Stacks) -> PerSample:
    """Each sample's inner product."""
    pairs = zip(left, right, strict=True)
    return jnp.stack([(a * b).sum(axis=(0, 2)) for a, b in pairs]).sum(axis=0)


def add(onto: Stacks, amount: PerSample, direction: Stacks) -> Stacks:
    """`onto + amount * direction`, the amount each sample's own."""
    return tuple(a + amount[None, :, None] * b for a, b in zip(onto, direction, strict=True))


def over(numerator: PerSample, denominator: PerSample) -> PerSample:
    """The quotient, 0 where the denominator is."""
    there = denominator != 0
    return jnp.where(there, numerator / jnp.where(there, denominator, 1.0), 0.0)


def largest(stacks: Stacks) -> PerSample:
    """The largest entry of all nodes, in absolute value."""
    return jnp.stack([jnp.abs(stack).max(axis=(0, 2)) for stack in stacks]).max(axis=0)


def conjugate_gradients(
    product: Callable[[Stacks], Stacks],
    gradients: Stacks,
    precondition: Callable[[Stacks], Stacks],
    enough: PerSample,
) -> Stacks:
    """Solve `H p = -gradients` for each sample by preconditioned conjugate gradients.

    A sample's iterations end where the residual has at most the norm `enough`, where the curvature is negative, or
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
        going: Array = (carried[0] < NUM_PRODUCTS) & carried[-1].any()
        return going

    def step(carried: PyTree) -> PyTree:
        number, solution, rest, conditioned, along, active = carried
        applied = product(along)
        curvature = dot(along, applied)
        convex = curvature > 0
        amount = over(dot(rest, conditioned), curvature)
        first = active & ~convex & (number == 0)
        active = active & convex
        amount = jnp.where(active, amount, jnp.where(first, 1.0, 0.0))
        solution = add(solution, amount, along)
        renewed = add(rest, -jnp.where(active, amount, 0.0), applied)
        again = precondition(renewed)
        share = over(dot(renewed, again), dot(rest, conditioned))
        active = active & (norm(renewed) > enough)
        return number + 1, solution, renewed, again, add(again, share, along), active

    rest = jax.tree.map(jnp.negative, gradients)
    conditioned = precondition(rest)
    zero = jax.tree.map(jnp.zeros_like, gradients)
    start = (jnp.int32(0), zero, rest, conditioned, conditioned, jnp.ones(enough.shape, bool))
    result: Stacks = jax.lax.while_loop(unfinished, step, start)[1]
    return result


def step_size(
    good: Callable[[PerSample], Bool[Array, " batch"]],
    chosen: Bool[Array, " batch"],
    like: PerSample,
) -> PerSample:
    """The first of the steps 1, 1/2, 1/4 ... that is `good`, of the `chosen` samples; 0 where none is."""

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
