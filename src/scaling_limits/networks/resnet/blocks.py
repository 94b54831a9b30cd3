"""The layers of residual networks as plain data, without JAX."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from scaling_limits.cells import NetworkSpec
from scaling_limits.errors import ConfigurationError
from scaling_limits.networks.convolutional.architectures import (
    ImageLayer,
    Shape,
    image_shape,
    nearest,
)

STAGES = {
    4: (1, 1, 1, 1),
    8: (2, 2, 2, 2),
    16: (3, 4, 6, 3),
    33: (3, 4, 23, 3),
    50: (3, 8, 36, 3),
}
"""Number of blocks of each stage, by the total number of blocks.

8 and 16 are ResNet-18 and 34 with basic blocks; 16, 33 and 50 are ResNet-50, 101 and 152 with bottlenecks. The network
with 4 blocks, the smallest of this form, is not in He et al. 2016."""

BRANCHES = {"resnet_basic": ((3, 1), (3, 1)), "resnet_bottleneck": ((1, 1), (3, 1), (1, 4))}
"""For each convolution of a block's branch, the size of the kernel, and its channels relative to those of the stage."""

_SMALLEST = 8


class Spec(NetworkSpec):
    """Specification with the number of `channels` of the first stage for each unit of width."""

    channels: int


@dataclass(frozen=True)
class ResidualBlock:
    """`count` equal blocks: a branch of convolutions, added to the block's input or to the `shortcut` of the input."""

    branch: tuple[ImageLayer, ...]
    shortcut: ImageLayer | None
    count: int

    @property
    def layers(self) -> dict[str, ImageLayer]:
        """All weights of one block, by the names of the node's linear operations."""
        branch = {f"branch_{number}": layer for number, layer in enumerate(self.branch, start=1)}
        return branch if self.shortcut is None else {**branch, "shortcut": self.shortcut}


def plan(spec: Spec) -> tuple[ImageLayer, tuple[ResidualBlock, ...], ImageLayer]:
    """Return the first convolution, the blocks, and the linear output layer, which acts on means over all positions.

    Each stage has twice the channels of the previous one; all but the first begin with stride 2.

    Raises:
        ConfigurationError: the data are not images or are too small, or the number of blocks is not in `STAGES`.
    """
    num_blocks = spec.num_hidden_layers - 1
    if num_blocks not in STAGES:
        raise ConfigurationError(
            "depth",
            f"{spec.name} has no variant with {num_blocks} blocks. Valid: {nearest(num_blocks, list(STAGES))}",
        )
    shape = image_shape(spec, _SMALLEST)
    stem = ImageLayer(
        "input", "input", shape, shape, spec.channels * spec.width, kernel=3, padding=1
    )
    shape, blocks, names = stem.leaving, [], (f"hidden_{number}" for number in count(2))
    for stage, total in enumerate(STAGES[num_blocks]):
        features = spec.channels * spec.width * 2**stage
        for equal, stride in ((1, 2 if stage else 1), (total - 1, 1)):
            if equal:
                blocks.append(_block(spec.name, shape, features, stride, equal, names))
                shape = blocks[-1].branch[-1].leaving
    pooled = (1, 1, shape[2])
    output = ImageLayer("output", "output", shape, pooled, spec.output_dim, kernel=None, padding=0)
    return stem, tuple(blocks), output


def _block(
    network: str, entering: Shape, features: int, stride: int, equal: int, names: Iterator[str]
) -> ResidualBlock:
    """Return equal blocks of one stage; the first 3 x 3 convolution has the stride."""

    def layer(shape: Shape, features: int, kernel: int, stride: int) -> ImageLayer:
        own = {"kernel": kernel, "padding": kernel // 2, "stride": stride}
        return ImageLayer(next(names), "hidden", shape, shape, features, **own)

    branch, shape, left = [], entering, stride
    for kernel, times in BRANCHES[network]:
        step, left = (left, 1) if kernel == 3 else (1, left)
        branch.append(layer(shape, features * times, kernel, step))
        shape = branch[-1].leaving
    shortcut = None if shape == entering else layer(entering, shape[2], 1, stride)
    return ResidualBlock(tuple(branch), shortcut, equal)
