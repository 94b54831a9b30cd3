"""The contract of a network: what its declaring and its computing module define."""

from typing import TYPE_CHECKING, Protocol, TypeVar

from scaling_limits.cells import NetworkSpec
from scaling_limits.networks.network import Network

Spec = TypeVar("Spec", bound=NetworkSpec, contravariant=True)


class Architecture(Protocol[Spec]):
    """Builds networks from their specifications.

    The declaring module also defines `Settings`, `refuse(settings)`, `spec(settings, dataset)`, which returns the
    specification, and `layers(spec)`, which returns all weights from the input up, without JAX.
    """

    def build(self, spec: Spec, /) -> Network:
        """Build the network described by `spec`."""


if TYPE_CHECKING:
    from scaling_limits.networks.convolutional import computation as convolutional
    from scaling_limits.networks.mlp import computation as mlp
    from scaling_limits.networks.residual_cnn import computation as residual_cnn
    from scaling_limits.networks.resnet import computation as resnet
    from scaling_limits.networks.resnet.blocks import Spec as ResNetSpec
    from scaling_limits.networks.transformer import Spec as TransformerSpec
    from scaling_limits.networks.transformer import computation as transformer

    _CHECKED: tuple[Architecture[NetworkSpec], ...] = (convolutional, mlp, residual_cnn)
    _RESNET: Architecture[ResNetSpec] = resnet
    _TRANSFORMER: Architecture[TransformerSpec] = transformer
