r"""The Gauss-Newton target (pc-tp Prop. 3.3).

Each layer's error is the change of its output that explains the output error e_L to first order
and by least squares, `e_l = (delta_l delta_l^T + rho I)^{-1} delta_l e_L`, with `delta_l = du_L/du_l
[units, out]` of each sample.
"""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from scaling_limits.algorithms.layerwise import output_jacobians, weight_gradients
from scaling_limits.cells import AlgorithmSpec
from scaling_limits.losses import mean_loss, output_error
from scaling_limits.networks.network import Network, Params, Scaling, Stacks, shift_down


def gradients(
    network: Network,
    params: Params,
    scaling: Scaling,
    x: Float[Array, "batch in"],
    y: Float[Array, "batch out"],
    options: AlgorithmSpec,
    numbers: Mapping[str, Array],
) -> tuple[Params, dict[str, Array]]:
    """Each node's own rule with the undamped errors, at the forward pass; of `options` only `loss`
    is used.

    Metrics: `train_loss`, the batch-mean loss.
    """
    forward = network.activities(params, scaling, x)
    own = errors(network, params, scaling, x, y, options, numbers)
    grads = weight_gradients(network, params, scaling, shift_down(x, forward), own)
    return grads, {"train_loss": mean_loss(options.loss, forward[-1][0], y)}


def errors(
    network: Network,
    params: Params,
    scaling: Scaling,
    x: Float[Array, "batch in"],
    y: Float[Array, "batch out"],
    options: AlgorithmSpec,
    numbers: Mapping[str, Array],
) -> Stacks:
    """The undamped errors of all nodes; the output's is its loss's own, e_L."""
    forward = network.activities(params, scaling, x)
    jacobians = output_jacobians(network, params, scaling, shift_down(x, forward))
    return least_squares(jacobians, output_error(options.loss, forward[-1][0], y))


def least_squares(
    jacobians: Stacks, output_error: Float[Array, "batch out"], damping: float = 0.0
) -> Stacks:
    """e_l of every node from its samples' Jacobians `delta_l^T [count, batch, out, units]`.

    rho is `damping` times the mean eigenvalue of `delta_l^T delta_l`, so it has the order of what it
    is added to at any width. Undamped, e_l is the limit rho -> 0, of least length, also where the
    outputs cannot be moved independently.
    """

    def solve(jacobian: Array) -> Array:
        # by singular values, as products of Jacobians square what float32 has to resolve
        left, values, right = jnp.linalg.svd(jacobian, full_matrices=False)
        out, units = jacobian.shape[-2:]
        rho = damping * (values**2).sum(axis=-1, keepdims=True) / out
        resolved = values > max(out, units) * np.finfo(values.dtype).eps * values[..., :1]
        safe = jnp.where(resolved, values, 1.0)
        response = jnp.where(resolved, safe / (safe**2 + rho), 0.0)
        explained = jnp.einsum("lbck,bc->lbk", left, output_error)
        return jnp.einsum("lbkn,lbk->lbn", right, response * explained)

    solved: Stacks = jax.tree.map(solve, jacobians)
    return solved
