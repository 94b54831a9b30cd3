"""What measurements make of the weights of every layer, or of trees like them."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def by_layer(number: Callable[..., Array], *trees: Any) -> Float[Array, " layer"]:
    """`number` of the kernel `[out, in]` of every layer, from below, one layer after the other."""

    def of_stack(*stacks: Array) -> Array:
        found: Array = jax.lax.map(lambda layers: number(*layers), stacks)
        return found

    return jnp.concatenate(jax.tree.leaves(jax.tree.map(of_stack, *trees)))


def largest_singular_value(matrix: Float[Array, "out in"]) -> Float[Array, ""]:
    """From the product with its transpose of the smaller size; not a number for what is not finite."""
    size = jnp.abs(matrix).max()
    scaled = jnp.where(jnp.isfinite(size) & (size > 0), matrix / size, 0.0)
    product = scaled @ scaled.T if len(scaled) < scaled.shape[1] else scaled.T @ scaled
    return size * jnp.sqrt(jnp.maximum(jnp.linalg.eigvalsh(product)[-1], 0.0))
