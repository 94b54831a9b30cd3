"""How large the activities are along the depth.

Source: depth-mup Fig. 8 and 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scaling_limits.cells import Cell
from scaling_limits.networks.blocks import quarters

if TYPE_CHECKING:
    from jaxtyping import Array

    from scaling_limits.measurements.context import Context

AXES: dict[str, tuple[str, ...]] = {"activity_rms": ("index",), "output_rms": ()}


def measure(context: Context) -> dict[str, Array]:
    """Root mean squares over units and samples of the batch of x^0, x^{L/4}, x^{L/2}, x^{3L/4}, x^L (rounded down, L
    blocks or hidden layers after the first) and of the output.
    """
    import jax.numpy as jnp

    from scaling_limits.measurements.stacks import rms

    *hidden, output = context.problem.activities()
    # layer by layer, as convolutions have layers of several sizes
    sizes = jnp.concatenate([rms(stack) for stack in hidden])
    return {
        "activity_rms": sizes[jnp.asarray(quarters(len(sizes) - 1))],
        "output_rms": rms(output)[0],
    }


def work(cell: Cell, count: Any) -> None:
    """Activities."""
    count.forward()
