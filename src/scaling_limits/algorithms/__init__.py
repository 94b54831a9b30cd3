"""Algorithms by name. Each is a module with

`init(problem) -> its state before training`, `()` if it has none,
`update(problem, state) -> (gradients, state, metrics)`, gradients being `Weights`,
`errors(problem) -> the errors e_l of all nodes`,

of a `Problem`. One that trains feedback weights declares their settings (`feedback.FeedbackWeights`) and gives
gradients of both groups of weights; while feedback weights are trained alone, only these move. Optimisers that need
more than gradients go with algorithms that have

`observed_update(problem, state) -> (gradients, state, metrics, operations)`, with what optimisers need by name.

Errors are per sample, target minus prediction, stacked as the nodes are. No algorithm imports another, nor the
training loop, nor the limits that it is tested against. A file of the user's own is such a module as well.
"""

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
    "scaling_limits.algorithms",
)


def module(spec: AlgorithmSpec) -> str:
    """The dotted name of an algorithm's module, or its file; raises ConfigurationError for an unknown name."""
    return registry.module(spec.name) if spec.file is None else spec.file


def get(spec: AlgorithmSpec) -> ModuleType:
    """The imported module of an algorithm; raises as `module` does."""
    return registry.get(spec.name) if spec.file is None else own.load(spec.file)
