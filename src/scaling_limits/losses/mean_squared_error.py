"""Half the squared distance, `1/2 ||y - f||^2` (pcn-limits Eq. 1): the likelihood N(f, I)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax import Array


def summed(outputs: Array, targets: Array, tokens: int) -> Array:
    """The sum over samples."""
    total: Array = 0.5 * ((targets - outputs) ** 2).sum()
    return total


def error(outputs: Array, targets: Array, tokens: int) -> Array:
    """`y - f`."""
    return targets - outputs


def directions(kind: str, outputs: Array, key: Array) -> Array:
    """Return the directions of the identity (second-order S.62), or drawn ones."""
    import jax
    import jax.numpy as jnp

    batch, out = outputs.shape
    if kind == "sampled":
        return jax.random.normal(key, (1, batch, out), outputs.dtype)
    return jnp.broadcast_to(jnp.eye(out, dtype=outputs.dtype)[:, None], (out, batch, out))
