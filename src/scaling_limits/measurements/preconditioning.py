"""What the optimiser makes of the gradient of every layer.

Source: second-order Fig. 2: under K-FAC at muP the ratio goes as the width to the power 1, 0 and -1 in input, hidden
and output layers, as the rates of SGD's muP.
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
    """The norm of the next update's direction, without momentum and rates, over the gradient's; 1 under SGD, 0 where
    weights are frozen.
    """
    import jax.numpy as jnp

    from scaling_limits.measurements.by_layer import by_layer

    gradients, directions, _ = context.direction()
    network = context.problem.network
    norms = [by_layer(network, jnp.linalg.norm, tree) for tree in (directions, gradients)]
    return {"preconditioned_ratio": norms[0] / norms[1]}


def work(cell: Cell, count: Count) -> None:
    """An update that is not made, and its norms."""
    count.gradient()
    count.update(count.trained)
    count.weights(2)


def memory(cell: Cell) -> dict[str, float]:
    """Gradients and directions."""
    return {"weights": 2, "units": 2}
