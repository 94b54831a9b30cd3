"""A loss of outputs against targets by its name, and the output errors that it sends back.

A sample may be a sequence of `tokens`, which have an output each, one after the other. Its loss and its output error
are sums over them, and the mean over a batch is one over samples and tokens (pcn-limits Eq. 126), as weight gradients
are.
"""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from scaling_limits.losses import registry


def mean_loss(
    name: str,
    outputs: Float[Array, "batch out"],
    targets: Float[Array, "batch out"],
    tokens: int = 1,
) -> Float[Array, ""]:
    """Return the mean of a loss over the samples and tokens of a batch.

    Args:
        name: name of the loss.
        outputs: outputs of the network `[batch, out]`; for sequences `out` is `tokens` times the number of classes.
        targets: targets, of the same shape.
        tokens: number of tokens of a sample.

    Returns:
        The mean loss, a scalar.

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
    """Return the sum of a loss over samples and their tokens.

    Args:
        name: name of the loss.
        outputs: outputs of one sample `[out]` or of several `[*batch, out]`; for sequences `out` is `tokens` times the
            number of classes.
        targets: targets, of the same shape.
        tokens: number of tokens of a sample.

    Returns:
        The summed loss, a scalar.

    Raises:
        ConfigurationError: for an unknown name.
    """
    total: Array = registry.get(name).summed(outputs, targets, tokens)
    return total


def output_error(
    name: str,
    outputs: Float[Array, "batch out"],
    targets: Float[Array, "batch out"],
    tokens: int = 1,
) -> Float[Array, "batch out"]:
    """Return each sample's output error e = -dloss/df.

    Args:
        name: name of the loss.
        outputs: outputs f of the network `[batch, out]`; for sequences `out` is `tokens` times the number of classes.
        targets: targets, of the same shape.
        tokens: number of tokens of a sample.

    Returns:
        The errors `[batch, out]`, without the factor 1/(batch tokens) of the mean loss.

    Raises:
        ConfigurationError: for an unknown name.
    """
    loss = registry.get(name)
    if hasattr(loss, "error"):
        known: Array = loss.error(outputs, targets, tokens)
        return known
    slope: Array = jax.grad(loss.summed)(outputs, targets, tokens)
    return -slope


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
