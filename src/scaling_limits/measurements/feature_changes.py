"""Feature change: the change of the activities of every node by training.

Source: pc-tp Fig. 4 and S.14. Activities are the nodes' outputs: h_l with `activation_position: after_weight` (the
paper's Delta h_l), else the preactivations u_l, as in networks for images (Delta u_l).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import Cell
from scaling_limits.measurements.layers import labels

if TYPE_CHECKING:
    from jaxtyping import Array, Float

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.work import Count

__all__ = ["AXES", "labels", "measure"]

AXES: dict[str, tuple[str, ...]] = {"activity_change": ("layer",)}


def measure(context: Context) -> dict[str, Float[Array, " layer"]]:
    """Compute the root mean square over units and samples of the change of each node's output since initialisation."""
    import jax.numpy as jnp

    from scaling_limits.measurements.stacks import rms

    now, first = context.problem.activities(), context.initial_activities()
    changes = [rms(a - b) for a, b in zip(now, first, strict=True)]
    return {"activity_change": jnp.concatenate(changes)}


def work(cell: Cell, count: Count) -> None:
    """Add the activities now and before training."""
    count.forward()
    count.forward()


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory of the weights before training and of their activities."""
    return {"weights": 1, "units": 2}
