"""Networks of convolutions and dense layers without biases, for images (pc-tp App. E).

Activities are preactivations at all positions, `[batch, height * width * channels]`, the channels of
one position after the other.
"""

from collections.abc import Callable

import flax.linen as nn
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from scaling_limits.cells import NetworkSpec
from scaling_limits.networks.convolutional.architectures import (
    ARCHITECTURES,
    ImageLayer,
    Pooling,
    image_layers,
)
from scaling_limits.networks.network import Network, Segment
from scaling_limits.networks.nodes import ACTIVATIONS, BatchNorm, Linear, RoleNumbers


class ImageNode(nn.Module):
    """One node: `a W pool(before(x))` with W a convolution or a matrix, and pooling where the layer
    has it, normalised over the batch with `batch_norm`.
    """

    layer: ImageLayer
    before: str
    pooling: Pooling = "max"
    batch_norm: bool = False

    @nn.compact
    def __call__(
        self, x: Float[Array, "batch in"], numbers: RoleNumbers
    ) -> Float[Array, "batch out"]:
        """Apply the node; `numbers` is the scaling of its role."""
        layer, batch = self.layer, len(x)
        image = ACTIVATIONS[self.before](x).reshape(batch, *layer.entering)
        while image.shape[1:] != layer.shape:
            image = POOLINGS[self.pooling](image)
        y: Array = Linear(layer.features, name="linear")(
            entering(image, layer), numbers["multiplier"]
        )
        if self.batch_norm:
            y = BatchNorm(name="norm")(y)
        return y.reshape(batch, -1)


def entering(
    image: Float[Array, "batch height width channels"], layer: ImageLayer
) -> Float[Array, "batch *positions entries"]:
    """What the layer's weight is applied to: windows, or all of the image."""
    if layer.kernel is None:
        return image.reshape(len(image), layer.fan_in)
    return windows(image, layer.kernel, layer.padding, layer.stride)


def windows(
    x: Float[Array, "batch height width channels"], size: int, padding: int, stride: int = 1
) -> Float[Array, "batch out_height out_width entries"]:
    """Copy out the windows of zero-padded images that a convolution's kernel is applied to.

    A matrix times these is the convolution. XLA's own convolutions take ten to thirty times as long inside of loops on
    a CPU, and training is a loop.

    Args:
        x: images `[batch, height, width, channels]`.
        size: side of a window, in pixels.
        padding: pixels of zeros added at each edge.
        stride: distance between the windows' first pixels, in pixels.

    Returns:
        Windows `[batch, out_height, out_width, size * size * channels]`, their entries by rows, columns and channels.
    """
    x = jnp.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    height, width = ((length - size) // stride + 1 for length in x.shape[1:3])
    x = jnp.stack([x[:, i : i + stride * height : stride] for i in range(size)], axis=3)
    x = jnp.stack([x[:, :, i : i + stride * width : stride] for i in range(size)], axis=4)
    return x.reshape(*x.shape[:3], -1)


def max_pool(
    x: Float[Array, "batch height width channels"],
) -> Float[Array, "batch half_height half_width channels"]:
    """Maxima over 2 x 2; an odd last row or column is left out, and equal maxima share the derivative.

    By reshaping: XLA's `reduce_window` makes a whole training step a third longer on a CPU.
    """
    return _quadruples(x).max(axis=(2, 4))


def average_pool(
    x: Float[Array, "batch height width channels"],
) -> Float[Array, "batch half_height half_width channels"]:
    """Means over 2 x 2; an odd last row or column is left out."""
    return _quadruples(x).mean(axis=(2, 4))


def global_average_pool(
    x: Float[Array, "batch height width channels"],
) -> Float[Array, "batch 1 1 channels"]:
    """Means over all positions."""
    return x.mean(axis=(1, 2), keepdims=True)


POOLINGS: dict[Pooling, Callable[[Array], Array]] = {
    "max": max_pool,
    "average": average_pool,
    "global_average": global_average_pool,
}


def _quadruples(x: Array) -> Float[Array, "batch half_height 2 half_width 2 channels"]:
    batch, height, width, channels = x.shape
    height, width = height // 2, width // 2
    return x[:, : 2 * height, : 2 * width].reshape(batch, height, 2, width, 2, channels)


def build(spec: NetworkSpec) -> Network:
    """The network of that name in `ARCHITECTURES`, a segment for each layer."""
    architecture = ARCHITECTURES[spec.name]
    segments = []
    for number, layer in enumerate(image_layers(spec), start=1):
        node = ImageNode(
            layer,
            before="linear" if number == 1 else spec.activation,
            pooling=architecture.pooling,
            batch_norm=architecture.batch_norm and layer.kernel is not None,
        )
        segments.append(Segment(node=node, role=layer.name, count=1, first=number))
    # a maximum is not linear
    return Network(tuple(segments), spec.input_dim, linear=False)
