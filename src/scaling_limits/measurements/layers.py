"""Labels of the metrics that have one number for each node."""

from ..cells import NetworkSpec


def labels(network: NetworkSpec) -> dict[str, tuple[int, ...]]:
    """Nodes 1..L, the output's included."""
    return {"layer": tuple(range(1, network.num_hidden_layers + 2))}
