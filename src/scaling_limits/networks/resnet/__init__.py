"""Residual networks of convolutions with batch norm, for images (He et al. 2016, the form for CIFAR)."""

from typing import Any

from scaling_limits.cells import DatasetSpec, NetworkSpec
from scaling_limits.errors import ConfigurationError
from scaling_limits.networks.layers import Layer
from scaling_limits.networks.resnet.blocks import plan
from scaling_limits.networks.settings import batch_norm, refuse_batch_norm, structure


def refuse(settings: Any) -> None:
    """Refuse another count of the depth than blocks, and what batch norm does not go with.

    Raises:
        ConfigurationError: naming the key.
    """
    if settings.depth_kind != "blocks":
        raise ConfigurationError(
            f"depth_kind: the depth of {settings.network} counts its residual blocks, not "
            f"{settings.depth_kind}; use blocks"
        )
    refuse_batch_norm(settings)


def spec(settings: Any, dataset: DatasetSpec) -> NetworkSpec:
    """The structure that a cell holds."""
    return structure(settings, dataset, input_shape=dataset.input_shape, **batch_norm(dataset))


def layers(spec: NetworkSpec) -> tuple[Layer, ...]:
    """All weights, from the input up, those of equal blocks together; raises as `plan` does."""
    stem, blocks, output = plan(spec)
    between = [layer.plain(block.count) for block in blocks for layer in block.layers.values()]
    return (stem.plain(), *between, output.plain())
