r"""The equilibrium of linear networks in closed form.

For linear nodes p_l(z) = A_l z, mean squared error, B_l = A_L ... A_{l+1} and S = I +
sum_{l<L} (gamma_L/gamma_l) B_l B_l^T, e_L = S^{-1} r and e_l = (gamma_L/gamma_l) B_l^T e_L (pc-tp
Theorem 4.2, with the sign of S.92; mupc Eq. 30-31, pcn-limits Eq. 5, 24, 104).
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from scaling_limits.algorithms.layerwise import output_jacobians
from scaling_limits.algorithms.predictive_coding.inferred import Inferred, energy_weight
from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.network import Scaling, Segment, Stacks


def infer(problem: Problem, forward: Stacks) -> Inferred:
    """The equilibrium above the `forward` pass; of linear networks and the mean squared error."""
    explained, rescaling = _linear_response(problem, problem.inputs(forward))
    output_error = jnp.linalg.solve(rescaling, (problem.y - forward[-1][0]).T).T
    errors: Stacks = tuple(jnp.einsum("bc,lcn->lbn", output_error, e) for e in explained)
    z, activities = problem.x, []
    nodes = zip(problem.network.segments, problem.params, errors, strict=True)
    for segment, stacked, error in nodes:
        z, stack = _rollout(segment, stacked, problem.scaling, z, error)
        activities.append(stack)
    return Inferred(errors, problem.inputs(tuple(activities)), problem.y - output_error)


def least_energy(problem: Problem) -> Float[Array, ""]:
    """F(z*), the batch mean of gamma_L/2 r S^{-1} r (mupc Eq. 30).

    From the triangle R of S = R^T R, which the derivatives of the output give without S itself: in deep standard
    networks S is so large that beside it the identity in it would be lost.
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


def _rollout(
    segment: Segment, stacked: Any, scaling: Scaling, z: Array, errors: Array
) -> tuple[Array, Array]:
    """The last and all of z_l = p_l(z_{l-1}) + e_l over a run of equal nodes."""

    def step(z: Array, node: tuple[Any, Array]) -> tuple[Array, Array]:
        params, error = node
        z = segment.apply(params, scaling, z) + error
        return z, z

    if segment.count == 1:
        z, _ = step(z, jax.tree.map(lambda leaf: leaf[0], (stacked, errors)))
        return z, z[None]
    return jax.lax.scan(step, z, (stacked, errors))
