"""Updates that are shortened where they would change the network's predictions by more than a given number.

Source: Grosse & Martens 2016, which second-order clips by on ImageNet (App. B.2).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import PyTree


class State(NamedTuple):
    """The state of the rule that gives directions, by role, and the sum of past directions."""

    inner_states: PyTree
    trace: PyTree


def clipped(
    directions: optax.GradientTransformationExtraArgs,
    rates: PyTree,
    multipliers: PyTree,
    *,
    bound: PyTree,
    momentum: PyTree,
) -> optax.GradientTransformationExtraArgs:
    """Clip the directions of all weights together by the change of predictions, then apply momentum and learning rates.

    The update is `-rate` times the velocity `v <- momentum v + nu d`, d being the directions that `directions` makes of
    the gradients g. As d is the gradient over the curvature F,

        nu = min(1, sqrt(bound / sum rate^2 multiplier^2 d . g)),

    the sum being d F d of the update without momentum, twice the divergence of predictions that it leads to. The
    multipliers enter because F belongs to the weight in the forward pass, multiplier times kernel (`kronecker`).

    Args:
        directions: the optimiser without momentum, a partition by role.
        rates: learning rates, a tree of scalars that is a prefix of the tree of weights.
        multipliers: forward multipliers, a tree of scalars like `rates`.
        bound: kappa, the largest value of the sum, a scalar.
        momentum: decay of the velocity, a scalar.

    Returns:
        A transformation of gradients to updates; it takes the same extra arguments as `directions`.
    """
    velocity = optax.trace(decay=momentum)

    def init(params: PyTree) -> State:
        return State(directions.init(params).inner_states, velocity.init(params))

    def update(
        gradients: PyTree, state: State, params: PyTree = None, **operations: PyTree
    ) -> tuple[PyTree, State]:
        result, inner = directions.update(
            gradients, optax.PartitionState(state.inner_states), params, **operations
        )
        lengths = jax.tree.map(lambda rate, factor: (rate * factor) ** 2, rates, multipliers)
        moved = jax.tree.map(
            lambda length, d, g: length * optax.tree.vdot(d, g), lengths, result, gradients
        )
        nu = shortening(sum(jax.tree.leaves(moved)), bound)
        kept, trace = velocity.update(optax.tree.scale(nu, result), state.trace)
        update = jax.tree.map(lambda rate, own: optax.tree.scale(-rate, own), rates, kept)
        return update, State(inner.inner_states, trace)

    return optax.GradientTransformationExtraArgs(init, update)


def shortening(moved: PyTree, bound: PyTree) -> jax.Array:
    """nu: 1 where nothing moves, too."""
    above = moved > bound
    return jnp.where(above, jnp.sqrt(bound / jnp.where(above, moved, 1.0)), 1.0)
