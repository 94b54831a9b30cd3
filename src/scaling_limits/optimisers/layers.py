"""Preconditioning layer by layer: what optimisers with a factor on either side of a gradient share."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jaxtyping import Float, PyTree

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

    updates: Array
    factors: dict[str, Any]
    seen: dict[str, Any]


Layer = Callable[[Array, Operations, Matrices, Array], Preconditioned]
"""Arguments: a gradient `[out, in]`, a layer's operations, its accumulated factors and the number of updates before."""


def layer_by_layer(
    layer: Layer, sides: Sequence[str], numbers: Mapping[str, PyTree]
) -> optax.GradientTransformationExtraArgs:
    """`layer` for every weight, then momentum, if `numbers` have it.

    What `layer` keeps of the factors of its `sides`, `input` or `output`, is nothing where they are of one batch.
    """
    accumulated = "factor_decay" in numbers

    def init(params: PyTree) -> State:
        def zeros(side: str) -> PyTree:
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
        gradients: PyTree, state: State, params: PyTree = None, **operations: PyTree
    ) -> tuple[PyTree, State]:
        def of_layer(gradient: Array, *others: Array) -> Preconditioned:
            each = dict(zip((*operations, *state.factors), others, strict=True))
            own, kept = (
                {name: each[name] for name in names} for names in (operations, state.factors)
            )
            return layer(gradient, own, kept, state.updates)

        others = (*operations.values(), *state.factors.values())
        result = jax.tree.map(partial(_stacked, of_layer), gradients, *others)

        def part(field: str, *name: str) -> PyTree:
            def of(layers: Preconditioned) -> PyTree:
                result = getattr(layers, field)
                return result[name[0]] if name else result

            return jax.tree.map(of, result, is_leaf=lambda v: isinstance(v, Preconditioned))

        factors = {side: part("factors", side) for side in state.factors}
        seen = {name: part("seen", name) for name in state.seen}
        return part("direction"), State(state.updates + 1, factors, seen)

    preconditioned = optax.GradientTransformationExtraArgs(init, update)
    if "momentum" not in numbers:
        return preconditioned
    return optax.chain(preconditioned, optax.trace(decay=numbers["momentum"]))


def _stacked(run: Callable[..., PyTree], *stacks: Array) -> PyTree:
    """`run` for each layer of a stack, one after the other: on a CPU batches of products are slow."""
    if len(stacks[0]) > 1:
        return jax.lax.map(lambda layers: run(*layers), stacks)
    return jax.tree.map(lambda leaf: leaf[None], run(*(stack[0] for stack in stacks)))


def accumulate(
    old: Float[Array, "size size"],
    batch: Float[Array, "size size"],
    count: Array,
    numbers: Mapping[str, PyTree],
) -> Float[Array, "size size"]:
    """Accumulate a factor, `factor_decay old + factor_weight batch` (second-order S.75, S.79).

    The first batch's factor is taken unchanged.

    Args:
        old: the accumulated factor `[size, size]`.
        batch: the factor of the batch `[size, size]`.
        count: the number of updates before.
        numbers: holds `factor_decay` and `factor_weight`.

    Returns:
        The new accumulated factor `[size, size]`.
    """
    decay, weight = (
        jnp.where(count == 0, first, numbers[name])
        for name, first in (("factor_decay", 0.0), ("factor_weight", 1.0))
    )
    return decay * old + weight * batch


def smallest(dtype: PyTree) -> float:
    """What a factor over its trace is damped by at least, 16 machine epsilons: less does not survive rounding."""
    return 16 * float(np.finfo(dtype).eps)


def rows(operation: Float[Array, "batch *positions size"]) -> Float[Array, "rows size"]:
    """Samples and positions in one axis."""
    return operation.reshape(-1, operation.shape[-1])


def over(values: Array, size: Float[Array, ""]) -> Array:
    """`values / size`, and zeros if the size is: what a factor of zero preconditions is zero itself."""
    return jnp.where(size == 0, 0.0, values / jnp.where(size == 0, 1.0, size))
