"""Residual networks of convolutions without batch norm, in which each operation is a node (pcn-limits Eq. 125)."""

import flax.linen as nn
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from scaling_limits.cells import NetworkSpec
from scaling_limits.networks.convolutional.architectures import ImageLayer, Shape
from scaling_limits.networks.convolutional.computation import ImageNode, average_pool, entering
from scaling_limits.networks.network import Network, Segment
from scaling_limits.networks.nodes import ACTIVATIONS, Linear, RoleNumbers
from scaling_limits.networks.residual_cnn import plan


class ResidualConvolution(nn.Module):
    """`x + b a W phi(x)`, with W a convolution."""

    layer: ImageLayer
    activation: str

    @nn.compact
    def __call__(
        self, x: Float[Array, "batch in"], numbers: RoleNumbers
    ) -> Float[Array, "batch in"]:
        """Apply the node; `numbers` is the scaling of its role."""
        image = ACTIVATIONS[self.activation](x).reshape(len(x), *self.layer.shape)
        linear = Linear(self.layer.features, name="linear")
        y = linear(entering(image, self.layer), numbers["multiplier"])
        return x + jnp.asarray(numbers["branch"], x.dtype) * y.reshape(x.shape)


class AveragePool(nn.Module):
    """Means over 2 x 2 positions, without weights."""

    shape: Shape

    @nn.compact
    def __call__(
        self, x: Float[Array, "batch in"], numbers: RoleNumbers
    ) -> Float[Array, "batch out"]:
        """Apply the node; it ignores `numbers`."""
        return average_pool(x.reshape(len(x), *self.shape)).reshape(len(x), -1)


def build(spec: NetworkSpec) -> Network:
    """Build the network of `plan`, with a segment for each node."""
    stages, output = plan(spec)
    nodes: list[tuple[nn.Module, str]] = []
    for stage in stages:
        nodes += [
            (ImageNode(stage.convolution, "linear"), stage.convolution.name),
            (ResidualConvolution(stage.residual, spec.activation), stage.residual.name),
            (AveragePool(stage.residual.leaving), stage.residual.name),
        ]
    nodes.append((ImageNode(output, "linear"), output.name))
    segments = tuple(
        Segment(node, role, count=1, first=number, residual=isinstance(node, ResidualConvolution))
        for number, (node, role) in enumerate(nodes, start=1)
    )
    return Network(segments, spec.input_dim, linear=spec.activation == "linear")
