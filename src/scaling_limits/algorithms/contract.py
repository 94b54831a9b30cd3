"""The contract of an algorithm: the functions that its module defines."""

from typing import TYPE_CHECKING, Protocol

from jax import Array
from jaxtyping import PyTree

from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.network import Params, Stacks, Weights


class Algorithm(Protocol):
    """An algorithm computes the errors of all nodes and the gradients of the weights."""

    def init(self, problem: Problem, /) -> PyTree:
        """Return the state before training, `()` if the algorithm has none."""

    def update(
        self, problem: Problem, state: PyTree, /
    ) -> tuple[Weights, PyTree, dict[str, Array]]:
        """Compute the gradients, the state after the step, and metrics, which include `train_loss`."""

    def errors(self, problem: Problem, /) -> Stacks:
        """Compute the errors e_l of all nodes, target minus prediction.

        Returns:
            The errors `[layers, batch, units]`, stacked as the nodes are.
        """


class ObservedAlgorithm(Algorithm, Protocol):
    """An algorithm for optimisers that need more than gradients."""

    def observed_update(
        self, problem: Problem, state: PyTree, /
    ) -> tuple[Weights, PyTree, dict[str, Array], dict[str, Params]]:
        """Compute what `update` does, and inputs, cotangents and Fisher directions by name, trees like the weights."""


if TYPE_CHECKING:
    from scaling_limits.algorithms.backpropagation import computation as backpropagation
    from scaling_limits.algorithms.gauss_newton_target import computation as gauss_newton_target
    from scaling_limits.algorithms.predictive_coding import computation as predictive_coding
    from scaling_limits.algorithms.target_propagation import computation as target_propagation

    _CHECKED: tuple[Algorithm, ...] = (gauss_newton_target, predictive_coding, target_propagation)
    _OBSERVED: ObservedAlgorithm = backpropagation
