"""How far training has moved the weights of every layer.

Source: second-order Fig. S.15, the distance from the start relative to the size there. For hidden layers, it falls as
M^(-1/2) even where features are learned at any width, as what is learned has few directions: the largest singular value
does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import Cell
from scaling_limits.measurements.layers import weight_labels as labels

if TYPE_CHECKING:
    from collections.abc import Callable

    from jaxtyping import Array

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.work import Count

__all__ = ["AXES", "labels", "measure"]

AXES: dict[str, tuple[str, ...]] = {
    "weight_change": ("layer",),
    "weight_change_spectral": ("layer",),
}


def measure(context: Context) -> dict[str, Array]:
    """`||W - W_0|| / ||W_0||` of each layer, in the Frobenius and the spectral norm; infinite from a start at zero."""
    import jax
    import jax.numpy as jnp

    from scaling_limits.measurements.by_layer import by_layer, largest_singular_value

    network, first = context.problem.network, context.initial
    moved = jax.tree.map(jnp.subtract, context.problem.params, first)
    norms: dict[str, Callable[..., Array]]
    norms = {"weight_change": jnp.linalg.norm, "weight_change_spectral": largest_singular_value}
    return {
        name: by_layer(network, norm, moved) / by_layer(network, norm, first)
        for name, norm in norms.items()
    }


def work(cell: Cell, count: Count) -> None:
    """Norms of all weights, now and before, and eigenvalues of their products."""
    count.weights(6)
    for layer in count.layers:
        small, large = sorted((layer.inputs, layer.outputs))
        count.multiply_adds(2.0 * layer.count * (small**2 * large + 10 * small**3))


def memory(cell: Cell) -> dict[str, float]:
    """The weights before training, the change, and products of them."""
    return {"weights": 4}
