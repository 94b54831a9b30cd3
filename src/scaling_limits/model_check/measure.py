"""Measurements of the features of a model of one size: one program for all seeds and steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scaling_limits.model_check.capture import LayerShape, ModelShape, fan_in
from scaling_limits.model_check.models import OUTPUT, Captured, Model
from scaling_limits.model_check.training import LossFunction, step
from scaling_limits.training.loop import options

if TYPE_CHECKING:
    import optax
    from jax import Array
    from jaxtyping import PyTree

ROUNDING = 1e-5
"""Changes below this share of a layer's size are rounding of single precision."""


@dataclass(frozen=True)
class Recorded:
    """What one size records: `loss` [seeds, steps + 1] and, by layer, `size` and `change` of the same shape.

    `update` and `alignment` [seeds, 2] are those after the first and the last step, for layers that have them.
    """

    loss: np.ndarray
    size: Mapping[str, np.ndarray]
    change: Mapping[str, np.ndarray]
    update: Mapping[str, np.ndarray]
    alignment: Mapping[str, np.ndarray]


def record(
    model: Model,
    shape: ModelShape,
    loss: LossFunction,
    transformation: Callable[[PyTree], optax.GradientTransformation],
    data: tuple[Array, Array],
    keys: Array,
    num_steps: int,
) -> Recorded:
    """Train a model at several seeds and measure its layers.

    Args:
        model: the model.
        shape: its layers.
        loss: of outputs and targets.
        transformation: that of the optimiser, given the parameters.
        data: x and y, all of which each step uses.
        keys: random keys of the initial weights, one for each seed.
        num_steps: the number T of updates.
    """
    import jax.numpy as jnp

    begin, advance, measured, measured_updates = _programs(model, shape, loss, transformation)
    carry = begin(keys, data)
    start = carry[0]
    first: list[Array] = []
    losses, sizes, changes, updates = [], [], [], []
    for done in range(num_steps + 1):
        if done in (1, num_steps):
            updates.append(measured_updates(start, carry[0], carry[1], data))
        carry, value, features = advance(carry, data)
        first = first or features
        size, change = measured(features, first)
        losses.append(value)
        sizes.append(size)
        changes.append(change)
    own_updates, alignments = (jnp.stack(parts, axis=1) for parts in zip(*updates, strict=True))
    stacked = (jnp.stack(each, axis=1) for each in (losses, sizes, changes))
    return _named(shape, *map(np.asarray, (*stacked, own_updates, alignments)))


def _programs(
    model: Model,
    shape: ModelShape,
    loss: LossFunction,
    transformation: Callable[[PyTree], optax.GradientTransformation],
) -> tuple[Callable[..., PyTree], ...]:
    """Return the programs that a size runs, for all seeds at once.

    Each is small and compiled with few optimisations, as compiling takes longer than a few steps.

    Returns:
        `begin(keys, data)`: parameters, state, and state of the optimiser, the carry.
        `advance(carry, data)`: the carry after an update, and the loss and features before it.
        `measured(features, first)`: size and change of each layer [seeds, layers].
        `updates(start, params, state, data)`: update and alignment of each layer with weights [seeds, layers].
    """
    import jax
    import jax.numpy as jnp

    def begin(key: Array, data: tuple[Array, Array]) -> PyTree:
        params, state = model.init(key, data[0])
        return params, state, transformation(params).init(params)

    def advance(carry: PyTree, data: tuple[Array, Array]) -> tuple[PyTree, Array, list[Array]]:
        optimiser = transformation(carry[0])
        carry, value, captured = step(model, loss, optimiser, carry, data)
        return carry, value, _features(shape, captured)

    def measured(features: list[Array], first: list[Array]) -> tuple[Array, Array]:
        changes = [_rms(now - before) for now, before in zip(features, first, strict=True)]
        return jnp.stack([_rms(h) for h in features]), jnp.stack(changes)

    def updates(start: PyTree, params: PyTree, state: PyTree, data: tuple[Array, Array]) -> PyTree:
        return _layer_updates(model, shape, start, params, state, data[0])

    def compiled(
        program: Callable[..., PyTree], axes: int | tuple[int | None, ...]
    ) -> Callable[..., PyTree]:
        return jax.jit(jax.vmap(program, in_axes=axes), compiler_options=options("quickly"))

    return (
        compiled(begin, (0, None)),
        compiled(advance, (0, None)),
        compiled(measured, 0),
        compiled(updates, (0, 0, 0, None)),
    )


