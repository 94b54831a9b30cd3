"""Random draws of weights with unit variance, which depend only on (seed key, purpose, layer, shape)."""

import math
import zlib
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, PyTree

from scaling_limits.errors import ConfigurationError, unknown

_FEWEST = 4096
"""Smallest number of entries drawn at once; larger numbers are powers of two."""


def seed_key(seed: int | Array) -> Array:
    """Return the key of a seed, for the generator that all draws use, independently of JAX's default."""
    return jax.random.key(seed, impl="threefry2x32")


def layer_key(key: Array, purpose: str, layer: int | Array) -> Array:
    """Fold a purpose (by the checksum of its name) and a layer index into a seed's key."""
    return _folded(key, _checksum(purpose), layer)


def scaled_draws(
    key: Array, purpose: str, layers: tuple[int, int], std: Array | float, leaf: PyTree, how: str
) -> Float[Array, "count out in"]:
    """Draw the weights of equal layers: `std` times a unit draw for each layer index.

    When called from Python, it runs programs that most weights of all cells share: the value of an entry depends only
    on its position, not on the number of entries, so weights of any shape are the beginning of a longer vector. If the
    draws were part of the cells' programs, they would take nearly half of the compilation time.

    Args:
        key: key of the seed (`seed_key`).
        purpose: name that separates draws of the same layer.
        layers: index of the first layer, and the number of layers.
        std: standard deviation that multiplies the unit draws.
        leaf: array or shape struct with the shape `[out, in]` and dtype of one layer's weight.
        how: distribution of the unit draws: `normal`, `uniform` or `orthogonal` (`unit_draw`).

    Returns:
        The weights `[count, out, in]`.

    Raises:
        ConfigurationError: `how` is an unknown distribution.
    """
    first, count = layers
    size = math.prod(leaf.shape)
    shape = leaf.shape if how == "orthogonal" else (max(_FEWEST, 1 << (size - 1).bit_length()),)
    # NumPy slices need no compiled program
    of = jnp if isinstance(key, jax.core.Tracer) else np

    def one(layer: int) -> PyTree:
        entries = _scaled_draw(key, _checksum(purpose), layer, std, shape, leaf.dtype, how)
        return of.asarray(entries).reshape(-1)[:size].reshape(leaf.shape)

    return jnp.asarray(of.stack([one(layer) for layer in range(first, first + count)]))


@partial(jax.jit, static_argnames=("shape", "dtype", "how"))
def _scaled_draw(
    key: Array,
    purpose: Array,
    layer: Array,
    std: Array,
    shape: tuple[int, ...],
    dtype: PyTree,
    how: str,
) -> Array:
    return jnp.asarray(std, dtype) * unit_draw(_folded(key, purpose, layer), how, shape, dtype)


def _folded(key: Array, purpose: Array | np.uint32, layer: int | Array) -> Array:
    return jax.random.fold_in(jax.random.fold_in(key, purpose), layer)


def _checksum(purpose: str) -> np.uint32:
    return np.uint32(zlib.crc32(purpose.encode()))


def unit_draw(
    key: Array, distribution: str, shape: tuple[int, ...], dtype: PyTree
) -> Float[Array, "..."]:
    """Draw one matrix `[out, in]`, or a vector of entries, to be scaled by `init_std` afterwards.

    `normal` and `uniform` (on +-sqrt 3) have entries of unit variance. `orthogonal` is Haar distributed with
    orthonormal columns, `W^T W = I` (rows if out < in), so its entries have variance 1/max(out, in).

    Args:
        key: random key of the draw.
        distribution: `normal`, `uniform` or `orthogonal`.
        shape: `[out, in]`; `normal` and `uniform` accept any shape.
        dtype: floating-point type of the entries.

    Returns:
        The draw, of the given shape.

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
        "init_distribution",
        unknown("init distribution", distribution, ["normal", "uniform", "orthogonal"]),
    )
