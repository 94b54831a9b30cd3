"""The contract of an algorithm: what its module defines."""

from typing import TYPE_CHECKING, Protocol

from jax import Array
from jaxtyping import PyTree

from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.network import Params, Stacks, Weights


class Algorithm(Protocol):
    """Computes the errors of all nodes, and the gradients of the weights."""

    def init(self, problem: Problem, /) -> PyTree:
        """The state before training, `()` without any."""

    def update(
        self, problem: Problem, state: PyTree, /
    ) -> tuple[Weights, PyTree, dict[str, Array]]:
        """The gradients, the state after the step, and metrics, `train_loss` among them."""

    def errors(self, problem: Problem, /) -> Stacks:
        """The errors e_l of all nodes `[layers, batch, units]`, target minus prediction, stacked as the nodes are."""


class ObservedAlgorithm(Algorithm, Protocol):
    """An algorithm for optimisers that need more than gradients."""

    def observed_update(
        self, problem: Problem, state: PyTree, /
    ) -> tuple[Weights, PyTree, dict[str, Array], dict[str, Params]]:
        """The values of `update`, and inputs, cotangents and Fisher directions by name: trees like the weights."""


if TYPE_CHECKING:
    from scaling_limits.algorithms.backpropagation import computation as backpropagation
    from scaling_limits.algorithms.gauss_newton_target import computation as gauss_newton_target
    from scaling_limits.algorithms.predictive_coding import computation as predictive_coding
    from scaling_limits.algorithms.target_propagation import computation as target_propagation

    _CHECKED: tuple[Algorithm, ...] = (gauss_newton_target, predictive_coding, target_propagation)
    _OBSERVED: ObservedAlgorithm = backpropagation
