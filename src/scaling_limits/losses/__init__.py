"""Registry of losses: modules with the functions of `contract.Loss`."""

from typing import TYPE_CHECKING

from scaling_limits.registry import Registry

if TYPE_CHECKING:
    from scaling_limits.losses.contract import Loss

DEFAULT = "mean_squared_error"

registry: "Registry[Loss]" = Registry(
    "loss",
    {
        DEFAULT: "scaling_limits.losses.mean_squared_error",
        "cross_entropy": "scaling_limits.losses.cross_entropy",
    },
    "scaling_limits.losses",
    ("summed",),
)
