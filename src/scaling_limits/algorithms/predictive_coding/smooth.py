"""The equilibrium of networks without kinks, by Newton's method on the errors.

As functions of the errors e_l of the hidden nodes, the activities are a rollout, z_l = p_l(z_{l-1}) + e_l, and a
sample's energy is

    G(e) = sum_{l<L} gamma_l/2 ||e_l||^2 + gamma_L loss(f(e), y),

which is F of pcn-limits Eq. 2 (Eq. 125 and 126 for other networks) in other coordinates. Only the output f(e) enters,
so a new kind of node needs no further formula. In an iteration

- the direction p solves `H p = -dG/de` by conjugate gradients preconditioned by `Gamma^{-1}`. Without the curvature of
  the nodes, `Gamma^{-1} H` is the identity plus a matrix whose rank is the number of outputs, so one product more than
  there are outputs solves the system exactly;
- conjugate gradients end at a fraction of the gradient that shrinks as fast as the gradient did in the last iteration
  (Eisenstat and Walker's second choice);
- the step along p is halved until the energy decreases.

The residual is the largest entry of |dF/dz|. A sample has stalled if an iteration leaves more than half of the residual
and lowers the energy by no more than the squared tolerance: at a minimum of unit curvature, about this much energy
remains once the residual is at the tolerance. In linear networks with the mean squared error, the equilibrium is the
closed form (`exact`).
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
"""Parameters of Eisenstat and Walker.

The factor of the squared reduction of the gradient, and the initial and largest fraction."""


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
    """Fraction of the gradient that may remain when the next direction is computed."""
    stalled: Bool[Array, " batch"]
    iterations: Int[Array, ""]


def solve(problem: Problem, errors: Stacks, tolerance: Float[Array, ""]) -> NewtonState:
    """Compute the equilibrium by iterations that start from the given errors of the hidden nodes."""
    solver = _Solver(problem, tolerance)
    return iterated(solver.begin(errors), solver.iterate, tolerance)


class _Solver:
    """The energy as a function of the errors of the hidden nodes, and one Newton iteration on it."""

    def __init__(self, problem: Problem, tolerance: Float[Array, ""]) -> None:
        self._problem = problem
        self._least_fall = tolerance**2

    def begin(self, errors: Stacks) -> NewtonState:
        """Return the initial state."""
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
        """Perform one iteration of the `chosen` samples."""
        direction = self._direction(state)
        slope = dot(state.gradients, direction)
        rounding = slack(state.energy)

        def good(size: PerSample) -> Array:
            energy, _ = self._energies(add(state.errors, size, direction))
            return energy <= state.energy + DECREASE * size * slope + rounding

        errors = add(state.errors, step_size(good, chosen, slope), direction)
        energy, gradients, activities = self._gradients(errors)
        residual = self._residual(activities, gradients)
        # near a smooth minimum, round-off hides the decrease of the energy while the residual still decreases
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
        """Compute the energies at errors of the hidden nodes, and the activities of all nodes."""
        problem = self._problem
        activities = rollout(problem, (*errors, jnp.zeros_like(problem.y)[None]))
        return energies(problem, errors, activities[-1][0]), activities

    def _gradients(self, errors: Stacks) -> tuple[PerSample, Stacks, Stacks]:
        """Compute the energies, their gradients with respect to the errors, and the activities."""
        energy, pullback, activities = jax.vjp(self._energies, errors, has_aux=True)
        gradients: Stacks = pullback(jnp.ones_like(energy))[0]
        return energy, gradients, activities

    def _residual(self, activities: Stacks, gradients: Stacks) -> PerSample:
        """Compute the largest entry of |dF/dz|, with dF/dz_l = dG/de_l - J_{l+1}^T dG/de_{l+1}."""
        problem = self._problem
        _, pullback = jax.vjp(problem.predictions, problem.inputs(activities))
        padded = (*gradients, jnp.zeros_like(activities[-1]))
        own = shift_down(jnp.zeros_like(problem.x), padded)
        by_input = [a - b for a, b in zip(own, pullback(padded)[0], strict=True)]
        # the input of the first node is clamped
        return largest(tuple(by_input[1:]))

    def _direction(self, state: NewtonState) -> Stacks:
        """Solve `H p = -dG/de` by conjugate gradients, for each sample separately."""
        _, product = jax.linearize(lambda e: self._gradients(e)[1], state.errors)

        def precondition(vector: Stacks) -> Stacks:
            weights = hidden_weights(self._problem)
            return tuple(v / weight for weight, v in zip(weights, vector, strict=True))

        enough = state.forcing * norm(state.gradients)
        return conjugate_gradients(product, state.gradients, precondition, enough)


def _forcing(before: NewtonState, gradients: Stacks) -> PerSample:
    """Return the fraction of the gradient that the next direction may leave, from the last and the new gradients."""
    factor, most = _FORCING
    fall = over(norm(gradients), norm(before.gradients))
    # one lucky iteration should not require a direction much more accurate than the previous ones
    least = jnp.where(factor * before.forcing**2 > 0.1, factor * before.forcing**2, 0.0)
    return jnp.clip(factor * fall**2, least, most)
