"""The equilibrium of any network: the minimum of F (pcn-limits Eq. 2; 125 and 126 for other networks) over the hidden
activities that iterations of Newton's method lead to, from the forward pass.

Each sample's end where its residual, the largest entry of |dF/dz|, is at most the tolerance.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from scaling_limits.algorithms.predictive_coding import kinks, smooth
from scaling_limits.algorithms.predictive_coding.inferred import Inferred
from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.network import Stacks


class Equilibrium(NamedTuple):
    """The result of the iterations."""

    errors: Stacks
    """Prediction errors of the hidden nodes."""
    activities: Stacks
    """Activities of all nodes; the output's is its prediction."""
    residual: Float[Array, " batch"]
    iterations: Int[Array, ""]


def solve(problem: Problem, errors: Stacks, tolerance: Float[Array, ""]) -> Equilibrium:
    """The equilibrium that iterations from these errors of the hidden nodes lead to; networks are taken as smooth where
    the options do not say.
    """
    if problem.options.smooth is not False:
        ended = smooth.solve(problem, errors, tolerance)
        return Equilibrium(ended.errors, ended.activities, ended.residual, ended.iterations)
    rested = kinks.solve(problem, errors, tolerance)
    own, output = kinks.errors_at(problem, rested.hidden)
    activities = (*rested.hidden, output[None])
    return Equilibrium(own, activities, rested.residual, rested.iterations)


def infer(problem: Problem, forward: Stacks) -> Inferred:
    """That from the `forward` pass, to the tolerance `problem.numbers["inference_tolerance"]`."""
    tolerance = jnp.asarray(problem.numbers["inference_tolerance"], problem.y.dtype)
    start = tuple(jnp.zeros_like(stack) for stack in forward[:-1])
    result = solve(problem, start, tolerance)
    output = result.activities[-1][0]
    return Inferred(
        errors=(*result.errors, problem.output_error(output)[None]),
        inputs=problem.inputs(result.activities),
        output=output,
        metrics={
            "inference_steps": jnp.asarray(result.iterations, output.dtype),
            "inference_residual": result.residual.max(),
            # a residual that is not a number is not at most the tolerance
            "inference_unreached": (~(result.residual <= tolerance)).mean(dtype=output.dtype),
        },
    )
