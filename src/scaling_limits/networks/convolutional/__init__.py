"""Networks of convolutions and dense layers without biases, for images (pc-tp App. E)."""

from scaling_limits.cells import CellSettings, DatasetSpec, NetworkSpec
from scaling_limits.networks.convolutional.architectures import ARCHITECTURES, image_layers
from scaling_limits.networks.layers import Layer
from scaling_limits.networks.settings import batch_norm, refuse_batch_norm, structure


def refuse(settings: CellSettings) -> None:
    """Reject settings that are incompatible with batch norm; raises ConfigurationError."""
    if ARCHITECTURES[settings.network].batch_norm:
        refuse_batch_norm(settings)


def spec(settings: CellSettings, dataset: DatasetSpec) -> NetworkSpec:
    """Return the specification of the network."""
    normalised = ARCHITECTURES[settings.network].batch_norm
    options = batch_norm(dataset) if normalised else {}
    return structure(settings, dataset, input_shape=dataset.input_shape, **options)


def layers(spec: NetworkSpec) -> tuple[Layer, ...]:
    """Return all layers, from the input up; raises as `image_layers` does."""
    return tuple(layer.plain() for layer in image_layers(spec))
