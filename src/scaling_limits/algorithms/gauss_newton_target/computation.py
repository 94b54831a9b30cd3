"""The Gauss-Newton target (pc-tp Prop. 3.3).

Each layer's error is the change of its output that explains the output error e_L to first order in the least-squares
sense,

    e_l = (delta_l delta_l^T + rho I)^{-1} delta_l e_L,

with `delta_l = du_L/du_l [units, out]` of each sample. With the power -e_B instead of -1, it interpolates between the
error of backpropagation, e_B = 0, and the target, e_B = 1. Training uses rho = 0. Each node's weights follow their
node's error, with plain SGD

    dW_l = eta mean_batch[(dp_l/dW_l)^T e_l].
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, PyTree

from scaling_limits.algorithms.layerwise import output_jacobians, weight_gradients
from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.network import Stacks, Weights


def init(problem: Problem) -> tuple[()]:
    """Return the state, which is empty."""
    return ()


def update(problem: Problem, state: PyTree) -> tuple[Weights, PyTree, dict[str, Array]]:
    """Compute each node's weight gradients from its undamped error, at the forward pass.

    The only options used are `loss` and `preconditioner_exponent` e_B, a number (1 if absent).

    Metrics: `train_loss`, the batch-mean loss.
    """
    forward = problem.activities()
    gradients = weight_gradients(problem, problem.inputs(forward), errors(problem))
    return Weights(gradients), state, {"train_loss": problem.loss(forward[-1][0])}


def errors(problem: Problem) -> Stacks:
    """Compute the undamped errors of all nodes; the output node's error is e_L = -dloss/df."""
    forward = problem.activities()
    jacobians = output_jacobians(problem, problem.inputs(forward))
    exponent = problem.numbers.get("preconditioner_exponent", 1.0)
    return least_squares(jacobians, problem.output_error(forward[-1][0]), exponent=exponent)


def least_squares(
    jacobians: Stacks,
    output_error: Float[Array, "batch out"],
    damping: float = 0.0,
    exponent: Array | float = 1.0,
) -> Stacks:
    """Solve for the error e_l of every node, `(delta_l delta_l^T + rho I)^{-e_B} delta_l e_L` (pc-tp Prop. 3.3).

    rho is `damping` times the mean eigenvalue of `delta_l^T delta_l`, so it has the order of magnitude of this matrix
    at any width. Without damping, e_l is the limit rho -> 0, the solution of minimal norm, even if the outputs cannot
    be moved independently.

    Args:
        jacobians: for every segment its samples' Jacobians `delta_l^T [count, batch, out, units]`.
        output_error: the output error e_L `[batch, out]`.
        damping: rho relative to the mean eigenvalue of `delta_l^T delta_l`.
        exponent: e_B; 1 is the target, 0 backpropagation.

    Returns:
        The errors of all nodes, for every segment `[count, batch, units]`.
    """

    def solve(jacobian: Array) -> Array:
        # singular values, because products of Jacobians square the range that float32 has to resolve
        left, values, right = jnp.linalg.svd(jacobian, full_matrices=False)
        out, units = jacobian.shape[-2:]
        rho = damping * (values**2).sum(axis=-1, keepdims=True) / out
        resolved = values > max(out, units) * np.finfo(values.dtype).eps * values[..., :1]
        safe = jnp.where(resolved, values, 1.0)
        response = jnp.where(resolved, safe * (safe**2 + rho) ** -jnp.asarray(exponent), 0.0)
        explained = jnp.einsum("lbck,bc->lbk", left, output_error)
        return jnp.einsum("lbkn,lbk->lbn", right, response * explained)

    solved: Stacks = jax.tree.map(solve, jacobians)
    return solved
