"""Preconditioning layer by layer: what optimisers with a factor on either side of a gradient share."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jaxtyping import Float

Operations = Mapping[str, Array]
Matrices = dict[str, Array]


class Preconditioned(NamedTuple):
    """A layer's direction, its accumulated factors, and what was seen of the factors that were used."""

    direction: Float[Array, "out in"]
    factors: Matrices
    seen: Matrices


class State(NamedTuple):
    """The number of updates; accumulated factors `[count, size, size]` of each side, none where they are of one batch;
    and, of the last update, each layer's traces and dampings `[count]`. All are trees as the weights are.
    """

    count: Array
    factors: dict[str, Any]
    seen: dict[str, Any]


Layer = Callable[[Array, Operations, Matrices, Array], Preconditioned]
"""Of a gradient `[out, in]`, a layer's operations, its accumulated factors and the number of updates before."""


def layer_by_layer(
    layer: Layer, sides: Sequence[str], *, accumulated: bool
) -> optax.GradientTransformationExtraArgs:
    """`layer` for every weight, with what it keeps of the factors of its `sides`, `input` or `output`."""

    def init(params: Any) -> State:
        def zeros(side: str) -> Any:
            axis = 2 if side == "input" else 1
            return jax.tree.map(
                lambda p: jnp.zeros((len(p), p.shape[axis], p.shape[axis]), p.dtype), params
            )

        numbers = jax.tree.map(lambda p: jnp.zeros(len(p), p.dtype), params)
        seen = {f"{side}_{what}": numbers for side in sides for what in ("trace", "damping")}
        return State(
            jnp.int32(0), {side: zeros(side) for side in sides} if accumulated else {}, seen
        )

    def update(
        gradients: Any, state: State, params: Any = None, **operations: Any
    ) -> tuple[Any, State]:
        leaves, structure = jax.tree.flatten(gradients)

        def by_leaf(trees: Mapping[str, Any]) -> list[Matrices]:
            found = {name: structure.flatten_up_to(tree) for name, tree in trees.items()}
            return [{name: each[i] for name, each in found.items()} for i in range(len(leaves))]

        run = jax.vmap(lambda *of_layer: layer(*of_layer, state.count))
        given = zip(leaves, by_leaf(operations), by_leaf(state.factors), strict=True)
        found = [run(*of_leaf) for of_leaf in given]

        def together(part: list[Any]) -> Any:
            return jax.tree.map(lambda *each: structure.unflatten(each), *part)

        seen = together([each.seen for each in found])
        kept = together([each.factors for each in found])
        directions = structure.unflatten([each.direction for each in found])
        return directions, State(state.count + 1, kept, seen)

    return optax.GradientTransformationExtraArgs(init, update)


def accumulate(
    old: Float[Array, "size size"],
    batch: Float[Array, "size size"],
    count: Array,
    numbers: Mapping[str, Any],
) -> Float[Array, "size size"]:
    """`factor_decay old + factor_weight batch`, and the first batch's as it is (second-order S.75, S.79)."""
    decay, weight = (
        jnp.where(count == 0, first, numbers[name])
        for name, first in (("factor_decay", 0.0), ("factor_weight", 1.0))
    )
    return decay * old + weight * batch


def rows(operation: Float[Array, "batch *positions size"]) -> Float[Array, "rows size"]:
    """Samples and positions in one axis."""
    return operation.reshape(-1, operation.shape[-1])


def over(values: Array, size: Float[Array, ""]) -> Array:
    """`values / size`, and zeros if the size is: what a factor of zero preconditions is zero itself."""
    return jnp.where(size == 0, 0.0, values / jnp.where(size == 0, 1.0, size))
