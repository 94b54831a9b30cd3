"""The input of measurements."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from jaxtyping import Array, Float, Int, PyTree

from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.network import Params, Stacks

if TYPE_CHECKING:
    from scaling_limits.algorithms.contract import Algorithm


def _no_direction() -> tuple[Params, Params, PyTree]:
    raise NotImplementedError("a context outside of training has no optimiser")


@dataclass(frozen=True)
class Context:
    """A network after some training steps, with the batch of the next update and both sets of samples.

    `initial` are the weights before training, `algorithm` is the module of the cell's algorithm, and `state` its state.
    `optimiser` are the traced numbers of the cell's optimiser. `direction` returns the gradients of the next update,
    the optimiser's directions without momentum and learning rates, and the optimiser's state after the update.
    `reference` are the training samples that give batch norm its statistics in evaluation, and `analogies` the
    questions of a text (see `datasets.description.Samples`). `has_classes` states that targets are classes, so that
    outputs are right or wrong.
    """

    problem: Problem
    initial: Params
    x_train: Float[Array, "all input"]
    y_train: Float[Array, "all output"]
    x_test: Float[Array, "samples input"]
    y_test: Float[Array, "samples output"]
    algorithm: "Algorithm"
    state: PyTree = ()
    optimiser: Mapping[str, PyTree] = field(default_factory=dict)
    direction: Callable[[], tuple[Params, Params, PyTree]] = _no_direction
    reference: Float[Array, "some input"] | None = None
    analogies: Int[Array, "questions 4"] | None = None
    has_classes: bool = True

    def outputs(self, x: Float[Array, "samples input"]) -> Float[Array, "samples output"]:
        """Compute f(x) of samples that are not a batch.

        Each output depends on its sample only, even with batch norm.
        """
        problem = self.problem
        if self.reference is None:
            return replace(problem, x=x).forward()
        return problem.network.evaluate(problem.params, problem.scaling, x, self.reference)

    def gradients(self, problem: Problem) -> Params:
        """Compute the weight gradients of the cell's algorithm."""
        gradients: Params = self.algorithm.update(problem, self.state)[0].forward
        return gradients

    def errors(self, problem: Problem) -> Stacks:
        """Compute the algorithm's errors of all nodes, stacked as the nodes are.

        These are e_l of pc-tp, and -dloss/du_l for backpropagation.
        """
        return self.algorithm.errors(problem)

    def initial_activities(self) -> Stacks:
        """Compute the outputs of all nodes on the same batch, at the weights before training."""
        return replace(self.problem, params=self.initial).activities()
