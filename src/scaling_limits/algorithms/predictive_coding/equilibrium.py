r"""The equilibrium of any network, by Newton's method on the errors.

In the errors e_l of the hidden nodes the activities are a rollout, z_l = p_l(z_{l-1}) + e_l, and a sample's energy is

    G(e) = sum_{l<L} gamma_l/2 ||e_l||^2 + gamma_L loss(f(e), y),

F of pcn-limits Eq. 2 (125 and 126 for other networks) in other coordinates. Only the output f(e) is seen, so a new node
needs no formula. Each sample has iterations of its own, the batch takes them together:

- the direction p solves `H p = -dG/de` by conjugate gradients preconditioned by `Gamma^{-1}`: without the curvature of
  the nodes `Gamma^{-1} H` is the identity and a part of the outputs' rank, which as many products and one more solve;
- they end at a share of the gradient that shrinks as fast as the gradient did in the last iteration (Eisenstat and
  Walker's second choice), where the curvature is negative, or after `NUM_PRODUCTS` products with the Hessian H;
- the step along p is halved until the energy falls.

It begins at the forward pass and ends where the residual, the largest entry of |dF/dz|, is at most the tolerance. At a
kink of nodes with corners (ReLU) the gradient need not vanish: a sample ends as well where an iteration lowers its
energy by no more than the square of the tolerance, what a smooth minimum of unit curvature has left at that residual.
There gradient descent may still find a way down along the corner: by 1 to 9 percent of the energy in toy networks.

In linear networks with the mean squared error it is the closed form (`exact`).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int

from scaling_limits.algorithms.layerwise import rollout
from scaling_limits.algorithms.predictive_coding.inferred import Inferred, energy_weight
from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.network import Stacks, shift_down

NUM_PRODUCTS = 32
"""Products with the Hessian in an iteration, at most."""
MOST_ITERATIONS = 100
_HALVINGS = 20
_FORCING = 0.9, 0.5
"""Of Eisenstat and Walker: the factor of the squared fall of the gradient, and the share at first and at most."""
_DECREASE = 1e-4
"""The share of the fall that the slope promises which a step has to bring."""
_ROUND_OFF = 10.0
"""By so many units in the last place energies of the same point may differ."""

PerSample = Float[Array, " batch"]


class Settled(NamedTuple):
    """Where iterations have come to, sample by sample."""

    errors: Stacks
    """Of the hidden nodes."""
    activities: Stacks
    """Of all nodes, at these errors."""
    energy: PerSample
    slopes: Stacks
    residual: PerSample
    share: PerSample
    """Of the gradient, which the next direction may leave."""
    stalled: Bool[Array, " batch"]
    iterations: Int[Array, ""]


def infer(problem: Problem, forward: Stacks) -> Inferred:
    """The equilibrium that iterations from the `forward` pass lead to; `problem.numbers["inference_tolerance"]` is the
    residual at which a sample's end.
    """
    tolerance = jnp.asarray(problem.numbers["inference_tolerance"], problem.y.dtype)
    state = settle(problem, tuple(jnp.zeros_like(stack) for stack in forward[:-1]), tolerance)
    output = state.activities[-1][0]
    reached = state.residual <= tolerance
    if not problem.options.smooth:
        reached = reached | state.stalled
    return Inferred(
        errors=(*state.errors, problem.output_error(output)[None]),
        inputs=problem.inputs(state.activities),
        output=output,
        metrics={
            "inference_steps": jnp.asarray(state.iterations, output.dtype),
            "inference_residual": state.residual.max(),
            "inference_unreached": (~reached).mean(dtype=output.dtype),
        },
    )


def settle(problem: Problem, errors: Stacks, tolerance: Float[Array, ""]) -> Settled:
    """The equilibrium that iterations from these errors of the hidden nodes lead to, each sample's until its residual
    is the tolerance or its energy falls no more.
    """
    solver = _Solver(problem, tolerance)

    def open_samples(state: Settled) -> Array:
        return (state.residual > tolerance) & ~state.stalled

    def goes_on(state: Settled) -> Array:
        return open_samples(state).any() & (state.iterations < MOST_ITERATIONS)

    def iterate(state: Settled) -> Settled:
        return solver.iterate(state, open_samples(state))

    settled: Settled = jax.lax.while_loop(goes_on, iterate, solver.begin(errors))
    return settled


class _Solver:
    """The energy of errors of the hidden nodes, with what an iteration needs of it."""

    def __init__(self, problem: Problem, tolerance: Float[Array, ""]) -> None:
        self._problem = problem
        self._least_fall = tolerance**2
        *hidden, last = problem.network.segments
        self._weights = [energy_weight(problem, segment.role) for segment in hidden]
        self._output_weight = energy_weight(problem, last.role)

    def begin(self, errors: Stacks) -> Settled:
        """Where iterations begin."""
        energy, slopes, activities = self._slopes(errors)
        return Settled(
            errors=errors,
            activities=activities,
            energy=energy,
            slopes=slopes,
            residual=self._residual(activities, slopes),
            share=jnp.full_like(energy, _FORCING[1]),
            stalled=jnp.zeros(len(energy), bool),
            iterations=jnp.int32(0),
        )

    def iterate(self, state: Settled, chosen: Bool[Array, " batch"]) -> Settled:
        """One iteration of the `chosen` samples."""
        direction = self._direction(state)
        slope = _dot(state.slopes, direction)
        slack = _ROUND_OFF * np.finfo(slope.dtype).eps * jnp.abs(state.energy)

        def halve(carried: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            size, _, number = carried
            energy, _ = self._energies(_add(state.errors, size, direction))
            good = energy <= state.energy + _DECREASE * size * slope + slack
            return jnp.where(good, size, size / 2), good, number + 1

        def too_long(carried: tuple[Array, Array, Array]) -> Array:
            _, good, number = carried
            return (chosen & ~good).any() & (number < _HALVINGS)

        whole = jnp.ones_like(slope)
        start = (whole, jnp.zeros(whole.shape, bool), jnp.int32(0))
        size, good, _ = jax.lax.while_loop(too_long, halve, start)
        errors = _add(state.errors, jnp.where(chosen & good, size, 0.0), direction)
        energy, slopes, activities = self._slopes(errors)
        residual = self._residual(activities, slopes)
        # near a smooth minimum the energy stands still while the residual still falls
        fall = jnp.maximum(slack, self._least_fall)
        still = (energy >= state.energy - fall) & (residual > 0.5 * state.residual)
        return Settled(
            errors=errors,
            activities=activities,
            energy=energy,
            slopes=slopes,
            residual=residual,
            share=_share(state, slopes),
            stalled=state.stalled | (chosen & still),
            iterations=state.iterations + 1,
        )

    def _energies(self, errors: Stacks) -> tuple[PerSample, Stacks]:
        """The energies at errors of the hidden nodes, and all nodes' activities."""
        problem = self._problem
        activities = rollout(problem, (*errors, jnp.zeros_like(problem.y)[None]))
        output = activities[-1][0]
        losses = jax.vmap(problem.sample_loss)(output, problem.y)
        squares = [
            0.5 * w * (e**2).sum(axis=(0, 2)) for w, e in zip(self._weights, errors, strict=True)
        ]
        total: PerSample = self._output_weight * losses + sum(squares)
        return total, activities

    def _slopes(self, errors: Stacks) -> tuple[PerSample, Stacks, Stacks]:
        """The energies, their gradients by the errors, and the activities."""
        energies, pullback, activities = jax.vjp(self._energies, errors, has_aux=True)
        slopes: Stacks = pullback(jnp.ones_like(energies))[0]
        return energies, slopes, activities

    def _residual(self, activities: Stacks, slopes: Stacks) -> PerSample:
        """The largest entry of |dF/dz|: dF/dz_l is dG/de_l - J_{l+1}^T dG/de_{l+1}."""
        problem = self._problem
        _, pullback = jax.vjp(problem.predictions, problem.inputs(activities))
        padded = (*slopes, jnp.zeros_like(activities[-1]))
        own = shift_down(jnp.zeros_like(problem.x), padded)
        by_input = [a - b for a, b in zip(own, pullback(padded)[0], strict=True)]
        # the first node's input is clamped
        entries = [jnp.abs(stack).max(axis=(0, 2)) for stack in by_input[1:]]
        return jnp.stack(entries).max(axis=0)

    def _direction(self, state: Settled) -> Stacks:
        """Conjugate gradients for `H p = -slopes`, each sample for itself."""
        slopes = state.slopes
        _, product = jax.linearize(lambda e: self._slopes(e)[1], state.errors)
        enough = state.share * _norm(slopes)

        def precondition(vector: Stacks) -> Stacks:
            return tuple(v / weight for weight, v in zip(self._weights, vector, strict=True))

        def goes_on(carried: Any) -> Array:
            going: Array = (carried[0] < NUM_PRODUCTS) & carried[-1].any()
            return going

        def step(carried: Any) -> Any:
            number, solution, rest, conditioned, along, active = carried
            applied = product(along)
            curvature = _dot(along, applied)
            convex = curvature > 0
            amount = _over(_dot(rest, conditioned), curvature)
            # where it is not convex at once, the preconditioned gradient itself
            first = active & ~convex & (number == 0)
            active = active & convex
            amount = jnp.where(active, amount, jnp.where(first, 1.0, 0.0))
            solution = _add(solution, amount, along)
            renewed = _add(rest, -jnp.where(active, amount, 0.0), applied)
            again = precondition(renewed)
            share = _over(_dot(renewed, again), _dot(rest, conditioned))
            active = active & (_norm(renewed) > enough)
            return number + 1, solution, renewed, again, _add(again, share, along), active

        rest = jax.tree.map(jnp.negative, slopes)
        conditioned = precondition(rest)
        zero = jax.tree.map(jnp.zeros_like, slopes)
        start = (jnp.int32(0), zero, rest, conditioned, conditioned, jnp.ones(enough.shape, bool))
        found: Stacks = jax.lax.while_loop(goes_on, step, start)[1]
        return found


