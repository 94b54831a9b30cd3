"""The layers of networks for images as plain data, without JAX.

Networks are built from them, and the configuration takes fan-ins from them.
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
    """A convolution of stride 1 or, without `kernel`, a dense layer.

    `features` is the number of channels or units for each unit of width. The activations of a convolution are pooled if
    `pooled`.
    """

    features: int
    kernel: int | None = None
    padding: int = 0
    pooled: bool = True


@dataclass(frozen=True)
class Architecture:
    """The layers below the output; `variants` are versions of one network with different depths.

    Pooling is over 2 x 2 positions; with `to_one_position`, it is repeated down to one position above the last layer.
    With `batch_norm`, the outputs of convolutions are normalised. Images have at least `smallest` rows and columns.
    """

    variants: tuple[tuple[Block, ...], ...]
    smallest: int = 16
    pooling: Pooling = "max"
    to_one_position: bool = False
    batch_norm: bool = False


def _vgg(*convolutions: int) -> tuple[Block, ...]:
    """Return convolutions in each of five stages, which end with pooling; width 4 gives 64 to 512 channels."""
    return tuple(
        Block(features, kernel=3, padding=1, pooled=number == count)
        for features, count in zip((16, 32, 64, 128, 128), convolutions, strict=True)
        for number in range(1, count + 1)
    )


ARCHITECTURES = {
    # pc-tp App. E: for 28 x 28 images, the output layer has 128 inputs for each unit of width
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
    # second-order App. B.1, the five-layer network of Shankar et al. 2020; the number of channels is the width
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
    # linear layer replaces three. The smallest variant is not in that paper.
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
"""The architectures by name; all layers below the output."""

_OUTPUT = Block(0)


@dataclass(frozen=True)
class ImageLayer:
    """One weight `[features, fan_in]` of a convolution or, without `kernel`, of a dense layer on the whole input.

    Shapes are (height, width, channels): `entering` is the input of the node, and `shape` the input of the weight,
    which is smaller if the node pools. `name` is the key of its numbers in a cell's `scaling`: its role, or an
    individual name if the role has several layers, because their fan-ins differ.
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
        """The number of entries in a row of the weight."""
        height, width, channels = self.shape
        window = height * width if self.kernel is None else self.kernel**2
        return window * channels

    @property
    def leaving(self) -> Shape:
        """The shape of the weight's output."""
        if self.kernel is None:
            return 1, 1, self.features
        height, width, _ = self.shape
        lost = self.kernel - 2 * self.padding
        rows, columns = ((size - lost) // self.stride + 1 for size in (height, width))
        return rows, columns, self.features

    def plain(self, count: int = 1) -> Layer:
        """Return `count` such layers in the form from which fan-ins, groups, costs and memory are computed."""
        positions, window = math.prod(self.leaving[:2]), self.fan_in // self.shape[2]
        return Layer(self.name, self.role, self.fan_in, self.features, count, positions, window)


def image_layers(spec: NetworkSpec) -> tuple[ImageLayer, ...]:
    """Return all layers of one of the `ARCHITECTURES`, from the input up.

    Raises:
        ConfigurationError: the data are not images or are too small, or the network does not exist with this depth.
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
    """Return the shape of the images, with one channel if they have no channel axis.

    Raises:
        ConfigurationError: the data are not images or are smaller than `smallest`.
    """
    shape = spec.input_shape or ()
    if len(shape) == 2:
        shape = (*shape, 1)
    if len(shape) != 3 or min(shape[:2]) < smallest:
        shape_text = " x ".join(map(str, spec.input_shape or (spec.input_dim,)))
        raise ConfigurationError(
            "input_shape",
            f"{spec.name} requires images of at least {smallest} x {smallest} pixels, not {shape_text}",
        )
    height, width, channels = shape
    return height, width, channels


def nearest(requested: int, depths: Sequence[int]) -> str:
    """Return a text with the available depths and the nearest one."""
    choices = ", ".join(map(str, depths))
    return f"{choices}; the nearest is {min(depths, key=lambda depth: abs(depth - requested))}"


def _halved(shape: Shape) -> Shape:
    # an odd last row or column is dropped
    return shape[0] // 2, shape[1] // 2, shape[2]


def _of_depth(spec: NetworkSpec, variants: Sequence[tuple[Block, ...]]) -> tuple[Block, ...]:
    result = {len(blocks): blocks for blocks in variants}
    if spec.num_hidden_layers in result:
        return result[spec.num_hidden_layers]
    requested = spec.num_hidden_layers + 1
    if len(result) > 1:
        valid = nearest(requested, [depth + 1 for depth in result])
        raise ConfigurationError(
            "depth", f"{spec.name} has no variant with {requested} weight layers. Valid: {valid}"
        )
    raise ConfigurationError(
        "depth",
        f"{spec.name} has {len(variants[0]) + 1} weight layers "
        f"({len(variants[0])} hidden_layers), not {requested}",
    )
