"""Functions of the weights of every layer, or of trees like them, for measurements."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from scaling_limits.networks.network import Network


def by_layer(
    network: Network, number: Callable[..., Array], *trees: PyTree
) -> Float[Array, " layer"]:
    """Apply `number` to the kernel `[out, in]` of every layer, in the order of the network's `layers`."""

    def of_stack(*stacks: Array) -> Array:
        result: Array = jax.lax.map(lambda layers: number(*layers), stacks)
        return result

    result = zip(network.segments, jax.tree.map(of_stack, *trees), strict=True)
    return jnp.concatenate(
        [part["kernel"] for segment, stack in result for _, part in segment.by_weight(stack)]
    )


def largest_singular_value(matrix: Float[Array, "out in"]) -> Float[Array, ""]:
    """Compute the largest singular value from the smaller Gram matrix; NaN if an entry is not finite."""
    size = jnp.abs(matrix).max()
    scaled = jnp.where(jnp.isfinite(size) & (size > 0), matrix / size, 0.0)
    product = scaled @ scaled.T if len(scaled) < scaled.shape[1] else scaled.T @ scaled
    return size * jnp.sqrt(jnp.maximum(jnp.linalg.eigvalsh(product)[-1], 0.0))
