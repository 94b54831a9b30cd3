"""Derivatives of the log-likelihood by a network's output, whose second moment is the Fisher information."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.losses import each_token

KINDS = ("exact", "sampled")


def directions(
    kind: str, loss: str, outputs: Float[Array, "batch out"], key: Array, tokens: int = 1
) -> Float[Array, "directions batch out"]:
    """Vectors v of each sample, the sum of whose `v v^T` is the Fisher information of its output f.

    `mean_squared_error` is the likelihood N(f, I), whose information is the identity (second-order
    S.62), `cross_entropy` the one with probabilities sigma = softmax(f), with the information
    `diag(sigma) - sigma sigma^T` (second-order S.65).
    `exact`: one v for each output. `sampled`: one v, of a target drawn from the model (second-order
    S.73), of which this holds in expectation; `key` is for that draw. Of a sequence every token has a likelihood of
    its own, and they are divided by the root of their number, so that the information is a mean over tokens.

    Raises:
        ConfigurationError: for an unknown kind or loss.
    """
    if kind not in KINDS:
        raise ConfigurationError(unknown("Fisher information", kind, KINDS))
    if tokens > 1:
        return _of_sequences(kind, loss, outputs, key, tokens)
    batch, out = outputs.shape
    identity = jnp.eye(out, dtype=outputs.dtype)
    if loss == "mean_squared_error":
        if kind == "sampled":
            return jax.random.normal(key, (1, batch, out), outputs.dtype)
        return jnp.broadcast_to(identity[:, None], (out, batch, out))
    if loss == "cross_entropy":
        probabilities = jax.nn.softmax(outputs)
        if kind == "sampled":
            return (identity[jax.random.categorical(key, outputs)] - probabilities)[None]
        # sum_c sigma_c (e_c - sigma)(e_c - sigma)^T
        centred = identity[:, None] - probabilities[None]
        return jnp.sqrt(probabilities.T)[..., None] * centred
    raise ConfigurationError(unknown("loss", loss, ["mean_squared_error", "cross_entropy"]))


def _of_sequences(
    kind: str, loss: str, outputs: Float[Array, "batch out"], key: Array, tokens: int
) -> Float[Array, "directions batch out"]:
    each = each_token(outputs, tokens)
    found: Array = directions(kind, loss, each.reshape(-1, each.shape[-1]), key) / tokens**0.5
    if kind == "sampled":
        return found.reshape(1, *outputs.shape)
    # one for each output of each token, zero at the others
    alone = jnp.eye(tokens, dtype=found.dtype)[None, :, None, :, None]
    return (found.reshape(-1, 1, *each.shape) * alone).reshape(-1, *outputs.shape)
