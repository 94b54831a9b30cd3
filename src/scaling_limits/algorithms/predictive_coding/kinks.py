r"""The equilibrium of networks with kinks (ReLU), by projected Newton steps on the activities.

F (pcn-limits Eq. 2) has kinks where hidden activities are zero, and is smooth on each orthant of them; with ReLU and
the mean squared error it is a quadratic form there. At a kink its slope along any direction is a sum over activities,
of the slope from the right for those that rise and from the left for those that fall. So a point where neither way of
any one of them leads down is a minimum to first order, and no other method of finding the way down is needed.

An activity that is zero moves to the side on which F falls, and rests where it falls on neither. An iteration takes a
Newton step, by conjugate gradients among the activities that do not rest, and, where that leaves half of the residual
or more, one down the slope. Along both each activity ends where it meets its kink, and the step is halved until F
falls: the first finds the minimum of an orthant, the second the orthant of the minimum (Moré and Toraldo 1991 for
quadratic forms in boxes).

The residual is the largest entry of |dF/dz|, of activities at rest zero. Kinks elsewhere, as within a node, are not
seen: there the residual stays.
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
"""The fraction of the gradient that a Newton step within an orthant leaves."""


class NewtonState(NamedTuple):
    """The state of the iterations, sample by sample."""

    hidden: Stacks
    """Activities."""
    sides: Stacks
    """On which each may move: 1 above zero, -1 below, 0 for none."""
    energy: PerSample
    gradients: Stacks
    """On these sides."""
    residual: PerSample
    stalled: Bool[Array, " batch"]
    iterations: Int[Array, ""]


def solve(problem: Problem, errors: Stacks, tolerance: Float[Array, ""]) -> NewtonState:
    """The equilibrium that iterations from these errors of the hidden nodes lead to."""
    solver = _Solver(problem)
    hidden = rollout(problem, (*errors, jnp.zeros_like(problem.y)[None]))[:-1]
    return iterated(solver.begin(hidden), solver.iterate, tolerance)


def errors_at(problem: Problem, hidden: Stacks) -> tuple[Stacks, Float[Array, "batch out"]]:
    """The errors of the hidden nodes at their activities, and the output's prediction."""
    inputs = problem.inputs((*hidden, jnp.zeros_like(problem.y)[None]))
    *predictions, output = problem.predictions(inputs)
    return tuple(z - p for z, p in zip(hidden, predictions, strict=True)), output[0]


class _Solver:
    """The energy of hidden activities, with what an iteration needs of it."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def begin(self, hidden: Stacks) -> NewtonState:
        """Return the initial state of the iterations."""
        sides, gradients = self._sides(hidden)
        energy = self._energies(hidden)
        stalled = jnp.zeros(energy.shape, bool)
        return NewtonState(
            hidden, sides, energy, gradients, largest(gradients), stalled, jnp.int32(0)
        )

    def iterate(self, state: NewtonState, chosen: Bool[Array, " batch"]) -> NewtonState:
        """One iteration of the `chosen` samples."""
        between = self._moved(state, self._newton(state), chosen)
        elsewhere = chosen & (between.residual > 0.5 * state.residual)
        after = self._moved(between, jax.tree.map(jnp.negative, between.gradients), elsewhere)
        still = after.energy >= state.energy - slack(state.energy)
        stalled = state.stalled | (chosen & still & (after.residual > 0.5 * state.residual))
        return after._replace(stalled=stalled, iterations=state.iterations + 1)

    def _moved(
        self, state: NewtonState, direction: Stacks, chosen: Bool[Array, " batch"]
    ) -> NewtonState:
        """After a step along a direction, up to the kinks on the way."""

        def at(size: PerSample) -> Stacks:
            ends = add(state.hidden, size, direction)
            return tuple(
                jnp.where(s * z > 0, z, 0.0) for s, z in zip(state.sides, ends, strict=True)
            )

        def good(size: PerSample) -> Array:
            ends = at(size)
            way = tuple(end - start for end, start in zip(ends, state.hidden, strict=True))
            slope = dot(state.gradients, way)
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
        """The energies of the samples."""
        return energies(self._problem, *errors_at(self._problem, hidden))

    def _gradients(self, hidden: Stacks, sides: Stacks) -> Stacks:
        """dF/dz, of activities at their kink on the given sides of it."""
        # as little beside it as there is
        beside = np.finfo(self._problem.y.dtype).tiny
        off = tuple(
            jnp.where(z == 0, side * beside, z) for z, side in zip(hidden, sides, strict=True)
        )
        gradients: Stacks = jax.grad(lambda z: self._energies(z).sum())(off)
        return gradients

    def _sides(self, hidden: Stacks) -> tuple[Stacks, Stacks]:
        """On which side each activity may move, and the slopes there."""
        above = jax.tree.map(jnp.ones_like, hidden)
        right = self._gradients(hidden, above)
        left = self._gradients(hidden, jax.tree.map(jnp.negative, above))

        def side(z: Array, right: Array, left: Array) -> Array:
            down = jnp.where((right < 0) & (-right >= left), 1.0, jnp.where(left > 0, -1.0, 0.0))
            return jnp.where(z == 0, down, jnp.sign(z))

        def slope(side: Array, right: Array, left: Array) -> Array:
            # slopes that are not numbers lead neither down nor up
            rest = jnp.where((right >= 0) & (left <= 0), 0.0, jnp.nan)
            return jnp.where(side > 0, right, jnp.where(side < 0, left, rest))

        sides = tuple(map(side, hidden, right, left))
        return sides, tuple(map(slope, sides, right, left))

    def _newton(self, state: NewtonState) -> Stacks:
        """The direction of Newton's method among the activities that do not rest."""
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