def _share(before: Settled, slopes: Stacks) -> PerSample:
    """The share of the gradient that the direction may leave after an iteration that led to these slopes."""
    factor, most = _FORCING
    fall = _over(_norm(slopes), _norm(before.slopes))
    # one lucky iteration must not ask for a direction much better than the ones before
    least = jnp.where(factor * before.share**2 > 0.1, factor * before.share**2, 0.0)
    return jnp.clip(factor * fall**2, least, most)


def _norm(vector: Stacks) -> PerSample:
    """Each sample's Euclidean norm."""
    return jnp.sqrt(_dot(vector, vector))


def _dot(left: Stacks, right: Stacks) -> PerSample:
    """Each sample's inner product."""
    pairs = zip(left, right, strict=True)
    return jnp.stack([(a * b).sum(axis=(0, 2)) for a, b in pairs]).sum(axis=0)


def _add(onto: Stacks, amount: PerSample, direction: Stacks) -> Stacks:
    """`onto + amount * direction`, the amount each sample's own."""
    return tuple(a + amount[None, :, None] * b for a, b in zip(onto, direction, strict=True))


def _over(numerator: PerSample, denominator: PerSample) -> PerSample:
    """The quotient, 0 where the denominator is."""
    there = denominator != 0
    return jnp.where(there, numerator / jnp.where(there, denominator, 1.0), 0.0)
