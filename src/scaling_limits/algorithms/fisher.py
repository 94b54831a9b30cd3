"""Derivatives of the log-likelihood with respect to the outputs; their second moment is the Fisher information."""

from typing import TYPE_CHECKING, cast

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.losses import registry
from scaling_limits.losses.outputs import each_token

if TYPE_CHECKING:
    from scaling_limits.losses.contract import Likelihood

KINDS = ("exact", "sampled")


def directions(
    kind: str, loss: str, outputs: Float[Array, "batch out"], key: Array, tokens: int = 1
) -> Float[Array, "directions batch out"]:
    """Return vectors v of each sample whose summed `v v^T` is the Fisher information of its output f.

    `exact`: one v for each output. `sampled`: one v, from a target drawn from the model (second-order S.73); the
    identity then holds in expectation. Every token of a sequence has its own likelihood; its vectors are divided by the
    square root of the number of tokens, so that the information is a mean over tokens.

    Args:
        kind: `exact` or `sampled`.
        loss: name of a loss that is a negative log-likelihood.
        outputs: the outputs f of the network `[batch, out]`; for sequences `out` is `tokens` times the number of
            classes.
        key: random key of the draw; unused if `exact`.
        tokens: number of tokens of a sample.

    Returns:
        Derivatives of the log-likelihood with respect to f, `[directions, batch, out]`, with `out` directions if
        `exact` and one if `sampled`.

    Raises:
        ConfigurationError: for an unknown kind or loss.
    """
    if kind not in KINDS:
        raise ConfigurationError("fisher", unknown("Fisher information", kind, KINDS))
    if tokens > 1:
        return _of_sequences(kind, loss, outputs, key, tokens)
    return cast("Likelihood", registry.get(loss)).directions(kind, outputs, key)


def _of_sequences(
    kind: str, loss: str, outputs: Float[Array, "batch out"], key: Array, tokens: int
) -> Float[Array, "directions batch out"]:
    each = each_token(outputs, tokens)
    result: Array = directions(kind, loss, each.reshape(-1, each.shape[-1]), key) / tokens**0.5
    if kind == "sampled":
        return result.reshape(1, *outputs.shape)
    # each direction belongs to one output of one token, and is zero at all other tokens
    alone = jnp.eye(tokens, dtype=result.dtype)[None, :, None, :, None]
    return (result.reshape(-1, 1, *each.shape) * alone).reshape(-1, *outputs.shape)
