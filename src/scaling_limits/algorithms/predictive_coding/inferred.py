"""The result of inference, and the energy that inference lowers."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.network import Stacks


class Inferred(NamedTuple):
    """The result of inference.

    `errors` are those of all nodes at the inferred activities, `inputs` the inputs of all nodes, with which their
    weights learn, `output` the prediction of the output node, and `metrics` describe the inference.
    """

    errors: Stacks
    inputs: Stacks
    output: Float[Array, "batch out"]
    metrics: dict[str, Array]


def energy_weight(problem: Problem, role: str) -> Float[Array, ""]:
    """Return gamma of a role's nodes."""
    return jnp.asarray(problem.scaling[role]["energy_weight"], problem.y.dtype)


def hidden_weights(problem: Problem) -> list[Float[Array, ""]]:
    """Return gamma of the hidden nodes, one for each stack."""
    return [energy_weight(problem, segment.role) for segment in problem.network.segments[:-1]]


def energies(
    problem: Problem, errors: Stacks, output: Float[Array, "batch out"]
) -> Float[Array, " batch"]:
    """Compute F of each sample from the errors of its hidden nodes and the output's prediction."""
    losses = jax.vmap(problem.sample_loss)(output, problem.y)
    weighted = zip(hidden_weights(problem), errors, strict=True)
    squares = [0.5 * weight * (e**2).sum(axis=(0, 2)) for weight, e in weighted]
    at_output = energy_weight(problem, problem.network.segments[-1].role)
    total: Float[Array, " batch"] = at_output * losses + sum(squares)
    return total
