"""Alignment of an algorithm's weight gradients with backpropagation's, at the same weights and on the same batch.

Source: pcn-limits Fig. 1 (the cosine). All layers are concatenated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import Cell

if TYPE_CHECKING:
    from jaxtyping import Array

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.work import Count

AXES: dict[str, tuple[str, ...]] = {"gradient_cosine": (), "gradient_relative_error": ()}


def measure(context: Context) -> dict[str, Array]:
    """Compute the cosine of the two gradients, and the norm of their difference relative to backpropagation's norm."""
    import jax.numpy as jnp
    from jax.flatten_util import ravel_pytree

    from scaling_limits.algorithms.backpropagation import computation as backpropagation

    reference, _, _ = backpropagation.update(context.problem, ())
    g = ravel_pytree(context.gradients(context.problem))[0]
    b = ravel_pytree(reference.forward)[0]
    cosine = jnp.vdot(g, b) / (jnp.linalg.norm(g) * jnp.linalg.norm(b))
    return {
        "gradient_cosine": cosine,
        "gradient_relative_error": jnp.linalg.norm(g - b) / jnp.linalg.norm(b),
    }


def work(cell: Cell, count: Count) -> None:
    """Add two gradients, their product and three norms."""
    count.gradient()
    count.backpropagation()
    count.weights(8)


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory of both gradients."""
    return {"weights": 2, "units": 1}
