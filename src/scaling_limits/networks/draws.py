"""Unit draws of weights. They depend on (seed key, purpose, layer, shape) and on nothing else."""

import zlib
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from scaling_limits.errors import ConfigurationError, unknown


def layer_key(key: Array, purpose: str, layer: int | Array) -> Array:
    """Fold a seed's key with a purpose (by the checksum of its name) and a layer index."""
    return _folded(key, _checksum(purpose), layer)


def scaled_draws(
    key: Array, purpose: str, layers: tuple[int, int], std: Array | float, leaf: Any, how: str
) -> Float[Array, "count out in"]:
    """`std` times the unit draws of `layers`, the first and their number, each with the shape and dtype of `leaf`.

    Called from Python it runs a program that all weights of this shape and number share, in all cells. As parts of
    the cells' own programs, draws would take nearly half of the time in which these are compiled.

    Raises:
        ConfigurationError: `how` is an unknown distribution.
    """
    first, count = layers
    static = {"count": count, "shape": leaf.shape, "dtype": leaf.dtype, "how": how}
    drawn: Array = _scaled_draws(key, _checksum(purpose), first, std, **static)
    return drawn


@partial(jax.jit, static_argnames=("count", "shape", "dtype", "how"))
def _scaled_draws(
    key: Array,
    purpose: Array,
    first: Array,
    std: Array,
    *,
    count: int,
    shape: tuple[int, int],
    dtype: Any,
    how: str,
) -> Array:
    def one(layer: Array) -> Array:
        return jnp.asarray(std, dtype) * unit_draw(_folded(key, purpose, layer), how, shape, dtype)

    # one after the other: to compile them for all layers at once takes three times as long
    drawn: Array = jax.lax.map(one, first + jnp.arange(count))
    return drawn


def _folded(key: Array, purpose: Array | np.uint32, layer: int | Array) -> Array:
    return jax.random.fold_in(jax.random.fold_in(key, purpose), layer)


def _checksum(purpose: str) -> np.uint32:
    return np.uint32(zlib.crc32(purpose.encode()))


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
