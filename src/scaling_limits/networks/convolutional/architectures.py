"""The layers of networks for images as plain data: what is built, and what the configuration takes
fan-ins from, without jax.
"""

from dataclasses import dataclass

from scaling_limits.cells import NetworkSpec
from scaling_limits.errors import ConfigurationError

Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Block:
    """`features` for each unit of width: channels of a convolution of stride 1 whose activations are
    pooled, 2 x 2; or units of a dense layer, without `kernel`.
    """

    features: int
    kernel: int | None = None
    padding: int = 0


ARCHITECTURES = {
    # pc-tp App. E: 128 numbers for each unit of width enter the output layer, at 28 x 28
    "cnn": (Block(4, kernel=5), Block(8, kernel=5)),
    # pc-tp App. E: width 8 is 128, 256, 512 and 512 channels
    "vgg5": (
        Block(16, kernel=3, padding=1),
        Block(32, kernel=3, padding=1),
        Block(64, kernel=3, padding=1),
        Block(64, kernel=3, padding=1),
        Block(64),
        Block(64),
    ),
}
"""All layers below the output."""

_SMALLEST = 16
_OUTPUT = Block(0)


@dataclass(frozen=True)
class ImageLayer:
    """One weight `[features, fan_in]`: that of a convolution, or, without `kernel`, of all that enters.

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

    @property
    def fan_in(self) -> int:
        """Entries of a row of the weight."""
        height, width, channels = self.shape
        window = height * width if self.kernel is None else self.kernel**2
        return window * channels

    @property
    def leaving(self) -> Shape:
        """The shape of what the node computes."""
        if self.kernel is None:
            return 1, 1, self.features
        height, width, _ = self.shape
        lost = self.kernel - 1 - 2 * self.padding
        return height - lost, width - lost, self.features


def image_layers(spec: NetworkSpec) -> tuple[ImageLayer, ...]:
    """All layers of one of the `ARCHITECTURES`, from the input up.

    Raises:
        ConfigurationError: for data that are no images or too small ones, and for another depth than
            the network's.
    """
    hidden = ARCHITECTURES[spec.name]
    _refuse(spec, len(hidden))
    found: list[ImageLayer] = []
    entering = shape = _image(spec)
    for number, block in enumerate((*hidden, _OUTPUT), start=1):
        role = "input" if number == 1 else "output" if block is _OUTPUT else "hidden"
        name = f"{role}_{number}" if role == "hidden" and len(hidden) > 2 else role
        features = spec.output_dim if block is _OUTPUT else block.features * spec.width
        layer = ImageLayer(name, role, entering, shape, features, block.kernel, block.padding)
        found.append(layer)
        entering = shape = layer.leaving
        if block.kernel is not None:
            # an odd last row or column is left out
            shape = shape[0] // 2, shape[1] // 2, features
    return tuple(found)


def _image(spec: NetworkSpec) -> Shape:
    shape = spec.input_shape or ()
    if len(shape) == 2:
        shape = (*shape, 1)
    if len(shape) != 3 or min(shape[:2]) < _SMALLEST:
        words = " x ".join(map(str, spec.input_shape or (spec.input_dim,)))
        raise ConfigurationError(
            f"input_shape: {spec.name} is for images of at least {_SMALLEST} x {_SMALLEST}, "
            f"the data have {words}"
        )
    height, width, channels = shape
    return height, width, channels


def _refuse(spec: NetworkSpec, num_hidden_layers: int) -> None:
    if spec.num_hidden_layers != num_hidden_layers:
        raise ConfigurationError(
            f"depth: {spec.name} has {num_hidden_layers + 1} weight layers "
            f"({num_hidden_layers} hidden_layers), not {spec.num_hidden_layers + 1}"
        )
