"""The layers of networks for images as plain data: what is built, and what the configuration takes
fan-ins from, without jax.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from scaling_limits.cells import NetworkSpec
from scaling_limits.errors import ConfigurationError
from scaling_limits.networks.layers import Layer

Shape = tuple[int, int, int]
Pooling = Literal["max", "average", "global_average"]


@dataclass(frozen=True)
class Block:
    """`features` for each unit of width: channels of a convolution of stride 1, whose activations are
    pooled where `pooled`; or units of a dense layer, without `kernel`.
    """

    features: int
    kernel: int | None = None
    padding: int = 0
    pooled: bool = True


@dataclass(frozen=True)
class Architecture:
    """Layers below the output: `variants` of one network, each of another depth.

    Pooling is 2 x 2, and repeated down to one position above the last layer with `to_one_position`.
    With `batch_norm` what leaves a convolution is normalised. Images have at least `smallest` rows and
    columns.
    """

    variants: tuple[tuple[Block, ...], ...]
    smallest: int = 16
    pooling: Pooling = "max"
    to_one_position: bool = False
    batch_norm: bool = False


def _vgg(*convolutions: int) -> tuple[Block, ...]:
    """Convolutions in each of five stages, which end with pooling; width 4 is 64 to 512 channels."""
    return tuple(
        Block(features, kernel=3, padding=1, pooled=number == count)
        for features, count in zip((16, 32, 64, 128, 128), convolutions, strict=True)
        for number in range(1, count + 1)
    )


ARCHITECTURES = {
    # pc-tp App. E: 128 numbers for each unit of width enter the output layer, at 28 x 28
    "cnn": Architecture(((Block(4, kernel=5), Block(8, kernel=5)),)),
    # pc-tp App. E: width 8 is 128, 256, 512 and 512 channels
    "vgg5": Architecture(
        (
            (
                Block(16, kernel=3, padding=1),
                Block(32, kernel=3, padding=1),
                Block(64, kernel=3, padding=1),
                Block(64, kernel=3, padding=1),
                Block(64),
                Block(64),
            ),
        )
    ),
    # second-order App. B.1, the five-layer network of Shankar et al. 2020: as many channels as its width
    "myrtle5": Architecture(
        (
            (
                Block(1, kernel=3, padding=1, pooled=False),
                Block(1, kernel=3, padding=1),
                Block(1, kernel=3, padding=1),
                Block(1, kernel=3, padding=1),
            ),
        ),
        smallest=8,
        pooling="average",
        to_one_position=True,
    ),
    # Simonyan & Zisserman 2015, for 32 x 32: VGG-11, 13, 16 and 19 have 9, 11, 14 and 17 weight layers here, as one
    # linear layer stands for three. The smallest is none of theirs.
    "vgg": Architecture(
        (
            _vgg(1, 1, 1, 1, 1),
            _vgg(1, 1, 2, 2, 2),
            _vgg(2, 2, 2, 2, 2),
            _vgg(2, 2, 3, 3, 3),
            _vgg(2, 2, 4, 4, 4),
        ),
        smallest=32,
        batch_norm=True,
    ),
}
"""All layers below the output."""

_OUTPUT = Block(0)


@dataclass(frozen=True)
class ImageLayer:
    """One weight `[features, fan_in]` of a convolution, or, without `kernel`, of all that enters.

    Shapes are (height, width, channels): `entering` the node, and `shape` of what the weight is applied
    to, which is smaller if the node pools. `name` says whose numbers in a cell's `scaling` it has:
    those of its role, or its own if the role has several layers, as their fan-ins differ.
    """

    name: str
    role: str
    entering: Shape
    shape: Shape
    features: int
    kernel: int | None
    padding: int
    stride: int = 1

    @property
    def fan_in(self) -> int:
        """Entries of a row of the weight."""
        height, width, channels = self.shape
        window = height * width if self.kernel is None else self.kernel**2
        return window * channels

    @property
    def leaving(self) -> Shape:
        """The shape of what the weight gives."""
        if self.kernel is None:
            return 1, 1, self.features
        height, width, _ = self.shape
        lost = self.kernel - 2 * self.padding
        rows, columns = ((size - lost) // self.stride + 1 for size in (height, width))
        return rows, columns, self.features

    def plain(self, count: int = 1) -> Layer:
        """What fan-ins, groups of weights, costs and memory are taken from, of so many equal ones."""
        positions, window = math.prod(self.leaving[:2]), self.fan_in // self.shape[2]
        return Layer(self.name, self.role, self.fan_in, self.features, count, positions, window)


def image_layers(spec: NetworkSpec) -> tuple[ImageLayer, ...]:
    """All layers of one of the `ARCHITECTURES`, from the input up.

    Raises:
        ConfigurationError: for data that are no images or too small ones, and for another depth than
            the network's.
    """
    architecture = ARCHITECTURES[spec.name]
    hidden = _of_depth(spec, architecture.variants)
    result: list[ImageLayer] = []
    entering = shape = image_shape(spec, architecture.smallest)
    for number, block in enumerate((*hidden, _OUTPUT), start=1):
        role = "input" if number == 1 else "output" if block is _OUTPUT else "hidden"
        name = f"{role}_{number}" if role == "hidden" and len(hidden) > 2 else role
        features = spec.output_dim if block is _OUTPUT else block.features * spec.width
        layer = ImageLayer(name, role, entering, shape, features, block.kernel, block.padding)
        result.append(layer)
        entering = shape = layer.leaving
        if block.kernel is not None and block.pooled:
            shape = _halved(shape)
            while architecture.to_one_position and number == len(hidden) and min(shape[:2]) > 1:
                shape = _halved(shape)
    return tuple(result)


def image_shape(spec: NetworkSpec, smallest: int) -> Shape:
    """The shape of the data, with one channel if they have none.

    Raises:
        ConfigurationError: they are no images, or smaller.
    """
    shape = spec.input_shape or ()
    if len(shape) == 2:
        shape = (*shape, 1)
    if len(shape) != 3 or min(shape[:2]) < smallest:
        words = " x ".join(map(str, spec.input_shape or (spec.input_dim,)))
        raise ConfigurationError(
            "input_shape",
            f"{spec.name} is for images of at least {smallest} x {smallest}, the data have {words}",
        )
    height, width, channels = shape
    return height, width, channels


def nearest(wanted: int, depths: Sequence[int]) -> str:
    """How to say which depths there are, and which is nearest."""
    words = ", ".join(map(str, depths))
    return f"{words}; the nearest is {min(depths, key=lambda depth: abs(depth - wanted))}"


def _halved(shape: Shape) -> Shape:
    # an odd last row or column is left out
    return shape[0] // 2, shape[1] // 2, shape[2]


def _of_depth(spec: NetworkSpec, variants: Sequence[tuple[Block, ...]]) -> tuple[Block, ...]:
    result = {len(blocks): blocks for blocks in variants}
    if spec.num_hidden_layers in result:
        return result[spec.num_hidden_layers]
    wanted = spec.num_hidden_layers + 1
    if len(result) > 1:
        there = nearest(wanted, [depth + 1 for depth in result])
        raise ConfigurationError(
            "depth", f"{spec.name} has no {wanted} weight layers. Valid: {there}"
        )
    raise ConfigurationError(
        "depth",
        f"{spec.name} has {len(variants[0]) + 1} weight layers "
        f"({len(variants[0])} hidden_layers), not {wanted}",
    )
