"""Preconditioning layer by layer, for optimisers with a factor on either side of a gradient."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jaxtyping import Float, PyTree

Operations = Mapping[str, Array]
Matrices = dict[str, Array]


class Preconditioned(NamedTuple):
    """A layer's direction, its accumulated factors, and the traces and dampings of the factors used."""

    direction: Float[Array, "out in"]
    factors: Matrices
    seen: Matrices


class State(NamedTuple):
    """The state of a preconditioning optimiser.

    `updates` is the number of updates. `factors` are the accumulated factors `[count, size, size]` of each side, empty
    if factors are those of one batch. With a `preconditioner_interval`, they also contain the entries of `periodic`.
    `seen` are the traces and dampings `[count]` of each layer in the last update. All are trees like the weights.
    """

    updates: Array
    factors: dict[str, PyTree]
    seen: dict[str, PyTree]


Layer = Callable[[Array, Operations, Matrices, Array], Preconditioned]
"""Preconditions a layer.

Its arguments are the gradient `[out, in]`, the operations, the accumulated factors and the number of updates so far."""


def layer_by_layer(
    layer: Layer, sides: Sequence[str], numbers: Mapping[str, PyTree]
) -> optax.GradientTransformationExtraArgs:
    """Build a transformation that applies `layer` to every weight, then momentum if `numbers` has it.

    The factors of the `sides` (`input`, `output`) are stored only if they are accumulated over batches. Their
    preconditioners are stored only with a `preconditioner_interval`, for which `layer` is built by `periodic`.
    """
    accumulated, reused = "factor_decay" in numbers, "preconditioner_interval" in numbers

    def init(params: PyTree) -> State:
        def zeros(side: str) -> PyTree:
            axis = 2 if side == "input" else 1
            return jax.tree.map(
                lambda p: jnp.zeros((len(p), p.shape[axis], p.shape[axis]), p.dtype), params
            )

        numbers = jax.tree.map(lambda p: jnp.zeros(len(p), p.dtype), params)
        seen = {name: numbers for side in sides for name in _seen(side)}
        factors = {side: zeros(side) for side in sides} if accumulated else {}
        if reused:
            factors |= {_preconditioner(side): zeros(side) for side in sides} | seen
        return State(jnp.int32(0), factors, seen)

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


Renew = Callable[[Array, Operations, Matrices], tuple[Matrices, Matrices]]
"""Computes a layer's preconditioners by side, and its traces and dampings.

Its arguments are the gradient `[out, in]`, the operations and the accumulated factors."""


def periodic(
    interval: int,
    sides: Sequence[str],
    *,
    accumulated: Callable[[Array, Operations, Matrices, Array], Matrices],
    renew: Renew,
    apply: Callable[[Array, Matrices, Matrices], Array],
) -> Layer:
    """Build a layer whose preconditioners are recomputed at updates 0, `interval`, 2 `interval`, ... only.

    The other updates apply the stored preconditioners to their gradients. Factors that are accumulated over batches
    still accumulate at every update, so that an averaging weight has the same meaning at all intervals. Without
    accumulation, the batches between do not enter any factor.

    The authors' library (ASDL, `preconditioner_upd_interval`, default 1) treats factors of one batch in the same way:
    it applies the inverses of the last batch that it inverted. By default, it also accumulates factors at those updates
    only; with `curvature_upd_interval: 1` it accumulates at every update, as here.

    The number of updates is the same for all cells of a batch. Under `vmap`, the condition is therefore not batched,
    and a decomposition that is not due is not computed.

    Args:
        interval: the number of updates between two computations, at least 2.
        sides: the sides that have factors.
        accumulated: returns the accumulated factors by side, given the gradient, the operations, the previous factors
            and the number of updates so far; no factors without accumulation.
        renew: computes the preconditioners `[size, size]` by side, and the traces and dampings.
        apply: applies the preconditioners to a gradient, given the gradient, the preconditioners, and the traces and
            dampings of the update that computed them.

    Returns:
        The layer, whose `factors` contain the preconditioners, traces and dampings in addition to accumulated factors.
    """
    names = [name for side in sides for name in _seen(side)]

    def layer(
        gradient: Array, operations: Operations, kept: Matrices, count: Array
    ) -> Preconditioned:
        before = {side: kept[side] for side in sides if side in kept}
        factors = accumulated(gradient, operations, before, count)
        stored = (
            {side: kept[_preconditioner(side)] for side in sides},
            {name: kept[name] for name in names},
        )
        preconditioners, seen = jax.lax.cond(
            count % interval == 0, lambda: renew(gradient, operations, factors), lambda: stored
        )
        kept = factors | {_preconditioner(side): m for side, m in preconditioners.items()} | seen
        return Preconditioned(apply(gradient, preconditioners, seen), kept, seen)

    return layer


def _seen(side: str) -> tuple[str, str]:
    return f"{side}_trace", f"{side}_damping"


def _preconditioner(side: str) -> str:
    return f"{side}_preconditioner"


def _stacked(run: Callable[..., PyTree], *stacks: Array) -> PyTree:
    """Apply `run` to each layer of a stack, one after the other, because batched products are slow on a CPU."""
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
    """Return the smallest damping relative to the trace, 16 machine epsilons; round-off hides smaller ones."""
    return 16 * float(np.finfo(dtype).eps)


def rows(operation: Float[Array, "batch *positions size"]) -> Float[Array, "rows size"]:
    """Combine samples and positions into one axis."""
    return operation.reshape(-1, operation.shape[-1])


def over(values: Array, size: Float[Array, ""]) -> Array:
    """Divide by a factor's size; return zeros if the size is zero, because a zero factor preconditions zeros only."""
    return jnp.where(size == 0, 0.0, values / jnp.where(size == 0, 1.0, size))
