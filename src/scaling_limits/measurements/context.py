"""What a measurement may look at."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from jaxtyping import Array, Float, Int, PyTree

from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.network import Params, Stacks


def _no_direction() -> tuple[Params, Params, PyTree]:
    raise NotImplementedError("a context outside of training has no optimiser")


@dataclass(frozen=True)
class Context:
    """A network after some training steps with the batch that the next update would use, and both sets of samples.

    `initial` are its weights before training, `algorithm` is the module of the cell's own, and `state` its state.
    `optimiser` are the traced numbers of the cell's own.
    `direction` gives the gradients of the next update, what the optimiser makes of them without momentum and rates, and
    its state after that.
    `reference` are the training samples that a network with batch norm takes its statistics of where it is evaluated,
    `analogies` the questions of a text (see `datasets.description.Samples`). `has_classes` says that targets are of
    classes, so that outputs are right or wrong.
    """

    problem: Problem
    initial: Params
    x_train: Float[Array, "all input"]
    y_train: Float[Array, "all output"]
    x_test: Float[Array, "samples input"]
    y_test: Float[Array, "samples output"]
    algorithm: Any
    state: PyTree = ()
    optimiser: Mapping[str, PyTree] = field(default_factory=dict)
    direction: Callable[[], tuple[Params, Params, PyTree]] = _no_direction
    reference: Float[Array, "some input"] | None = None
    analogies: Int[Array, "questions 4"] | None = None
    has_classes: bool = True

    def outputs(self, x: Float[Array, "samples input"]) -> Float[Array, "samples output"]:
        """f(x) of samples that are no batch: each one's own, also with batch norm."""
        problem = self.problem
        if self.reference is None:
            return replace(problem, x=x).forward()
        return problem.network.evaluate(problem.params, problem.scaling, x, self.reference)

    def gradients(self, problem: Problem) -> Params:
        """The cell's own algorithm's gradients of the weights."""
        gradients: Params = self.algorithm.update(problem, self.state)[0].forward
        return gradients

    def errors(self, problem: Problem) -> Stacks:
        """Its errors of all nodes (pc-tp e_l; -dloss/du_l for backpropagation), stacked as the nodes are."""
        errors: Stacks = self.algorithm.errors(problem)
        return errors

    def initial_activities(self) -> Stacks:
        """The outputs of all nodes, on the same batch, at the weights before training."""
        return replace(self.problem, params=self.initial).activities()
