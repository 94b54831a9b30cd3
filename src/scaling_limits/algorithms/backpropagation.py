"""Backpropagation of the mean squared error."""

from collections.abc import Mapping

import jax
from jax import Array
from jaxtyping import Float

from scaling_limits.cells import AlgorithmSpec
from scaling_limits.networks.network import Network, Params, Scaling


def gradients(
    network: Network,
    params: Params,
    scaling: Scaling,
    x: Float[Array, "batch in"],
    y: Float[Array, "batch out"],
    options: AlgorithmSpec,
    numbers: Mapping[str, Array],
) -> tuple[Params, dict[str, Array]]:
    """Gradient of `1/(2B) sum ||y - f(x)||^2` (pcn-limits Eq. 1); `options` and `numbers` are not
    used.

    Metrics: `train_loss`, that loss.
    """

    def loss(params: Params) -> Array:
        residual = y - network.forward(params, scaling, x)
        return 0.5 * (residual**2).sum() / x.shape[0]

    value, grads = jax.value_and_grad(loss)(params)
    return grads, {"train_loss": value}
