"""Backpropagation of the loss."""

from collections.abc import Mapping

import jax
from jax import Array
from jaxtyping import Float

from scaling_limits.algorithms.layerwise import backward_pass
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
    """Gradient of the batch-mean loss (pcn-limits Eq. 1); of `options` only `loss` is used.

    Metrics: `train_loss`, that loss.
    """

    def loss(params: Params) -> Array:
        return mean_loss(options.loss, network.forward(params, scaling, x), y)

    value, grads = jax.value_and_grad(loss)(params)
    return grads, {"train_loss": value}


def errors(
    network: Network,
    params: Params,
    scaling: Scaling,
    x: Float[Array, "batch in"],
    y: Float[Array, "batch out"],
    options: AlgorithmSpec,
    numbers: Mapping[str, Array],
) -> Stacks:
    """`-dloss/du_l` of each sample, with u_l the output of node l."""
    forward = network.activities(params, scaling, x)
    output = output_error(options.loss, forward[-1][0], y)
    return backward_pass(network, params, scaling, shift_down(x, forward), output)
