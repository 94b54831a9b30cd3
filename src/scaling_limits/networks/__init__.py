"""Registry of networks. They define structure only: scales enter through `scaling`, so parameterisations are traced."""

from typing import TYPE_CHECKING, Any

from scaling_limits.cells import NetworkSpec
from scaling_limits.registry import Registry

if TYPE_CHECKING:
    from scaling_limits.networks.contract import Architecture
    from scaling_limits.networks.layers import Layer
    from scaling_limits.networks.network import Network

registry: "Registry[Architecture[Any]]" = Registry(
    "network",
    {
        "cnn": "scaling_limits.networks.convolutional",
        "mlp": "scaling_limits.networks.mlp",
        "myrtle5": "scaling_limits.networks.convolutional",
        "residual_cnn": "scaling_limits.networks.residual_cnn",
        "resnet_basic": "scaling_limits.networks.resnet",
        "resnet_bottleneck": "scaling_limits.networks.resnet",
        "transformer": "scaling_limits.networks.transformer",
        "vgg": "scaling_limits.networks.convolutional",
        "vgg5": "scaling_limits.networks.convolutional",
    },
    "scaling_limits.networks",
    ("spec", "layers"),
)

DEFAULT = "mlp"


def build(spec: NetworkSpec) -> "Network":
    """Build the network described by `spec`; raise ConfigurationError for an unknown name."""
    return registry.get(spec.name).build(spec)


def layers_of(spec: NetworkSpec) -> "tuple[Layer, ...]":
    """Return all weights from the input up, without JAX; raise ConfigurationError for an unknown name."""
    layers: tuple[Layer, ...] = registry.part(spec.name).layers(spec)
    return layers
