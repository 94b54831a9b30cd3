"""Extreme eigenvalues of a symmetric matrix that is known by its products."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from scaling_limits.networks.draws import seed_key

CHECKED_EVERY = 8
"""As many products are between two looks at the residual."""


class Extremes(NamedTuple):
    """The smallest and the largest eigenvalue, and unit eigenvectors of the shape of what is multiplied."""

    smallest: Float[Array, ""]
    largest: Float[Array, ""]
    of_smallest: Array
    of_largest: Array


def extremes(product: Callable[[Array], Array], like: Array, num_products: int) -> Extremes:
    """By the Lanczos recursion with all directions kept orthogonal, from a random start; those at the ends come out
    first. `like` has the shape of what `product` takes.

    `product` is called until the end that is larger in size is an eigenvalue to 1e-9 of itself, by its residual, but at
    most `num_products` times, and no more often than `like` has numbers.
    """
    size = like.size
    count = min(size, num_products)

    def apply(v: Array) -> Array:
        return product(v.reshape(like.shape)).reshape(size)

    def clean(w: Array, basis: Array) -> Array:
        # twice is enough (Parlett); rows that are still zero take nothing away
        w = w - (basis @ w) @ basis
        return w - (basis @ w) @ basis

    def step(number: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        basis, images, v = state
        basis, image = basis.at[number].set(v), apply(v)
        rest = clean(image, basis)
        length = jnp.linalg.norm(rest)
        # the space is exhausted: go on in a direction that nothing has led to
        exhausted = length <= 1e-12 * jnp.linalg.norm(image)
        rest = jnp.where(exhausted, clean(jnp.roll(first, number + 1), basis), rest)
        return basis, images.at[number].set(image), rest / jnp.linalg.norm(rest)

    def ends(number: Array, basis: Array, images: Array) -> tuple[Array, Array]:
        """Extreme eigenvalues of the projection on the directions so far, and their coefficients."""
        inner = basis @ images.T
        # a direction that is not there yet gets a value between the ends
        inner = inner + jnp.diag(jnp.where(jnp.arange(count) < number, 0.0, inner[0, 0]))
        values, vectors = jnp.linalg.eigh((inner + inner.T) / 2)
        both = jnp.asarray([0, -1])
        return values[both], vectors[:, both].T

    def several(carried: PyTree) -> PyTree:
        number, state, *_ = carried
        until = jnp.minimum(number + CHECKED_EVERY, count)
        state = jax.lax.fori_loop(number, until, step, state)
        values, coefficients = ends(until, *state[:2])
        larger = jnp.argmax(jnp.abs(values))
        value, chosen = values[larger], coefficients[larger]
        residual = jnp.linalg.norm(chosen @ state[1] - value * (chosen @ state[0]))
        return until, state, values, coefficients, residual > 1e-9 * jnp.abs(value)

    def going(carried: PyTree) -> Array:
        number, *_, is_open = carried
        more: Array = is_open & (number < count)
        return more

    first = jax.random.normal(seed_key(0), (size,), like.dtype)
    none, pair = jnp.zeros((count, size), like.dtype), jnp.zeros((2, count), like.dtype)
    state = (none, none, first / jnp.linalg.norm(first))
    start = (jnp.int32(0), state, pair[:, 0], pair, jnp.bool_(True))
    _, (basis, _, _), values, coefficients, _ = jax.lax.while_loop(going, several, start)
    result = (coefficients @ basis).reshape(2, *like.shape)
    return Extremes(values[0], values[1], result[0], result[1])
