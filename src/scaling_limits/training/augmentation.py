"""Random changes of the training images at every step."""

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

MARGIN = 1 / 8
"""Largest shift of an image by `crop`, relative to its side: 4 of 32 pixels."""
HOLE = 1 / 4
"""Side of the square that `cutout` blanks, relative to the image's side.

This is 8 of 32 pixels (DeVries & Taylor 2017, CIFAR-100)."""


def augmented(
    x: Float[Array, "batch input"], shape: Sequence[int], names: Sequence[str], key: Array
) -> Float[Array, "batch input"]:
    """Change each image of a batch at random.

    In this order, `crop` shifts images, `flip` mirrors each image horizontally with probability one half, and `cutout`
    blanks a square that may extend beyond the edge. Blanked pixels and pixels shifted in are zero.

    Args:
        x: flattened images `[batch, input]`.
        shape: shape of one image: height, width and, if there are any, channels.
        names: names of the changes to apply, from `CHANGES`.
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
"""The changes by their names in a cell."""
