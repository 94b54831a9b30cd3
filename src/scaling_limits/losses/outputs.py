"""Losses by name, and their output errors.

A sample may be a sequence of `tokens`, whose outputs are concatenated. Its loss and its output error are sums over the
tokens. The mean over a batch is a mean over samples and tokens (pcn-limits Eq. 126), as are weight gradients.
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
        error: Array = loss.error(outputs, targets, tokens)
        return error
    gradient: Array = jax.grad(loss.summed)(outputs, targets, tokens)
    return -gradient


def accuracy(
    outputs: Float[Array, "batch out"], targets: Float[Array, "batch out"], tokens: int = 1
) -> Float[Array, ""]:
    """Compute the fraction of samples, or of all their tokens, that are classified correctly.

    A classification is correct if the largest output belongs to the class of the one-hot target, or for a single
    output, if it has the sign of the target.
    """
    y, f = each_token(targets, tokens), each_token(outputs, tokens)
    if f.shape[-1] == 1:
        return (jnp.sign(f) == jnp.sign(y)).mean()
    return (f.argmax(axis=-1) == y.argmax(axis=-1)).mean()


def each_token(
    outputs: Float[Array, "*batch out"], tokens: int
) -> Float[Array, "*batch tokens classes"]:
    """Split the outputs of a sample by token."""
    return outputs.reshape(*outputs.shape[:-1], tokens, -1)
