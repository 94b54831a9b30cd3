r"""The equilibrium of networks without kinks, by Newton's method on the errors.

In the errors e_l of the hidden nodes the activities are a rollout, z_l = p_l(z_{l-1}) + e_l, and a sample's energy is

    G(e) = sum_{l<L} gamma_l/2 ||e_l||^2 + gamma_L loss(f(e), y),

F of pcn-limits Eq. 2 (125 and 126 for other networks) in other coordinates. Only the output f(e) is seen, so a new node
needs no formula. In an iteration

- the direction p solves `H p = -dG/de` by conjugate gradients preconditioned by `Gamma^{-1}`: without the curvature of
  the nodes `Gamma^{-1} H` is the identity and a part of the outputs' rank, which as many products and one more solve;
- they end at a share of the gradient that shrinks as fast as the gradient did in the last iteration (Eisenstat and
  Walker's second choice);
- the step along p is halved until the energy falls.

The residual is the largest entry of |dF/dz|. A sample has stalled where an iteration leaves more than half of it and
lowers the energy by no more than the square of the tolerance, what a minimum of unit curvature has left there. In
linear networks with the mean squared error the equilibrium is the closed form (`exact`).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int

from scaling_limits.algorithms.layerwise import rollout
from scaling_limits.algorithms.predictive_coding.inferred import energies, hidden_weights
from scaling_limits.algorithms.predictive_coding.iterations import (
    DECREASE,
    PerSample,
    add,
    conjugate_gradients,
    dot,
    iterated,
    largest,
    norm,
    over,
    slack,
    step_size,
)
from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.network import Stacks, shift_down

_FORCING = 0.9, 0.5
"""Eisenstat and Walker's factor of the squared fall of the gradient, and the initial and largest share."""


class NewtonState(NamedTuple):
    """The state of the iterations, sample by sample."""

    errors: Stacks
    """Errors of the hidden nodes."""
    activities: Stacks
    """Activities of all nodes at these errors."""
    energy: PerSample
    gradients: Stacks
    residual: PerSample
    forcing: PerSample
    """The fraction of the gradient that the next direction may leave."""
    stalled: Bool[Array, " batch"]
    iterations: Int[Array, ""]


def solve(problem: Problem, errors: Stacks, tolerance: Float[Array, ""]) -> NewtonState:
    """The equilibrium that iterations from these errors of the hidden nodes lead to."""
    solver = _Solver(problem, tolerance)
    return iterated(solver.begin(errors), solver.iterate, tolerance)


class _Solver:
    """The energy of errors of the hidden nodes, with what an iteration needs of it."""

    def __init__(self, problem: Problem, tolerance: Float[Array, ""]) -> None:
        self._problem = problem
        self._least_fall = tolerance**2

    def begin(self, errors: Stacks) -> NewtonState:
        """Return the initial state of the iterations."""
        energy, gradients, activities = self._gradients(errors)
        return NewtonState(
            errors=errors,
            activities=activities,
            energy=energy,
            gradients=gradients,
            residual=self._residual(activities, gradients),
            forcing=jnp.full_like(energy, _FORCING[1]),
            stalled=jnp.zeros(len(energy), bool),
            iterations=jnp.int32(0),
        )

    def iterate(self, state: NewtonState, chosen: Bool[Array, " batch"]) -> NewtonState:
        """One iteration of the `chosen` samples."""
        direction = self._direction(state)
        slope = dot(state.gradients, direction)
        rounding = slack(state.energy)

        def good(size: PerSample) -> Array:
            energy, _ = self._energies(add(state.errors, size, direction))
            return energy <= state.energy + DECREASE * size * slope + rounding

        errors = add(state.errors, step_size(good, chosen, slope), direction)
        energy, gradients, activities = self._gradients(errors)
        residual = self._residual(activities, gradients)
        # near a smooth minimum the energy stands still while the residual still falls
        fall = jnp.maximum(rounding, self._least_fall)
        still = (energy >= state.energy - fall) & (residual > 0.5 * state.residual)
        return NewtonState(
            errors=errors,
            activities=activities,
            energy=energy,
            gradients=gradients,
            residual=residual,
            forcing=_forcing(state, gradients),
            stalled=state.stalled | (chosen & still),
            iterations=state.iterations + 1,
        )

    def _energies(self, errors: Stacks) -> tuple[PerSample, Stacks]:
        """The energies at errors of the hidden nodes, and all nodes' activities."""
        problem = self._problem
        activities = rollout(problem, (*errors, jnp.zeros_like(problem.y)[None]))
        return energies(problem, errors, activities[-1][0]), activities

    def _gradients(self, errors: Stacks) -> tuple[PerSample, Stacks, Stacks]:
        """The energies, their gradients by the errors, and the activities."""
        energy, pullback, activities = jax.vjp(self._energies, errors, has_aux=True)
        gradients: Stacks = pullback(jnp.ones_like(energy))[0]
        return energy, gradients, activities

    def _residual(self, activities: Stacks, gradients: Stacks) -> PerSample:
        """The largest entry of |dF/dz|: dF/dz_l is dG/de_l - J_{l+1}^T dG/de_{l+1}."""
        problem = self._problem
        _, pullback = jax.vjp(problem.predictions, problem.inputs(activities))
        padded = (*gradients, jnp.zeros_like(activities[-1]))
        own = shift_down(jnp.zeros_like(problem.x), padded)
        by_input = [a - b for a, b in zip(own, pullback(padded)[0], strict=True)]
        # the first node's input is clamped
        return largest(tuple(by_input[1:]))

    def _direction(self, state: NewtonState) -> Stacks:
        """Conjugate gradients for `H p = -slopes`, each sample for itself."""
        _, product = jax.linearize(lambda e: self._gradients(e)[1], state.errors)

        def precondition(vector: Stacks) -> Stacks:
            weights = hidden_weights(self._problem)
            return tuple(v / weight for weight, v in zip(weights, vector, strict=True))

        enough = state.forcing * norm(state.gradients)
        return conjugate_gradients(product, state.gradients, precondition, enough)


def _forcing(before: NewtonState, gradients: Stacks) -> PerSample:
    """The share of the gradient that the direction may leave after an iteration that led to these slopes."""
    factor, most = _FORCING
    fall = over(norm(gradients), norm(before.gradients))
    # one lucky iteration must not ask for a direction much better than the ones before
    least = jnp.where(factor * before.forcing**2 > 0.1, factor * before.forcing**2, 0.0)
    return jnp.clip(factor * fall**2, least, most)
