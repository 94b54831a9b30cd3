"""Transformers without biases, for sequences of tokens (pcn-limits Eq. 126 to 129).

Activities are `[batch, tokens * N]`, with the units of a token adjacent to each other.
"""

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from scaling_limits.networks.network import Network, Segment
from scaling_limits.networks.nodes import ACTIVATIONS, Linear, RoleNumbers, layer_normalised
from scaling_limits.networks.transformer import EXPANSION, Spec, sizes


class Embeddings(nn.Module):
    """`W_token x + W_position` for one-hot tokens `[batch, tokens * vocabulary]`."""

    features: int
    tokens: int

    @nn.compact
    def __call__(
        self, x: Float[Array, "batch in"], numbers: dict[str, RoleNumbers]
    ) -> Float[Array, "batch out"]:
        """Apply the node; `numbers` is the scaling of its two weights."""
        x = x.reshape(len(x), self.tokens, -1)
        token = Linear(self.features, name="token")(x, numbers["token"]["multiplier"])
        place = jnp.eye(self.tokens, dtype=x.dtype)[None].repeat(len(x), axis=0)
        position = Linear(self.features, name="position")(place, numbers["position"]["multiplier"])
        return (token + position).reshape(len(x), -1)


class Block(nn.Module):
    """`h + b mlp(h)` with `h = z + b attention(z)`.

    Attention is causal, and its scores are divided by d: products of independent vectors with units of order one are of
    order sqrt(d), but of order d once they are learned.
    """

    width: int
    num_heads: int
    tokens: int
    activation: str
    layer_norm: bool

    @nn.compact
    def __call__(
        self, x: Float[Array, "batch in"], numbers: dict[str, RoleNumbers]
    ) -> Float[Array, "batch in"]:
        """Apply the node; `numbers` is the scaling of each of its weights."""
        heads = self.num_heads, self.width // self.num_heads

        def linear(z: Array, name: str, features: int) -> Array:
            y: Array = Linear(features, name=name)(z, numbers[name]["multiplier"])
            return y

        def branch(name: str) -> Array:
            return jnp.asarray(numbers[name]["branch"], x.dtype)

        z = x.reshape(len(x), self.tokens, self.width)
        entering = layer_normalised(z) if self.layer_norm else z
        query, key, value = (
            linear(entering, name, self.width).reshape(*z.shape[:2], *heads)
            for name in ("query", "key", "value")
        )
        scores = jnp.einsum("bihd,bjhd->bhij", query, key) / heads[1]
        causal = jnp.tril(jnp.ones((self.tokens, self.tokens), bool))
        attention = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf))
        mixed = jnp.einsum("bhij,bjhd->bihd", attention, value).reshape(z.shape)
        z = z + branch("attention") * linear(mixed, "attention", self.width)
        entering = layer_normalised(z) if self.layer_norm else z
        wide = linear(entering, "expansion", EXPANSION * self.width)
        y = linear(ACTIVATIONS[self.activation](wide), "contraction", self.width)
        return (z + branch("contraction") * y).reshape(x.shape)


class Head(nn.Module):
    """`a W z` for every token."""

    features: int
    tokens: int
    layer_norm: bool

    @nn.compact
    def __call__(
        self, x: Float[Array, "batch in"], numbers: RoleNumbers
    ) -> Float[Array, "batch out"]:
        """Apply the node; `numbers` is the scaling of its role."""
        z = x.reshape(len(x), self.tokens, -1)
        z = layer_normalised(z) if self.layer_norm else z
        y = Linear(self.features, name="linear")(z, numbers["multiplier"])
        return y.reshape(len(x), -1)


def build(spec: Spec) -> Network:
    """Build the embeddings, the blocks and the output."""
    tokens, vocabulary = sizes(spec)
    count = spec.num_hidden_layers - 1
    block = Block(spec.width, spec.num_heads, tokens, spec.activation, spec.layer_norm)
    names = ("query", "key", "value", "attention", "expansion", "contraction")
    embedded = (("token", "input"), ("position", "input"))
    segments = (
        Segment(Embeddings(spec.width, tokens), "input", 1, first=1, weights=embedded),
        Segment(block, "attention", count, 2, tuple((n, n) for n in names), residual=True),
        Segment(Head(vocabulary, tokens, spec.layer_norm), "output", 1, first=count + 2),
    )
    return Network(segments, spec.input_dim, linear=False)
