"""The state that training carries from step to step."""

from typing import NamedTuple

from jaxtyping import PyTree

from scaling_limits.networks.network import Weights


class State(NamedTuple):
    """Weights, and the states of network, optimiser (one for each group of weights) and algorithm.

    No current network has a state: it is `()`.
    """

    weights: Weights
    network: PyTree
    optimiser: Weights
    algorithm: PyTree
