"""Residual networks of convolutions without batch norm, in which each operation is a node (pcn-limits Eq. 125).

A stage consists of a convolution, a residual convolution and a mean over 2 x 2 positions. The output is linear in the
last stage's output. The width N is the fan-in of a convolution: its 3 x 3 positions times its channels.
"""

from dataclasses import dataclass

from scaling_limits.cells import CellSettings, DatasetSpec, NetworkSpec
from scaling_limits.errors import ConfigurationError
from scaling_limits.networks.convolutional.architectures import ImageLayer, Shape, image_shape
from scaling_limits.networks.layers import Layer
from scaling_limits.networks.settings import structure
from scaling_limits.strict import Strict

READS = frozenset({"branch"})
"""Quantities of a row that this network uses, in addition to those that all networks use."""

_KERNEL = 3
_OF_STAGE = 3


class Settings(Strict):
    """No settings beyond those of all networks."""

    @property
    def residual(self) -> bool:
        """Whether there are residual branches."""
        return True


@dataclass(frozen=True)
class Stage:
    """The two convolutions of a stage, the second one a residual branch, and the shape after pooling."""

    convolution: ImageLayer
    residual: ImageLayer
    pooled: Shape


def refuse(settings: CellSettings) -> None:
    """Reject widths and depths without a whole number of channels or stages.

    Raises:
        ConfigurationError: naming the key and what is valid.
    """
    if settings.width % _KERNEL**2:
        nearest = max(round(settings.width / _KERNEL**2), 1) * _KERNEL**2
        raise ConfigurationError(
            "width",
            f"{settings.width} is not a multiple of {_KERNEL**2}; the width of {settings.network} is {_KERNEL} x "
            f"{_KERNEL} kernel positions times the number of channels; the nearest is {nearest}",
        )
    if settings.depth_kind != "weight_layers" or settings.depth % _OF_STAGE != 1:
        stages = max(round((settings.depth - 1) / _OF_STAGE), 1)
        raise ConfigurationError(
            "depth",
            f"{settings.network} has {_OF_STAGE} layers per stage and an output layer, counted as weight_layers, "
            f"not {settings.depth} {settings.depth_kind}; the nearest is {stages * _OF_STAGE + 1} weight_layers",
        )


def spec(settings: CellSettings, dataset: DatasetSpec) -> NetworkSpec:
    """Return the specification of the network."""
    return structure(settings, dataset, input_shape=dataset.input_shape, skip=True)


def layers(spec: NetworkSpec) -> tuple[Layer, ...]:
    """Return all weights, from the input up; raises as `plan` does."""
    stages, output = plan(spec)
    between = [each.plain() for stage in stages for each in (stage.convolution, stage.residual)]
    return (*between, output.plain())


def plan(spec: NetworkSpec) -> tuple[tuple[Stage, ...], ImageLayer]:
    """Return the stages and the output layer.

    Raises:
        ConfigurationError: the data are not images, or their sides are not divisible by the poolings.
    """
    number = (spec.num_hidden_layers + 1) // _OF_STAGE
    shape = image_shape(spec, 2**number)
    if shape[0] % 2**number or shape[1] % 2**number:
        raise ConfigurationError(
            "input_shape",
            f"the {number} poolings of {spec.name} do not divide {shape[0]} x {shape[1]}; use multiples of "
            f"{2**number}",
        )
    features, stages = spec.width // _KERNEL**2, []
    for stage in range(number):
        first = _convolution("hidden" if stage else "input", shape, features)
        second = _convolution("hidden", first.leaving, features)
        shape = second.leaving[0] // 2, second.leaving[1] // 2, features
        stages.append(Stage(first, second, shape))
    output = ImageLayer("output", "output", shape, shape, spec.output_dim, kernel=None, padding=0)
    return tuple(stages), output


def _convolution(role: str, shape: Shape, features: int) -> ImageLayer:
    # all layers of a role have the same fan-in, so their numbers are those of the role
    return ImageLayer(role, role, shape, shape, features, _KERNEL, padding=_KERNEL // 2)
