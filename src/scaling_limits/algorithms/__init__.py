"""Registry of algorithms: modules with the functions of `contract.Algorithm`.

An algorithm that trains feedback weights declares their settings (`feedback.FeedbackWeights`) and returns gradients of
both groups of weights; while feedback weights are trained alone, only they are updated. Optimisers that need more than
gradients require a `contract.ObservedAlgorithm`. No algorithm imports another algorithm, the training loop, or the
limits against which it is tested. A user's file is a module with the same functions.
"""

from typing import TYPE_CHECKING, cast

from scaling_limits.algorithms import own
from scaling_limits.cells import AlgorithmSpec
from scaling_limits.registry import Registry

if TYPE_CHECKING:
    from scaling_limits.algorithms.contract import Algorithm

registry: "Registry[Algorithm]" = Registry(
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
    """Return the dotted name of an algorithm's module, or its file; raise ConfigurationError for an unknown name."""
    return registry.module(spec.name) if spec.file is None else spec.file


def get(spec: AlgorithmSpec) -> "Algorithm":
    """Import and return the module of an algorithm; raises as `module` does."""
    return registry.get(spec.name) if spec.file is None else cast("Algorithm", own.load(spec.file))
