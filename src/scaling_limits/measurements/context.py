"""What a measurement may look at."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxtyping import Array, Float

from ..cells import AlgorithmSpec
from ..networks.network import Network, Stacks


@dataclass(frozen=True)
class Context:
    """A network after some training steps, with the batch that the next update would use, and the test set.

    `algorithm` says which loss and method train the network; `gradients(params, x, y)` are its weight gradients and
    metrics, and `errors(params, x, y)` the errors of all nodes behind them (pc-tp e_l; -dloss/du_l for
    backpropagation), stacked as the network's nodes are.
    """

    network: Network
    params: Any
    scaling: Any
    algorithm: AlgorithmSpec
    x: Float[Array, "batch input"]
    y: Float[Array, "batch output"]
    x_test: Float[Array, "samples input"]
    y_test: Float[Array, "samples output"]
    gradients: Callable[[Any, Array, Array], tuple[Any, dict[str, Array]]]
    errors: Callable[[Any, Array, Array], Stacks]
