"""What inference leads to, and the weights of the energy that it lowers."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.network import Stacks


class Inferred(NamedTuple):
    """Errors of all nodes at the inferred activities, the inputs that their weights learn from, the
    output's prediction, and the `metrics` of how inference went.
    """

    errors: Stacks
    inputs: Stacks
    output: Float[Array, "batch out"]
    metrics: dict[str, Array]


def energy_weight(problem: Problem, role: str) -> Float[Array, ""]:
    """gamma of a role's nodes."""
    return jnp.asarray(problem.scaling[role]["energy_weight"], problem.y.dtype)
