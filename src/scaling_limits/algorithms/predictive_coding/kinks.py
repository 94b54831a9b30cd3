"""The equilibrium of networks with kinks (ReLU), by projected Newton steps on the activities.

F (pcn-limits Eq. 2) has kinks where hidden activities are zero, and is smooth on each orthant of them; with ReLU and
the mean squared error it is quadratic there. At a kink, its directional derivative is a sum over activities, with the
derivative from the right for those that increase and from the left for those that decrease. A point at which no single
activity lowers F in either direction is therefore a minimum to first order, and it suffices to consider the activities
one by one.

An activity that is zero moves to the side on which F decreases, and rests if F decreases on neither. An iteration takes
a Newton step, by conjugate gradients among the activities that do not rest, and, if this leaves half of the residual or
more, a step along the negative gradient. In both steps, an activity stops where it meets its kink, and the step is
halved until F decreases. The Newton step finds the minimum of an orthant, the gradient step the orthant of the minimum
(Moré and Toraldo 1991 for quadratic forms in boxes).

The residual is the largest entry of |dF/dz|, which is zero for activities at rest. Kinks elsewhere, as within a node,
are not considered, and the residual remains large there.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int

from scaling_limits.algorithms.layerwise import rollout
from scaling_limits.algorithms.predictive_coding.inferred import energies
from scaling_limits.algorithms.predictive_coding.iterations import (
    DECREASE,
    PerSample,
    add,
    conjugate_gradients,
    dot,
    iterated,
    largest,
    norm,
    slack,
    step_size,
)
from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.network import Stacks

_LEFT_OVER = 0.1
"""Fraction of the gradient that a Newton step within an orthant may leave."""


class NewtonState(NamedTuple):
    """The state of the iterations, sample by sample."""

    hidden: Stacks
    """Hidden activities."""
    sides: Stacks
    """Side to which each activity may move: 1 above zero, -1 below, 0 for none."""
    energy: PerSample
    gradients: Stacks
    """Gradients on these sides."""
    residual: PerSample
    stalled: Bool[Array, " batch"]
    iterations: Int[Array, ""]


def solve(problem: Problem, errors: Stacks, tolerance: Float[Array, ""]) -> NewtonState:
    """Compute the equilibrium by iterations that start from the given errors of the hidden nodes."""
    solver = _Solver(problem)
    hidden = rollout(problem, (*errors, jnp.zeros_like(problem.y)[None]))[:-1]
    return iterated(solver.begin(hidden), solver.iterate, tolerance)


def errors_at(problem: Problem, hidden: Stacks) -> tuple[Stacks, Float[Array, "batch out"]]:
    """Compute the errors of the hidden nodes at given activities, and the output's prediction."""
    inputs = problem.inputs((*hidden, jnp.zeros_like(problem.y)[None]))
    *predictions, output = problem.predictions(inputs)
    return tuple(z - p for z, p in zip(hidden, predictions, strict=True)), output[0]


class _Solver:
    """The energy as a function of the hidden activities, and one projected Newton iteration on it."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def begin(self, hidden: Stacks) -> NewtonState:
        """Return the initial state."""
        sides, gradients = self._sides(hidden)
        energy = self._energies(hidden)
        stalled = jnp.zeros(energy.shape, bool)
        return NewtonState(
            hidden, sides, energy, gradients, largest(gradients), stalled, jnp.int32(0)
        )

    def iterate(self, state: NewtonState, chosen: Bool[Array, " batch"]) -> NewtonState:
        """Perform one iteration of the `chosen` samples."""
        between = self._moved(state, self._newton(state), chosen)
        elsewhere = chosen & (between.residual > 0.5 * state.residual)
        after = self._moved(between, jax.tree.map(jnp.negative, between.gradients), elsewhere)
        still = after.energy >= state.energy - slack(state.energy)
        stalled = state.stalled | (chosen & still & (after.residual > 0.5 * state.residual))
        return after._replace(stalled=stalled, iterations=state.iterations + 1)

    def _moved(
        self, state: NewtonState, direction: Stacks, chosen: Bool[Array, " batch"]
    ) -> NewtonState:
        """Return the state after a step along a direction, in which each activity stops at its kink."""

        def at(size: PerSample) -> Stacks:
            ends = add(state.hidden, size, direction)
            return tuple(
                jnp.where(s * z > 0, z, 0.0) for s, z in zip(state.sides, ends, strict=True)
            )

        def good(size: PerSample) -> Array:
            ends = at(size)
            displacement = tuple(end - start for end, start in zip(ends, state.hidden, strict=True))
            slope = dot(state.gradients, displacement)
            allowed = state.energy + DECREASE * slope + slack(state.energy)
            return (slope <= 0) & (self._energies(ends) <= allowed)

        hidden = at(step_size(good, chosen, state.energy))
        sides, gradients = self._sides(hidden)
        return state._replace(
            hidden=hidden,
            sides=sides,
            energy=self._energies(hidden),
            gradients=gradients,
            residual=largest(gradients),
        )

    def _energies(self, hidden: Stacks) -> PerSample:
        """Compute the energies of the samples."""
        return energies(self._problem, *errors_at(self._problem, hidden))

    def _gradients(self, hidden: Stacks, sides: Stacks) -> Stacks:
        """Compute dF/dz, for activities at their kink on the given sides of it."""
        # the smallest possible distance from the kink
        distance = np.finfo(self._problem.y.dtype).tiny
        off = tuple(
            jnp.where(z == 0, side * distance, z) for z, side in zip(hidden, sides, strict=True)
        )
        gradients: Stacks = jax.grad(lambda z: self._energies(z).sum())(off)
        return gradients

    def _sides(self, hidden: Stacks) -> tuple[Stacks, Stacks]:
        """Return the side to which each activity may move, and the gradients there."""
        above = jax.tree.map(jnp.ones_like, hidden)
        right = self._gradients(hidden, above)
        left = self._gradients(hidden, jax.tree.map(jnp.negative, above))

        def side(z: Array, right: Array, left: Array) -> Array:
            down = jnp.where((right < 0) & (-right >= left), 1.0, jnp.where(left > 0, -1.0, 0.0))
            return jnp.where(z == 0, down, jnp.sign(z))

        def slope(side: Array, right: Array, left: Array) -> Array:
            # NaN gradients decide neither side
            rest = jnp.where((right >= 0) & (left <= 0), 0.0, jnp.nan)
            return jnp.where(side > 0, right, jnp.where(side < 0, left, rest))

        sides = tuple(map(side, hidden, right, left))
        return sides, tuple(map(slope, sides, right, left))

    def _newton(self, state: NewtonState) -> Stacks:
        """Compute the Newton direction among the activities that do not rest."""
        _, product = jax.linearize(lambda z: self._gradients(z, state.sides), state.hidden)

        def within(vector: Stacks) -> Stacks:
            return tuple(
                jnp.where(s == 0, 0.0, v) for s, v in zip(state.sides, vector, strict=True)
            )

        return conjugate_gradients(
            lambda vector: within(product(vector)),
            state.gradients,
            lambda vector: vector,
            _LEFT_OVER * norm(state.gradients),
        )
