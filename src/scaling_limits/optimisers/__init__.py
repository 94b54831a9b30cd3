"""Optimisers by name."""

from scaling_limits.registry import Registry

registry = Registry(
    "optimiser",
    {
        "adam": "scaling_limits.optimisers.adam",
        "sgd": "scaling_limits.optimisers.sgd",
    },
)
