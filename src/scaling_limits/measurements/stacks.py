"""Functions of the nodes' stacks for measurements: sizes of entries, cosines of errors."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from scaling_limits.networks.network import Stacks


def rms(stack: Float[Array, "count batch units"]) -> Float[Array, " count"]:
    """Compute each entry's root mean square over batch and units."""
    return jnp.sqrt((stack**2).mean(axis=(1, 2)))


def cosines(left: Stacks, right: Stacks) -> Float[Array, " layer"]:
    """Compute the cosine of each node's two errors, 0 if either is zero."""
    return jnp.concatenate([_cosine(a, b) for a, b in zip(left, right, strict=True)])


def _cosine(left: Array, right: Array) -> Array:
    a, b = _scaled(left), _scaled(right)
    dot = jnp.einsum("lbn,lbn->l", a, b)
    norms = jnp.sqrt((a**2).sum(axis=(1, 2)) * (b**2).sum(axis=(1, 2)))
    # a NaN norm, after divergence, gives a NaN cosine
    return jnp.where(norms == 0, 0.0, dot / jnp.where(norms == 0, 1.0, norms))


def _scaled(errors: Array) -> Array:
    """Scale the largest entry to 1, because the squares of tiny errors are below the smallest float32."""
    largest = jnp.abs(errors).max(axis=(1, 2), keepdims=True)
    return errors / jnp.where(largest == 0, 1.0, largest)
