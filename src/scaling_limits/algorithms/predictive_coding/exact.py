r"""The equilibrium of linear networks in closed form.

For linear nodes p_l(z) = A_l z, mean squared error, B_l = A_L ... A_{l+1} and S = I +
sum_{l<L} (gamma_L/gamma_l) B_l B_l^T, e_L = S^{-1} r and e_l = (gamma_L/gamma_l) B_l^T e_L (pc-tp
Theorem 4.2, with the sign of S.92; mupc Eq. 30-31, pcn-limits Eq. 5, 24, 104).
"""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from scaling_limits.algorithms.layerwise import output_jacobians, rollout
from scaling_limits.algorithms.predictive_coding.inferred import Inferred, energy_weight
from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.network import Stacks


def infer(problem: Problem, forward: Stacks) -> Inferred:
    """The equilibrium above the `forward` pass; of linear networks and the mean squared error."""
    explained, rescaling = _linear_response(problem, problem.inputs(forward))
    output_error = jnp.linalg.solve(rescaling, (problem.y - forward[-1][0]).T).T
    errors: Stacks = tuple(jnp.einsum("bc,lcn->lbn", output_error, e) for e in explained)
    inputs = problem.inputs(rollout(problem, errors))
    return Inferred(errors, inputs, problem.y - output_error, metrics={})


def least_energy(problem: Problem) -> Float[Array, ""]:
    """F(z*), the batch mean of gamma_L/2 r S^{-1} r (mupc Eq. 30).

    From the triangle R of S = R^T R, which the derivatives of the output give without S itself: in deep standard
    networks S is so large that the identity in it would be lost to rounding.
    """
    forward = problem.activities()
    explained, _ = _linear_response(problem, problem.inputs(forward))
    weights = [energy_weight(problem, segment.role) for segment in problem.network.segments]
    rows = [
        jnp.swapaxes(stack * jnp.sqrt(weight / weights[-1]), 1, 2).reshape(-1, stack.shape[1])
        for stack, weight in zip(explained, weights, strict=True)
    ]
    triangle = jnp.linalg.qr(jnp.concatenate(rows), mode="r")
    errors = problem.y - forward[-1][0]
    whitened = jax.scipy.linalg.solve_triangular(triangle, errors.T, trans="T")
    return 0.5 * weights[-1] * (whitened**2).sum() / len(errors)


def rescaling_matrix(problem: Problem) -> Float[Array, "out out"]:
    """S of a linear network: mean squared error r.r becomes gamma_L r S^{-1} r at equilibrium
    (pcn-limits Eq. 6, mupc 31, pc-tp Theorem 4.2).
    """
    return _linear_response(problem, problem.inputs(problem.activities()))[1]


def _linear_response(problem: Problem, inputs: Stacks) -> tuple[Stacks, Array]:
    """(gamma_L/gamma_l) B_l `[count, out, units]` of every node, and S."""
    # the Jacobians of a linear network are those of any one sample
    jacobians = output_jacobians(problem, tuple(stack[:, :1] for stack in inputs))
    weights = [energy_weight(problem, segment.role) for segment in problem.network.segments]
    explained, rescaling = [], []
    for jacobian, weight in zip(jacobians, weights, strict=True):
        explained.append(weights[-1] / weight * jacobian[:, 0])
        rescaling.append(jnp.einsum("lcn,ldn->cd", explained[-1], jacobian[:, 0]))
    return tuple(explained), jnp.stack(rescaling).sum(axis=0)
