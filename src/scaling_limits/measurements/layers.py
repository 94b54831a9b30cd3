"""The labels of what measurements take of all nodes."""

from scaling_limits.cells import NetworkSpec


def labels(network: NetworkSpec) -> dict[str, tuple[int, ...]]:
    """Nodes 1..L, the output's included."""
    return {"layer": tuple(range(1, network.num_hidden_layers + 2))}
