"""Algorithms by name. Each is a module with

`gradients(network, params, scaling, x, y, options, numbers) -> (gradients like params, metrics)`

and none imports another, nor the training loop, nor the limits that it is tested against.
"""

from types import ModuleType

from ..registry import Registry

registry = Registry(
    "algorithm",
    {
        "backpropagation": "scaling_limits.algorithms.backpropagation",
        "predictive_coding": "scaling_limits.algorithms.predictive_coding",
    },
)


def get(name: str) -> ModuleType:
    """The module of an algorithm; raises ConfigurationError for an unknown name."""
    return registry.get(name)
