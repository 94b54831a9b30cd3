"""What inference leads to, and the energy that it lowers."""

from typing import NamedTuple

import jax
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


def hidden_weights(problem: Problem) -> list[Float[Array, ""]]:
    """gamma of the hidden nodes, stack by stack."""
    return [energy_weight(problem, segment.role) for segment in problem.network.segments[:-1]]


def energies(
    problem: Problem, errors: Stacks, output: Float[Array, "batch out"]
) -> Float[Array, " batch"]:
    """F of each sample, from the errors of its hidden nodes and the output's prediction."""
    losses = jax.vmap(problem.sample_loss)(output, problem.y)
    weighted = zip(hidden_weights(problem), errors, strict=True)
    squares = [0.5 * weight * (e**2).sum(axis=(0, 2)) for weight, e in weighted]
    at_output = energy_weight(problem, problem.network.segments[-1].role)
    total: Float[Array, " batch"] = at_output * losses + sum(squares)
    return total
