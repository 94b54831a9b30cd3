"""Networks of convolutions and dense layers without biases, for images (pc-tp App. E).

Activities are preactivations at all positions, `[batch, height * width * channels]`, the channels of
one position beside each other.
"""

import flax.linen as nn
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from scaling_limits.cells import NetworkSpec
from scaling_limits.networks.convolutional.architectures import ImageLayer, image_layers
from scaling_limits.networks.network import Network, Segment
from scaling_limits.networks.nodes import ACTIVATIONS, Linear, RoleNumbers


class ImageNode(nn.Module):
    """One node: `a W pool(before(x))` with W a convolution or a matrix, and pooling where the layer
    has it.
    """

    layer: ImageLayer
    before: str

    @nn.compact
    def __call__(
        self, x: Float[Array, "batch in"], numbers: RoleNumbers
    ) -> Float[Array, "batch out"]:
        """Apply the node; `numbers` is the scaling of its role."""
        layer, batch = self.layer, len(x)
        image = ACTIVATIONS[self.before](x).reshape(batch, *layer.entering)
        if layer.shape != layer.entering:
            image = max_pool(image)
        if layer.kernel is None:
            entering = image.reshape(batch, layer.fan_in)
        else:
            entering = windows(image, layer.kernel, layer.padding)
        y: Array = Linear(layer.features, name="linear")(entering, numbers["multiplier"])
        return y.reshape(batch, -1)


def windows(
    x: Float[Array, "batch height width channels"], size: int, padding: int
) -> Float[Array, "batch out_height out_width entries"]:
    """Every window of an image padded with zeros, by rows, columns and channels.

    A matrix times these is the convolution. XLA's own convolutions take ten to thirty times as long
    inside of loops on a CPU, and training is a loop.
    """
    x = jnp.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    height, width = x.shape[1] - size + 1, x.shape[2] - size + 1
    x = jnp.stack([x[:, row : row + height] for row in range(size)], axis=3)
    x = jnp.stack([x[:, :, column : column + width] for column in range(size)], axis=4)
    return x.reshape(*x.shape[:3], -1)


def max_pool(
    x: Float[Array, "batch height width channels"],
) -> Float[Array, "batch half_height half_width channels"]:
    """Maxima over 2 x 2; an odd last row or column is left out, and equal maxima share the derivative.

    By reshaping: XLA's `reduce_window` makes a whole training step a third longer on a CPU.
    """
    batch, height, width, channels = x.shape
    height, width = height // 2, width // 2
    blocks = x[:, : 2 * height, : 2 * width].reshape(batch, height, 2, width, 2, channels)
    return blocks.max(axis=(2, 4))


def build(spec: NetworkSpec) -> Network:
    """The network of that name in `ARCHITECTURES`, a segment for each layer."""
    segments = []
    for number, layer in enumerate(image_layers(spec), start=1):
        node = ImageNode(layer, before="linear" if number == 1 else spec.activation)
        segments.append(Segment(node=node, role=layer.name, count=1, first=number))
    # a maximum is not linear
    return Network(tuple(segments), spec.input_dim, linear=False)
