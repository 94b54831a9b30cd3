"""Registry of limits: closed forms, recursions and infinite-size computations with which training is compared.

Limits that replace a training run are registered here. They are modules with the functions of `contract.Limit`.
"""

from typing import TYPE_CHECKING

from scaling_limits.registry import Registry

if TYPE_CHECKING:
    from scaling_limits.limits.contract import Limit

registry: "Registry[Limit]" = Registry(
    "limit",
    {
        "depth_recursion": "scaling_limits.limits.depth_recursion",
        "linear_dmft": "scaling_limits.limits.linear_dmft",
        "nngp": "scaling_limits.limits.nngp",
        "smooth_depth_recursion": "scaling_limits.limits.smooth_depth_recursion",
    },
    "scaling_limits.limits",
    ("refuse",),
)
