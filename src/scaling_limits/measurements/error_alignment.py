"""How the errors of all nodes point, beside those of backpropagation and the Gauss-Newton target.

All are errors e_l of the same batch at the same weights (pc-tp Fig. 2, S.1, S.2), and a cosine is
that of two layers' errors with all samples and units in one vector. It is 0 where either vector is
zero: a layer that no error has reached points nowhere.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from scaling_limits.algorithms import backpropagation, gauss_newton_target
from scaling_limits.algorithms.layerwise import output_jacobians
from scaling_limits.measurements.context import Context
from scaling_limits.measurements.layers import labels
from scaling_limits.networks.network import Stacks

__all__ = ["AXES", "cosines", "labels", "measure"]

AXES: dict[str, tuple[str, ...]] = {
    "error_cosine_bp": ("layer",),
    "error_cosine_gn": ("layer",),
    "error_cosine_gn_damped": ("layer",),
    "error_cosine_bp_gn": ("layer",),
}


def measure(context: Context) -> dict[str, Float[Array, " layer"]]:
    """Cosines of the algorithm's own errors with backpropagation's (`bp`), and with the Gauss-Newton
    target's, undamped (`gn`) and with rho the mean eigenvalue of delta_l^T delta_l (`gn_damped`);
    and of backpropagation's with the undamped target's (`bp_gn`).
    """
    problem = context.problem
    own = context.errors(problem)
    forward = problem.activities()
    jacobians = output_jacobians(problem, problem.inputs(forward))
    at_output = problem.output_error(forward[-1][0])
    bp = backpropagation.errors(problem)
    gn = gauss_newton_target.least_squares(jacobians, at_output)
    damped = gauss_newton_target.least_squares(jacobians, at_output, damping=1.0)
    return {
        "error_cosine_bp": cosines(own, bp),
        "error_cosine_gn": cosines(own, gn),
        "error_cosine_gn_damped": cosines(own, damped),
        "error_cosine_bp_gn": cosines(bp, gn),
    }


def cosines(left: Stacks, right: Stacks) -> Float[Array, " layer"]:
    """The cosine of each node's two errors, 0 where either is zero."""
    return jnp.concatenate([_cosine(a, b) for a, b in zip(left, right, strict=True)])


def _cosine(left: Array, right: Array) -> Array:
    a, b = _scaled(left), _scaled(right)
    dot = jnp.einsum("lbn,lbn->l", a, b)
    norms = jnp.sqrt((a**2).sum(axis=(1, 2)) * (b**2).sum(axis=(1, 2)))
    # a norm that is not a number, of training that diverged, gives such a cosine
    return jnp.where(norms == 0, 0.0, dot / jnp.where(norms == 0, 1.0, norms))


def _scaled(errors: Array) -> Array:
    """Largest entry 1: the squares of faint errors are below the smallest float32."""
    largest = jnp.abs(errors).max(axis=(1, 2), keepdims=True)
    return errors / jnp.where(largest == 0, 1.0, largest)
