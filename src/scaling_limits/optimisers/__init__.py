"""Registry of optimisers: modules with the function of `contract.Optimiser`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scaling_limits.registry import Registry

if TYPE_CHECKING:
    from scaling_limits.optimisers.contract import Optimiser

registry: "Registry[Optimiser]" = Registry(
    "optimiser",
    {
        "adam": "scaling_limits.optimisers.adam",
        "foof": "scaling_limits.optimisers.foof",
        "kfac": "scaling_limits.optimisers.kfac",
        "sgd": "scaling_limits.optimisers.sgd",
        "shampoo": "scaling_limits.optimisers.shampoo",
    },
    "scaling_limits.optimisers",
)


def needs(name: str) -> Sequence[str]:
    """Return the further arguments that an optimiser takes; raise ConfigurationError for an unknown name."""
    needed: Sequence[str] = getattr(registry.part(name), "NEEDS", ())
    return needed
