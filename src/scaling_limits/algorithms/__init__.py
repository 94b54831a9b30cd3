"""Registry of algorithms: modules with the functions of `contract.Algorithm`.

An algorithm that trains feedback weights declares their settings (`feedback.FeedbackWeights`) and returns gradients of
both groups of weights; while feedback weights are trained alone, only they are updated. Optimisers that need more than
gradients require a `contract.ObservedAlgorithm`. No algorithm imports another algorithm, the training loop, or the
limits against which it is tested. A user's file is a module with the same functions.
"""

from types import ModuleType
from typing import TYPE_CHECKING

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
    functions=("init", "update", "errors"),
)


def module(spec: AlgorithmSpec) -> str:
    """Return the dotted name of the computing module of an algorithm, or its file; raises as `Registry.module` does."""
    return _registry(spec).module(spec.name)


def part(spec: AlgorithmSpec) -> ModuleType:
    """Import and return the module that declares an algorithm; raises as `Registry.part` does."""
    return _registry(spec).part(spec.name)


def get(spec: AlgorithmSpec) -> "Algorithm":
    """Import and return the module that computes an algorithm; raises as `Registry.get` does."""
    return _registry(spec).get(spec.name)


def _registry(spec: AlgorithmSpec) -> "Registry[Algorithm]":
    return registry if spec.file is None else registry.with_files({spec.name: spec.file})
