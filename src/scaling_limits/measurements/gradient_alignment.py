"""How close an algorithm's weight gradients are to backpropagation's, at the same weights and on the same batch.

Source: pcn-limits Fig. 1 (the cosine). All layers are concatenated.
"""

import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from scaling_limits.algorithms import backpropagation
from scaling_limits.measurements.context import Context

AXES: dict[str, tuple[str, ...]] = {"gradient_cosine": (), "gradient_relative_error": ()}


def measure(context: Context) -> dict[str, Array]:
    """Cosine of the two gradients, and the norm of their difference over the norm of backpropagation's."""
    own, _ = context.gradients(context.problem)
    reference, _ = backpropagation.gradients(context.problem)
    g = ravel_pytree(own)[0]
    b = ravel_pytree(reference)[0]
    cosine = jnp.vdot(g, b) / (jnp.linalg.norm(g) * jnp.linalg.norm(b))
    return {
        "gradient_cosine": cosine,
        "gradient_relative_error": jnp.linalg.norm(g - b) / jnp.linalg.norm(b),
    }
