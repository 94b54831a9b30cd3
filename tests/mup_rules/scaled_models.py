"""Flax models that return their features, and their training."""

import functools

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

TOKENS, LENGTH, CLASSES, INPUT_DIM = 16, 4, 4, 8

# of the size of Flax's default, and faster to compile
kernel_init = nn.initializers.lecun_uniform()
dense = functools.partial(nn.Dense, kernel_init=kernel_init)


class MLP(nn.Module):
    """Three hidden layers."""

    width: int

    @nn.compact
    def __call__(self, x):
        features = []
        for _ in range(3):
            x = jnp.tanh(dense(self.width)(x))
            features.append(x)
        return dense(CLASSES)(x), features


class Transformer(nn.Module):
    """One pre-norm block of attention and MLP; `score` multiplies the attention scores."""

    width: int
    heads: int
    score: float = 1.0

    @nn.compact
    def __call__(self, tokens):
        def attend(query, key, value, **options):
            return nn.dot_product_attention(query * self.score, key, value)

        unit = nn.initializers.variance_scaling(TOKENS, "fan_in", "uniform")
        x = nn.Embed(TOKENS, self.width, embedding_init=unit)(tokens)
        attention = nn.MultiHeadDotProductAttention(
            self.heads, kernel_init=kernel_init, attention_fn=attend
        )
        first = x + attention(nn.LayerNorm()(x))
        hidden = nn.relu(dense(4 * self.width)(nn.LayerNorm()(first)))
        second = first + dense(self.width)(hidden)
        return dense(CLASSES)(nn.LayerNorm()(second)), [first, second]


class Block(nn.Module):
    """What a residual branch of two layers adds, before its multiplier."""

    width: int

    @nn.compact
    def __call__(self, x):
        return dense(self.width)(jnp.tanh(dense(self.width)(x)))


class ResNet(nn.Module):
    """`depth` residual branches of two layers, each times `branch`, as one stack."""

    width: int
    depth: int
    branch: float = 1.0

    @nn.compact
    def __call__(self, x):
        x = dense(self.width)(x)
        stack = nn.scan(
            lambda block, x, _: (x + self.branch * block(x), x),
            variable_axes={"params": 0},
            split_rngs={"params": True},
            length=self.depth,
        )
        last, entering = stack(Block(self.width, name="blocks"), x, None)
        return dense(CLASSES)(last), [last, entering]


def data(*, tokens=False):
    rng = np.random.default_rng(0)
    y = rng.integers(CLASSES, size=16)
    if tokens:
        return rng.integers(TOKENS, size=(16, LENGTH)), np.repeat(y[:, None], LENGTH, axis=1)
    return rng.normal(size=(16, INPUT_DIM)).astype(np.float32), y


@functools.cache
def init(model, seed=0):
    x, _ = data(tokens=isinstance(model, Transformer))
    return initialiser(model)(jax.random.key(seed), x)["params"]


@functools.cache
def initialiser(model):
    return jax.jit(model.init)


def train(model, rule, steps):
    """Return a function of initial parameters: those after full-batch steps, logits and features before and after."""
    x, y = data(tokens=isinstance(model, Transformer))

    def loss(params):
        logits, _ = model.apply({"params": params}, x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    def step(carry, _):
        params, state = carry
        updates, state = rule.update(jax.grad(loss)(params), state, params)
        return (optax.apply_updates(params, updates), state), None

    def run(params):
        trained, _ = jax.lax.scan(step, (params, rule.init(params)), None, length=steps)[0]
        return trained, *(model.apply({"params": one}, x) for one in (params, trained))

    return run


def slope(sizes, values):
    """The fitted power of `values` in `sizes`."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def rms(x):
    """Root mean square over all entries."""
    return jnp.sqrt(jnp.mean(jnp.square(x)))
