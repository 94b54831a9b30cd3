"""Residual networks of convolutions with batch norm, for images (He et al. 2016, the form for CIFAR).

As in the other networks for images, activities are preactivations at all positions: the output of the first
convolution, and for each block the argument of its final ReLU.
"""

import flax.linen as nn
from jax import Array
from jaxtyping import Float

from scaling_limits.networks.convolutional.architectures import ImageLayer
from scaling_limits.networks.convolutional.computation import ImageNode, entering
from scaling_limits.networks.network import Network, Segment
from scaling_limits.networks.nodes import ACTIVATIONS, BatchNorm, Linear, RoleNumbers
from scaling_limits.networks.resnet.blocks import ResidualBlock, Spec, plan


class ResidualNode(nn.Module):
    """One block, `branch(phi(x)) + shortcut(phi(x))`.

    The branch consists of convolutions with batch norm and activations in between. The shortcut is the identity unless
    it has to change the shape.
    """

    block: ResidualBlock
    activation: str

    @nn.compact
    def __call__(
        self, x: Float[Array, "batch in"], numbers: dict[str, RoleNumbers]
    ) -> Float[Array, "batch out"]:
        """Apply the node; `numbers` is the scaling of each of its weights."""
        phi = ACTIVATIONS[self.activation]

        def convolution(image: Array, layer: ImageLayer, name: str) -> Array:
            linear = Linear(layer.features, name=name)
            y = linear(entering(image, layer), numbers[name]["multiplier"])
            normalised: Array = BatchNorm(name=f"{name}_norm")(y)
            return normalised

        entered = image = phi(x).reshape(len(x), *self.block.branch[0].shape)
        for number, layer in enumerate(self.block.branch, start=1):
            image = convolution(image if number == 1 else phi(image), layer, f"branch_{number}")
        shortcut = self.block.shortcut
        kept = entered if shortcut is None else convolution(entered, shortcut, "shortcut")
        return (image + kept).reshape(len(x), -1)


def build(spec: Spec) -> Network:
    """Build the network of `plan`, with a segment for each run of equal blocks."""
    stem, blocks, output = plan(spec)
    segments = [Segment(ImageNode(stem, "linear", batch_norm=True), stem.name, count=1, first=1)]
    first = 2
    for block in blocks:
        weights = tuple((name, layer.name) for name, layer in block.layers.items())
        node = ResidualNode(block, spec.activation)
        segments.append(Segment(node, block.branch[0].name, block.count, first, weights))
        first += block.count
    last = ImageNode(output, spec.activation, pooling="global_average")
    segments.append(Segment(last, output.name, count=1, first=first))
    return Network(tuple(segments), spec.input_dim, linear=False)
