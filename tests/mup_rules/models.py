"""Flax models that return their features, and their training."""

from functools import partial

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

TOKENS, LENGTH, CLASSES, INPUT_DIM = 16, 8, 4, 8


class MLP(nn.Module):
    """Three hidden layers."""

    width: int

    @nn.compact
    def __call__(self, x):
        features = []
        for _ in range(3):
            x = jnp.tanh(nn.Dense(self.width)(x))
            features.append(x)
        return nn.Dense(CLASSES)(x), features


class Transformer(nn.Module):
    """One pre-norm block of attention and MLP; `score` multiplies the attention scores."""

    width: int
    heads: int
    score: float = 1.0

    @nn.compact
    def __call__(self, tokens):
        def attend(query, key, value, **options):
            return nn.dot_product_attention(query * self.score, key, value)

        x = nn.Embed(TOKENS, self.width, embedding_init=nn.initializers.normal(1.0))(tokens)
        attention = nn.MultiHeadDotProductAttention(self.heads, attention_fn=attend)
        first = x + attention(nn.LayerNorm()(x))
        hidden = nn.relu(nn.Dense(4 * self.width)(nn.LayerNorm()(first)))
        second = first + nn.Dense(self.width)(hidden)
        return nn.Dense(CLASSES)(nn.LayerNorm()(second)), [first, second]


class Block(nn.Module):
    """What a residual branch of two layers adds, before its multiplier."""

    width: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.width)(jnp.tanh(nn.Dense(self.width)(x)))


class ResNet(nn.Module):
    """`depth` residual branches of two layers, each times `branch`, as one stack."""

    width: int
    depth: int
    branch: float = 1.0

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(self.width)(x)
        block = Block(self.width, name="blocks")
        stack = nn.scan(
            lambda block, x, _: ((z := x + self.branch * block(x)), x),
            variable_axes={"params": 0},
            split_rngs={"params": True},
            length=self.depth,
        )
        last, entering = stack(block, x, None)
        return nn.Dense(CLASSES)(last), [last, entering]


def data(*, tokens=False):
    rng = np.random.default_rng(0)
    y = jnp.asarray(rng.integers(CLASSES, size=16))
    if tokens:
        return jnp.asarray(rng.integers(TOKENS, size=(16, LENGTH))), y[:, None] * jnp.ones(
            (1, LENGTH), int
        )
    return jnp.asarray(rng.normal(size=(16, INPUT_DIM)), jnp.float32), y


def init(model, *, tokens=False, seed=0):
    return model.init(jax.random.key(seed), data(tokens=tokens)[0])["params"]


def train(model, params, rule, *, steps, tokens=False):
    """The parameters after `steps` full-batch updates."""
    x, y = data(tokens=tokens)

    def loss(params):
        logits, _ = model.apply({"params": params}, x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    def step(carry, _):
        params, state = carry
        updates, state = rule.update(jax.grad(loss)(params), state, params)
        return (optax.apply_updates(params, updates), state), None

    run = jax.jit(
        lambda params: jax.lax.scan(step, (params, rule.init(params)), None, length=steps)[0][0]
    )
    return run(params)


def slope(sizes, values):
    """The fitted power of `values` in `sizes`."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def rms(x):
    return float(jnp.sqrt(jnp.mean(jnp.square(x))))
