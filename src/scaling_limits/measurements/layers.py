"""Labels of measurements of all nodes or of all weights."""

from scaling_limits import networks
from scaling_limits.cells import NetworkSpec


def labels(network: NetworkSpec) -> dict[str, tuple[int, ...]]:
    """Return the nodes 1..L, including the output."""
    return {"layer": tuple(range(1, network.num_hidden_layers + 2))}


def weight_labels(network: NetworkSpec) -> dict[str, tuple[int, ...]]:
    """Return the weights in the order of the network's `layers`, from 1.

    These are the nodes, unless nodes have several weights.
    """
    count = sum(layer.count for layer in networks.layers_of(network))
    return {"layer": tuple(range(1, count + 1))}
