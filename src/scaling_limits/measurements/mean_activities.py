"""Mean absolute activity of every layer in the forward pass.

Source: mupc Fig. A.29.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import Cell
from scaling_limits.measurements.layers import labels

if TYPE_CHECKING:
    from jaxtyping import Array

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.work import Count

__all__ = ["AXES", "labels", "measure"]

AXES: dict[str, tuple[str, ...]] = {"mean_absolute_activity": ("layer",)}


def measure(context: Context) -> dict[str, Array]:
    """Compute the mean of |z_l| over units and batch, for every node's output before the next activation."""
    import jax.numpy as jnp

    # layer by layer, because convolutional layers differ in size
    stacks = context.problem.activities()
    return {
        "mean_absolute_activity": jnp.concatenate([jnp.abs(z).mean(axis=(1, 2)) for z in stacks])
    }


def work(cell: Cell, count: Count) -> None:
    """Add the activities."""
    count.forward()
