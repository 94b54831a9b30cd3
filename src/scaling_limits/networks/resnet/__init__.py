"""Residual networks of convolutions with batch norm, for images (He et al. 2016, the form for CIFAR)."""

from pydantic import Field

from scaling_limits.cells import CellSettings, DatasetSpec, NetworkSpec
from scaling_limits.errors import ConfigurationError
from scaling_limits.networks.layers import Layer
from scaling_limits.networks.resnet.blocks import Spec, plan
from scaling_limits.networks.settings import batch_norm, refuse_batch_norm, structure
from scaling_limits.strict import Strict


class Settings(Strict):
    """The number of channels of a unit of width."""

    channels: int = Field(
        default=16, ge=1, description="channels of the first stage per unit of width"
    )


def refuse(settings: CellSettings) -> None:
    """Reject depths that do not count blocks, and settings that are incompatible with batch norm.

    Raises:
        ConfigurationError: naming the key.
    """
    if settings.depth_kind != "blocks":
        raise ConfigurationError(
            "depth_kind",
            f"'{settings.depth_kind}' is not available for network: {settings.network}, whose depth counts "
            "residual blocks; use blocks",
        )
    refuse_batch_norm(settings)


def spec(settings: CellSettings, dataset: DatasetSpec) -> NetworkSpec:
    """Return the specification of the network."""
    options = {"input_shape": dataset.input_shape, **batch_norm(dataset)}
    return Spec(**dict(structure(settings, dataset, **options)), channels=settings.channels)


def layers(spec: Spec) -> tuple[Layer, ...]:
    """Return all weights, from the input up, with those of equal blocks together; raises as `plan` does."""
    stem, blocks, output = plan(spec)
    between = [layer.plain(block.count) for block in blocks for layer in block.layers.values()]
    return (stem.plain(), *between, output.plain())
