"""By how much training has moved the activities of every node.

Source: pc-tp Fig. 4 and S.14 (Delta h_l).
"""

from dataclasses import replace

import jax.numpy as jnp
from jaxtyping import Array, Float

from .context import Context
from .layers import labels

__all__ = ["AXES", "labels", "measure"]

AXES: dict[str, tuple[str, ...]] = {"activity_change": ("layer",)}


def measure(context: Context) -> dict[str, Float[Array, " layer"]]:
    """Root mean square over units and samples of each node's output now less that at initialisation."""
    now = context.problem.activities()
    first = replace(context.problem, params=context.initial).activities()
    changes = [jnp.sqrt(((a - b) ** 2).mean(axis=(1, 2))) for a, b in zip(now, first, strict=True)]
    return {"activity_change": jnp.concatenate(changes)}
