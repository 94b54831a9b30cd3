"""Losses of outputs against targets, and the output errors that they send back."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from scaling_limits.errors import ConfigurationError, unknown

NAMES = ("mean_squared_error", "cross_entropy")


def mean_loss(
    name: str, outputs: Float[Array, "batch out"], targets: Float[Array, "batch out"]
) -> Float[Array, ""]:
    """The batch mean of the loss: `1/2 ||y - f||^2` (pcn-limits Eq. 1), or `-sum_c y_c log softmax(f)_c`.

    Raises:
        ConfigurationError: for an unknown name.
    """
    if name == "mean_squared_error":
        total = 0.5 * ((targets - outputs) ** 2).sum()
    elif name == "cross_entropy":
        total = -(targets * jax.nn.log_softmax(outputs)).sum()
    else:
        raise ConfigurationError(unknown("loss", name, NAMES))
    return total / outputs.shape[0]


def output_error(
    name: str, outputs: Float[Array, "batch out"], targets: Float[Array, "batch out"]
) -> Float[Array, "batch out"]:
    """Each sample's e = -dloss/df: `y - f`, or `y - softmax(f)` (targets that sum to one).

    Raises:
        ConfigurationError: for an unknown name.
    """
    if name == "mean_squared_error":
        return targets - outputs
    if name == "cross_entropy":
        return targets - jax.nn.softmax(outputs)
    raise ConfigurationError(unknown("loss", name, NAMES))


def accuracy(
    outputs: Float[Array, "batch out"], targets: Float[Array, "batch out"]
) -> Float[Array, ""]:
    """The share of samples whose largest output is that of their one-hot target; with one output, whose signs agree."""
    if outputs.shape[-1] == 1:
        return (jnp.sign(outputs) == jnp.sign(targets)).mean()
    return (outputs.argmax(axis=-1) == targets.argmax(axis=-1)).mean()
