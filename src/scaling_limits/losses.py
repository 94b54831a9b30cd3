"""Losses of outputs against targets, and the output errors that they send back.

A sample may be a sequence of `tokens`, which have an output each, one beside the other. Its loss and its output error
are sums over them, and the mean over a batch is one over samples and tokens (pcn-limits Eq. 126), as weight gradients
are.
"""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from scaling_limits.errors import ConfigurationError, unknown

NAMES = ("mean_squared_error", "cross_entropy")


def mean_loss(
    name: str,
    outputs: Float[Array, "batch out"],
    targets: Float[Array, "batch out"],
    tokens: int = 1,
) -> Float[Array, ""]:
    """The mean over a batch of the loss: `1/2 ||y - f||^2` (pcn-limits Eq. 1), or `-sum_c y_c log softmax(f)_c`.

    Raises:
        ConfigurationError: for an unknown name.
    """
    return summed_loss(name, outputs, targets, tokens) / (outputs.shape[0] * tokens)


def summed_loss(
    name: str,
    outputs: Float[Array, "*batch out"],
    targets: Float[Array, "*batch out"],
    tokens: int = 1,
) -> Float[Array, ""]:
    """The sum of the loss, of one sample or several; raises as `mean_loss` does."""
    if name == "mean_squared_error":
        return 0.5 * ((targets - outputs) ** 2).sum()
    if name == "cross_entropy":
        y, f = each_token(targets, tokens), each_token(outputs, tokens)
        return -(y * jax.nn.log_softmax(f)).sum()
    raise ConfigurationError(unknown("loss", name, NAMES))


def output_error(
    name: str,
    outputs: Float[Array, "batch out"],
    targets: Float[Array, "batch out"],
    tokens: int = 1,
) -> Float[Array, "batch out"]:
    """Each sample's e = -dloss/df: `y - f`, or `y - softmax(f)` (targets that sum to one, of every token).

    Raises:
        ConfigurationError: for an unknown name.
    """
    if name == "mean_squared_error":
        return targets - outputs
    if name == "cross_entropy":
        return targets - jax.nn.softmax(each_token(outputs, tokens)).reshape(outputs.shape)
    raise ConfigurationError(unknown("loss", name, NAMES))


def accuracy(
    outputs: Float[Array, "batch out"], targets: Float[Array, "batch out"], tokens: int = 1
) -> Float[Array, ""]:
    """The share of samples, or of all their tokens, whose largest output is that of their one-hot target; with one
    output, whose signs agree.
    """
    y, f = each_token(targets, tokens), each_token(outputs, tokens)
    if f.shape[-1] == 1:
        return (jnp.sign(f) == jnp.sign(y)).mean()
    return (f.argmax(axis=-1) == y.argmax(axis=-1)).mean()


def each_token(
    outputs: Float[Array, "*batch out"], tokens: int
) -> Float[Array, "*batch tokens classes"]:
    """What belongs to every token of a sample."""
    return outputs.reshape(*outputs.shape[:-1], tokens, -1)
