"""Extreme eigenvalues of a symmetric matrix that is given by its products with vectors."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from scaling_limits.networks.draws import seed_key

CHECKED_EVERY = 8
"""Number of products between two checks of the residual."""


class Extremes(NamedTuple):
    """The smallest and the largest eigenvalue, and a unit eigenvector of the latter, in the shape of `like`."""

    smallest: Float[Array, ""]
    largest: Float[Array, ""]
    of_largest: Array


def extremes(product: Callable[[Array], Array], like: Array, num_products: int) -> Extremes:
    """Compute the extreme eigenvalues by the Lanczos recursion with full reorthogonalisation, from a random start.

    The recursion ends when the residual of the eigenvalue of larger absolute value is at most 1e-9 of it, or when the
    number of products is `num_products` or the size of `like`.

    Args:
        product: multiplies an array in the shape of `like` by the matrix.
        like: an array with the shape of the vectors.
        num_products: maximum number of products.

    Returns:
        The smallest and the largest eigenvalue, and an eigenvector of the largest.
    """
    size = like.size
    count = min(size, num_products)

    def apply(v: Array) -> Array:
        return product(v.reshape(like.shape)).reshape(size)

    def step(number: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        basis, images, v = state
        basis, image = basis.at[number].set(v), apply(v)
        remainder = _orthogonalised(image, basis)
        length = jnp.linalg.norm(remainder)
        # an invariant subspace is exhausted, so continue in an independent direction
        exhausted = length <= 1e-12 * jnp.linalg.norm(image)
        remainder = jnp.where(
            exhausted, _orthogonalised(jnp.roll(first, number + 1), basis), remainder
        )
        return basis, images.at[number].set(image), remainder / jnp.linalg.norm(remainder)

    def several(carried: PyTree) -> PyTree:
        number, state, *_ = carried
        until = jnp.minimum(number + CHECKED_EVERY, count)
        state = jax.lax.fori_loop(number, until, step, state)
        values, coefficients = _projected(until, *state[:2])
        larger = jnp.argmax(jnp.abs(values))
        value, chosen = values[larger], coefficients[larger]
        residual = jnp.linalg.norm(chosen @ state[1] - value * (chosen @ state[0]))
        return until, state, values, coefficients, residual > 1e-9 * jnp.abs(value)

    def unfinished(carried: PyTree) -> Array:
        number, *_, is_open = carried
        more: Array = is_open & (number < count)
        return more

    first = jax.random.normal(seed_key(0), (size,), like.dtype)
    none, pair = jnp.zeros((count, size), like.dtype), jnp.zeros((2, count), like.dtype)
    state = (none, none, first / jnp.linalg.norm(first))
    start = (jnp.int32(0), state, pair[:, 0], pair, jnp.bool_(True))
    _, (basis, _, _), values, coefficients, _ = jax.lax.while_loop(unfinished, several, start)
    result = (coefficients @ basis).reshape(2, *like.shape)
    return Extremes(values[0], values[1], result[1])


def _orthogonalised(w: Float[Array, " size"], basis: Float[Array, "count size"]) -> Array:
    """Return the part of a vector that is orthogonal to the rows of `basis`; rows of zeros change nothing."""
    # twice is enough (Parlett)
    w = w - (basis @ w) @ basis
    return w - (basis @ w) @ basis


def _projected(
    number: Array, basis: Float[Array, "count size"], images: Float[Array, "count size"]
) -> tuple[Float[Array, "2"], Float[Array, "2 count"]]:
    """Compute the extreme eigenvalues of the matrix, projected on the first `number` rows of `basis`.

    Args:
        number: number of rows that are in use; the others are zero.
        basis: orthonormal rows.
        images: the rows, multiplied by the matrix.

    Returns:
        The smallest and the largest eigenvalue, and the coefficients of their eigenvectors in the rows.
    """
    inner = basis @ images.T
    # rows that are not in use get an eigenvalue between the extremes
    inner = inner + jnp.diag(jnp.where(jnp.arange(len(basis)) < number, 0.0, inner[0, 0]))
    values, vectors = jnp.linalg.eigh((inner + inner.T) / 2)
    both = jnp.asarray([0, -1])
    return values[both], vectors[:, both].T
