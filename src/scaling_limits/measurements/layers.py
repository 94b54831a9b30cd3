"""The labels of what measurements take of all nodes, or of all weights."""

from scaling_limits import networks
from scaling_limits.cells import NetworkSpec


def labels(network: NetworkSpec) -> dict[str, tuple[int, ...]]:
    """Nodes 1..L, the output's included."""
    return {"layer": tuple(range(1, network.num_hidden_layers + 2))}


def weight_labels(network: NetworkSpec) -> dict[str, tuple[int, ...]]:
    """Weights in the order of the network's `layers`, from 1: the nodes, unless nodes have several."""
    count = sum(layer.count for layer in networks.layers_of(network))
    return {"layer": tuple(range(1, count + 1))}
