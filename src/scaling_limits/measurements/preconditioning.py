"""Ratio of the optimiser's direction to the gradient of every layer.

Source: second-order Fig. 2: under K-FAC at muP, the ratio is proportional to the width to the power 1, 0 and -1 in
input, hidden and output layers, as are the learning rates of SGD's muP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import Cell
from scaling_limits.measurements.layers import weight_labels as labels

if TYPE_CHECKING:
    from jaxtyping import Array

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.work import Count

__all__ = ["AXES", "labels", "measure"]

AXES: dict[str, tuple[str, ...]] = {"preconditioned_ratio": ("layer",)}


def measure(context: Context) -> dict[str, Array]:
    """Compute the norm of the next update's direction, without momentum and learning rates, over the gradient's norm.

    It is 1 for SGD, and 0 for frozen weights.
    """
    import jax.numpy as jnp

    from scaling_limits.measurements.by_layer import by_layer

    gradients, directions, _ = context.direction()
    network = context.problem.network
    norms = [by_layer(network, jnp.linalg.norm, tree) for tree in (directions, gradients)]
    return {"preconditioned_ratio": norms[0] / norms[1]}


def work(cell: Cell, count: Count) -> None:
    """Add an update that is not applied, and its norms."""
    count.gradient()
    count.update(count.trained)
    count.weights(2)


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory of gradients and directions."""
    return {"weights": 2, "units": 2}
