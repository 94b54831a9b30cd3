"""Unit draws of weights. They depend on (seed key, purpose, layer, shape) and on nothing else."""

import zlib
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from scaling_limits.errors import ConfigurationError, unknown


def layer_key(key: Array, purpose: str, layer: int | Array) -> Array:
    """Fold a seed's key with a purpose (by the checksum of its name) and a layer index."""
    return jax.random.fold_in(jax.random.fold_in(key, zlib.crc32(purpose.encode())), layer)


def unit_draw(
    key: Array, distribution: str, shape: tuple[int, int], dtype: Any
) -> Float[Array, "out in"]:
    """Draw one matrix `[out, in]`, to be scaled by `init_std` afterwards.

    `normal` and `uniform` (on +-sqrt 3) have entries of unit variance. `orthogonal` is Haar
    distributed with orthonormal columns, `W^T W = I` (rows where out < in), so its entries have
    variance 1/max(out, in).

    Raises:
        ConfigurationError: for an unknown distribution.
    """
    if distribution == "normal":
        return jax.random.normal(key, shape, dtype)
    if distribution == "uniform":
        edge = 3.0**0.5
        return jax.random.uniform(key, shape, dtype, -edge, edge)
    if distribution == "orthogonal":
        rows, columns = max(shape), min(shape)
        q, r = jnp.linalg.qr(jax.random.normal(key, (rows, columns), dtype))
        # without the signs of R's diagonal, QR is not uniform over the orthogonal group
        q = q * jnp.sign(jnp.diagonal(r))[None, :]
        return q if shape[0] >= shape[1] else q.T
    raise ConfigurationError(
        unknown("init distribution", distribution, ["normal", "uniform", "orthogonal"])
    )
