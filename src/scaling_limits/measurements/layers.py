"""What measurements of all nodes share: their labels, and the size of a stack's entries."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from scaling_limits.cells import NetworkSpec


def labels(network: NetworkSpec) -> dict[str, tuple[int, ...]]:
    """Nodes 1..L, the output's included."""
    return {"layer": tuple(range(1, network.num_hidden_layers + 2))}


def rms(stack: Float[Array, "count batch units"]) -> Float[Array, " count"]:
    """Each entry's root mean square over batch and units."""
    return jnp.sqrt((stack**2).mean(axis=(1, 2)))
