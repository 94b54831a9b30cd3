"""The equilibrium of any network, by Newton iterations.

The equilibrium is the minimum of F (pcn-limits Eq. 2; Eq. 125 and 126 for other networks) over the hidden activities to
which Newton iterations converge from the forward pass. A sample's iterations end when its residual, the largest entry
of |dF/dz|, is at most the tolerance.
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
    """Errors of the hidden nodes."""
    activities: Stacks
    """Activities of all nodes; for the output, its prediction."""
    residual: Float[Array, " batch"]
    iterations: Int[Array, ""]


def solve(problem: Problem, errors: Stacks, tolerance: Float[Array, ""]) -> Equilibrium:
    """Compute the equilibrium by iterations that start from the given errors of the hidden nodes.

    A network is treated as smooth unless the options state that it is not.
    """
    if problem.options.smooth is not False:
        ended = smooth.solve(problem, errors, tolerance)
        return Equilibrium(ended.errors, ended.activities, ended.residual, ended.iterations)
    rested = kinks.solve(problem, errors, tolerance)
    own, output = kinks.errors_at(problem, rested.hidden)
    activities = (*rested.hidden, output[None])
    return Equilibrium(own, activities, rested.residual, rested.iterations)


def infer(problem: Problem, forward: Stacks) -> Inferred:
    """Compute the equilibrium from the `forward` pass, to the tolerance `problem.numbers["inference_tolerance"]`."""
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
            # a residual of NaN counts as not reached
            "inference_unreached": (~(result.residual <= tolerance)).mean(dtype=output.dtype),
        },
    )
