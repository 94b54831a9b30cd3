"""Residual networks of convolutions with batch norm, for images (He et al. 2016, the form for CIFAR)."""

from pydantic import Field

from scaling_limits.cells import CellSettings, DatasetSpec, NetworkSpec
from scaling_limits.errors import ConfigurationError
from scaling_limits.networks.layers import Layer
from scaling_limits.networks.resnet.blocks import Spec, plan
from scaling_limits.networks.settings import batch_norm, refuse_batch_norm, structure
from scaling_limits.strict import Strict


class Settings(Strict):
    """What a unit of width is."""

    channels: int = Field(
        default=16, ge=1, description="of the first stage, for each unit of width"
    )


def refuse(settings: CellSettings) -> None:
    """Refuse another count of the depth than blocks, and what batch norm does not go with.

    Raises:
        ConfigurationError: naming the key.
    """
    if settings.depth_kind != "blocks":
        raise ConfigurationError(
            "depth_kind",
            f"the depth of {settings.network} counts its residual blocks, not "
            f"{settings.depth_kind}; use blocks",
        )
    refuse_batch_norm(settings)


def spec(settings: CellSettings, dataset: DatasetSpec) -> NetworkSpec:
    """The structure that a cell holds."""
    options = {"input_shape": dataset.input_shape, **batch_norm(dataset)}
    return Spec(**dict(structure(settings, dataset, **options)), channels=settings.channels)


def layers(spec: Spec) -> tuple[Layer, ...]:
    """All weights, from the input up, those of equal blocks together; raises as `plan` does."""
    stem, blocks, output = plan(spec)
    between = [layer.plain(block.count) for block in blocks for layer in block.layers.values()]
    return (stem.plain(), *between, output.plain())
