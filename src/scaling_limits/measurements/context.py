"""What a measurement may look at."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from jaxtyping import Array, Float

from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.network import Params, Stacks


@dataclass(frozen=True)
class Context:
    """A network after some training steps with the batch that the next update would use, and the test set.

    `initial` are its weights before training.
    `gradients` and `errors` are the functions of the cell's own algorithm, `errors` giving those of all nodes (pc-tp
    e_l; -dloss/du_l for backpropagation), stacked as the network's nodes are.
    """

    problem: Problem
    initial: Params
    x_test: Float[Array, "samples input"]
    y_test: Float[Array, "samples output"]
    gradients: Callable[[Problem], tuple[Params, dict[str, Array]]]
    errors: Callable[[Problem], Stacks]

    def initial_activities(self) -> Stacks:
        """The outputs of all nodes, on the same batch, at the weights before training."""
        return replace(self.problem, params=self.initial).activities()
