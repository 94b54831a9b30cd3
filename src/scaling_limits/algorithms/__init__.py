"""Algorithms by name. Each is a module with

`gradients(network, params, scaling, x, y, options, numbers) -> (gradients like params, metrics)`,
`errors(network, params, scaling, x, y, options, numbers) -> the errors e_l of all nodes`,

both of the same arguments: `options` is the cell's `AlgorithmSpec`, `numbers` holds the traced
`activity_learning_rate` and `seed`. Errors are per sample, target minus prediction, stacked as the
nodes are. No algorithm imports another, nor the training loop, nor the limits that it is tested
against.
"""

from types import ModuleType

from ..registry import Registry

registry = Registry(
    "algorithm",
    {
        "backpropagation": "scaling_limits.algorithms.backpropagation",
        "gauss_newton_target": "scaling_limits.algorithms.gauss_newton_target",
        "predictive_coding": "scaling_limits.algorithms.predictive_coding",
    },
)


def get(name: str) -> ModuleType:
    """The module of an algorithm; raises ConfigurationError for an unknown name."""
    return registry.get(name)
