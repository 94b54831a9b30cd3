"""Training images that are changed at random, differently at every step."""

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

MARGIN = 1 / 8
"""By how much of an image's side `crop` moves it at most: 4 of 32 pixels."""
HOLE = 1 / 4
"""The side of the square that `cutout` blanks, over the image's: 8 of 32 pixels (DeVries & Taylor 2017, CIFAR-100)."""


def augmented(
    x: Float[Array, "batch input"], shape: Sequence[int], names: Sequence[str], key: Array
) -> Float[Array, "batch input"]:
    """Change each image of a batch at random.

    `crop` moves images, `flip` mirrors one in two, left and right, `cutout` blanks a square that may reach over the
    edge; in this order. Blank and new pixels are zero.

    Args:
        x: flattened images `[batch, input]`.
        shape: shape of one image: height, width and, if there are any, channels.
        names: names of the changes to apply, out of `CHANGES`.
        key: random key of the draws.

    Returns:
        The changed images, flattened `[batch, input]`.
    """
    images = x.reshape(len(x), *shape)
    keys = jax.random.split(key, len(CHANGES))
    for number, (name, change) in enumerate(CHANGES.items()):
        if name in names:
            images = jax.vmap(change)(images, jax.random.split(keys[number], len(x)))
    return images.reshape(x.shape)


def _crop(image: Array, key: Array) -> Array:
    margins = [math.ceil(MARGIN * side) for side in image.shape[:2]]
    padded = jnp.pad(image, [(m, m) for m in margins] + [(0, 0)] * (image.ndim - 2))
    most = 2 * jnp.asarray(margins) + 1
    row, column = jax.random.randint(key, (2,), 0, most)
    starts = (row, column, *[0] * (image.ndim - 2))
    return jax.lax.dynamic_slice(padded, starts, image.shape)


def _flip(image: Array, key: Array) -> Array:
    return jnp.where(jax.random.bernoulli(key), image[:, ::-1], image)


def _cutout(image: Array, key: Array) -> Array:
    inside = []
    for axis, own in enumerate(jax.random.split(key)):
        side = image.shape[axis]
        centre = jax.random.randint(own, (), 0, side)
        first = centre - math.ceil(HOLE * side) // 2
        places = jnp.arange(side)
        inside.append((places >= first) & (places < first + math.ceil(HOLE * side)))
    hole = jnp.logical_and.outer(*inside)
    return jnp.where(hole.reshape(*hole.shape, *[1] * (image.ndim - 2)), 0.0, image)


CHANGES = {"crop": _crop, "flip": _flip, "cutout": _cutout}
"""By the names that a cell has."""
