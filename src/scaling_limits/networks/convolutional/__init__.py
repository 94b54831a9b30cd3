"""Networks of convolutions and dense layers without biases, for images (pc-tp App. E)."""

import math
from typing import Any

from scaling_limits.cells import DatasetSpec, NetworkSpec
from scaling_limits.networks.convolutional.architectures import image_layers
from scaling_limits.networks.layers import Layer
from scaling_limits.networks.settings import structure


def spec(settings: Any, dataset: DatasetSpec) -> NetworkSpec:
    """The structure that a cell holds."""
    return structure(settings, dataset, input_shape=dataset.input_shape)


def layers(spec: NetworkSpec) -> tuple[Layer, ...]:
    """All layers, from the input up; raises as `image_layers` does."""
    return tuple(
        Layer(
            layer.name,
            layer.role,
            layer.fan_in,
            layer.features,
            positions=math.prod(layer.leaving[:2]),
        )
        for layer in image_layers(spec)
    )
