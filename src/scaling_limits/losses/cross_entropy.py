"""The cross-entropy `-sum_c y_c log softmax(f)_c` of every token, for targets that sum to one.

It is the negative log-likelihood with the probabilities sigma = softmax(f).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.errors import ConfigurationError

if TYPE_CHECKING:
    from jax import Array

    from scaling_limits.cells import CellSettings


def refuse(settings: CellSettings) -> None:
    """Reject targets that are not classes.

    Raises:
        ConfigurationError: naming the key.
    """
    if settings.targets != "one_hot":
        raise ConfigurationError("loss", "'cross_entropy' requires targets: one_hot")


def summed(outputs: Array, targets: Array, tokens: int) -> Array:
    """Compute the sum over samples and their tokens."""
    import jax

    from scaling_limits.losses.outputs import each_token

    y, f = each_token(targets, tokens), each_token(outputs, tokens)
    total: Array = -(y * jax.nn.log_softmax(f)).sum()
    return total


def error(outputs: Array, targets: Array, tokens: int) -> Array:
    """Compute `y - softmax(f)`."""
    import jax

    from scaling_limits.losses.outputs import each_token

    return targets - jax.nn.softmax(each_token(outputs, tokens)).reshape(outputs.shape)


def directions(kind: str, outputs: Array, key: Array) -> Array:
    """Compute a square root of `diag(sigma) - sigma sigma^T` (second-order S.65).

    If sampled, compute the derivative for a class drawn from the model.
    """
    import jax
    import jax.numpy as jnp

    identity = jnp.eye(outputs.shape[1], dtype=outputs.dtype)
    probabilities = jax.nn.softmax(outputs)
    if kind == "sampled":
        return (identity[jax.random.categorical(key, outputs)] - probabilities)[None]
    # sum_c sigma_c (e_c - sigma)(e_c - sigma)^T
    centred = identity[:, None] - probabilities[None]
    return jnp.sqrt(probabilities.T)[..., None] * centred
