"""Extreme eigenvalues of a symmetric matrix that is known by its products."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class Extremes(NamedTuple):
    """The smallest and the largest eigenvalue, and unit eigenvectors of the shape of what is multiplied."""

    smallest: Float[Array, ""]
    largest: Float[Array, ""]
    of_smallest: Array
    of_largest: Array


def extremes(product: Callable[[Array], Array], like: Array, num_products: int) -> Extremes:
    """By the Lanczos recursion with all directions kept orthogonal, from a random start; those at the ends come out
    first. `like` has the shape of what `product` takes; it is called so often, or once for each of its numbers.
    """
    size = like.size
    count = min(size, num_products)

    def apply(v: Array) -> Array:
        return product(v.reshape(like.shape)).reshape(size)

    def clean(w: Array, basis: Array) -> Array:
        # twice is enough (Parlett); rows that are still zero take nothing away
        w = w - basis.T @ (basis @ w)
        return w - basis.T @ (basis @ w)

    def step(
        carried: tuple[Array, Array], entry: tuple[Array, Array]
    ) -> tuple[tuple[Array, Array], Array]:
        basis, v = carried
        number, fresh = entry
        basis = basis.at[number].set(v)
        image = apply(v)
        rest = clean(image, basis)
        length = jnp.linalg.norm(rest)
        # the space is exhausted: go on in a direction that nothing has led to
        exhausted = length <= 1e-12 * jnp.linalg.norm(image)
        rest = jnp.where(exhausted, clean(fresh, basis), rest)
        return (basis, rest / jnp.linalg.norm(rest)), image

    starts = jax.random.normal(jax.random.key(0), (count + 1, size), like.dtype)
    first = starts[0] / jnp.linalg.norm(starts[0])
    entries = (jnp.arange(count), starts[1:])
    (basis, _), images = jax.lax.scan(step, (jnp.zeros((count, size), like.dtype), first), entries)
    inner = basis @ images.T
    values, vectors = jnp.linalg.eigh((inner + inner.T) / 2)
    ends = (vectors[:, jnp.asarray([0, -1])].T @ basis).reshape(2, *like.shape)
    return Extremes(values[0], values[-1], ends[0], ends[1])
