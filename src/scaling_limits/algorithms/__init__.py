"""Algorithms by name. Each is a module with

`gradients(problem) -> (gradients like problem.params, metrics)`,
`errors(problem) -> the errors e_l of all nodes`,

of a `Problem`, and, if it trains feedback weights,

`feedback_gradients(problem) -> gradients like problem.feedback`.

Errors are per sample, target minus prediction, stacked as the nodes are. No algorithm
imports another, nor the training loop, nor the limits that it is tested against. A file of the user's own
that the configuration names is such a module as well.
"""

import importlib.util
from types import ModuleType

from scaling_limits.algorithms import own
from scaling_limits.cells import AlgorithmSpec
from scaling_limits.registry import Registry

registry = Registry(
    "algorithm",
    {
        "backpropagation": "scaling_limits.algorithms.backpropagation",
        "gauss_newton_target": "scaling_limits.algorithms.gauss_newton_target",
        "predictive_coding": "scaling_limits.algorithms.predictive_coding",
        "target_propagation": "scaling_limits.algorithms.target_propagation",
    },
)


def module(spec: AlgorithmSpec) -> str:
    """The dotted name of an algorithm's module, or its file; raises ConfigurationError for an unknown name."""
    return registry.module(spec.name) if spec.file is None else spec.file


def trains_feedback(name: str, file: str | None) -> bool:
    """Whether an algorithm has `feedback_gradients`; its module is read, not imported."""
    if file is None:
        spec = importlib.util.find_spec(registry.module(name))
        assert spec is not None
        file = str(spec.origin)
    return "feedback_gradients" in own.names(file)


def get(spec: AlgorithmSpec) -> ModuleType:
    """The imported module of an algorithm; raises as `module` does."""
    return registry.get(spec.name) if spec.file is None else own.load(spec.file)