def _named(
    shape: ModelShape,
    loss: np.ndarray,
    sizes: np.ndarray,
    changes: np.ndarray,
    updates: np.ndarray,
    alignments: np.ndarray,
) -> Recorded:
    """Name the layers of arrays [seeds, steps, layers], and set changes that are rounding to zero.

    Args:
        shape: the layers of the model.
        loss: the loss [seeds, steps], as in `Recorded`.
        sizes: the sizes of all layers.
        changes: their changes.
        updates: the updates of the layers with weights, after the first and the last step.
        alignments: the alignments of the same layers; NaN if not known.
    """
    names = [layer.name for layer in shape.layers]
    weighted = [layer.name for layer in _weighted(shape)]

    def by_layer(array: np.ndarray, of: list[str]) -> dict[str, np.ndarray]:
        return {name: array[..., k] for k, name in enumerate(of)}

    # NaN, after divergence, is no rounding
    changes = np.where(changes <= ROUNDING * sizes, 0.0, changes)
    own_sizes = sizes[:, [1, -1]][..., [names.index(name) for name in weighted]]
    updates = np.where(updates <= ROUNDING * own_sizes, 0.0, updates)
    known = {k: v for k, v in by_layer(alignments, weighted).items() if not np.isnan(v).all()}
    return Recorded(
        loss, by_layer(sizes, names), by_layer(changes, names), by_layer(updates, weighted), known
    )


def _features(shape: ModelShape, captured: Captured) -> list[Array]:
    """Return the features by which the layers are judged, in order."""
    return [_judged(layer, captured) for layer in shape.layers]


def _rms(array: Array) -> Array:
    import jax.numpy as jnp

    return jnp.sqrt(jnp.mean(jnp.square(array)))


def _weighted(shape: ModelShape) -> list[LayerShape]:
    """The layers with weights of their own."""
    return [layer for layer in shape.layers if layer.weights]


def _layer_updates(
    model: Model, shape: ModelShape, start: PyTree, params: PyTree, state: PyTree, x: Array
) -> tuple[Array, Array]:
    """Return the update and the alignment of each layer with weights.

    Args:
        model: the model.
        shape: its layers.
        start: the initial parameters.
        params: the present parameters.
        state: the present state.
        x: the inputs.
    """
    import jax
    import jax.numpy as jnp

    from scaling_limits.mup_rules.leaves import by_path

    layers = _weighted(shape)
    if not layers:
        return jnp.zeros(0), jnp.zeros(0)
    now = model.apply(params, state, x)
    owner = {path: number for number, layer in enumerate(layers) for path in layer.weights}
    structure = jax.tree.structure(params)
    before, after = by_path(start), by_path(params)

    def differences(number: Array) -> tuple[Array, Array]:
        reset = [
            jnp.where(owner[path] == number, before[path], leaf) if path in owner else leaf
            for path, leaf in after.items()
        ]
        other = model.apply(jax.tree.unflatten(structure, reset), state, x)

        def per_layer(of: Callable[[LayerShape, Captured], Array]) -> Array:
            return jnp.stack([_rms(of(layer, now) - of(layer, other)) for layer in layers])[number]

        return per_layer(_judged), per_layer(_returned)

    update, returned = jax.lax.map(differences, jnp.arange(len(layers)))
    scales = [_fully_aligned(layer, now, before, after) for layer in layers]
    return update, returned / jnp.stack(scales)


def _judged(layer: LayerShape, captured: Captured) -> Array:
    """Return the features of a layer; of the output layer the model's outputs."""
    return captured.outputs if layer.captured == OUTPUT else captured.features[layer.captured]


def _returned(layer: LayerShape, captured: Captured) -> Array:
    """Return what the layer's module returns, before multipliers outside of it."""
    return captured.features.get(layer.name, captured.outputs)


def _fully_aligned(
    layer: LayerShape, captured: Captured, before: Mapping[str, Array], after: Mapping[str, Array]
) -> Array:
    """Return RMS(ΔW) · fan-in · RMS(x) of a linear layer; NaN if its input is not known."""
    import jax.numpy as jnp

    inputs = captured.inputs.get(layer.name)
    if inputs is None or len(layer.weights) != 1:
        return jnp.array(jnp.nan, captured.outputs.dtype)
    ((path, kernel),) = layer.weights.items()
    return _rms(after[path] - before[path]) * fan_in(kernel, inputs.shape) * _rms(inputs)
