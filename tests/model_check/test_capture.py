"""Layers of Flax linen, Flax nnx and plain functions, their order, and what is measured of them."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from check_networks import NARROW, Example, Transformer, tokens
from flax import nnx

from scaling_limits.model_check.capture import fan_in, shape_of
from scaling_limits.model_check.matching import over_width
from scaling_limits.model_check.measure import record
from scaling_limits.model_check.models import model_of
from scaling_limits.model_check.training import loss_of

X = np.random.default_rng(0).standard_normal((8, 3))
Y = np.random.default_rng(1).standard_normal((8, 2))
STEPS = 3


class Block(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x):
        return x + nn.Dense(self.width, name="a_dense", use_bias=False)(x)


class Linen(nn.Module):
    """Its names are not in the order of the forward pass."""

    width: int

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(self.width, name="z_first", use_bias=False)(x)
        x = Block(self.width, name="block")(x)
        self.sow("intermediates", "sown", jnp.tanh(x))
        return nn.Dense(2, name="b_last", use_bias=False)(x) / self.width


class NnxBlock(nnx.Module):
    def __init__(self, width, rngs):
        self.a_dense = nnx.Linear(width, width, use_bias=False, rngs=rngs)

    def __call__(self, x):
        return x + self.a_dense(x)


class Nnx(nnx.Module):
    def __init__(self, width, rngs):
        self.z_first = nnx.Linear(3, width, use_bias=False, rngs=rngs)
        self.block = NnxBlock(width, rngs)
        self.b_last = nnx.Linear(width, 2, use_bias=False, rngs=rngs)
        self.width = width

    def __call__(self, x):
        x = self.block(self.z_first(x))
        self.sow(nnx.Intermediate, "sown", jnp.tanh(x))
        return self.b_last(x) / self.width


def linen(width, depth):
    return Linen(width)


def functions(width, depth):
    def init(key):
        return Linen(width).init(key, X)["params"]

    def apply(params, x):
        first = x @ params["z_first"]["kernel"]
        dense = first @ params["block"]["a_dense"]["kernel"]
        block = first + dense
        last = block @ params["b_last"]["kernel"]
        features = {
            "block/a_dense": dense,
            "z_first": first,
            "block": block,
            "sown": jnp.tanh(block),
        }
        return last / width, {**features, "b_last": last}

    return init, apply


def of_nnx(width, depth, rngs):
    return Nnx(width, rngs)


BUILDS = pytest.mark.parametrize("build", [linen, of_nnx, functions])


def measured(build, width=5, rate=0.1):
    model = model_of(build, width, 1)
    data = jnp.asarray(X), jnp.asarray(Y)
    shape = shape_of(model, data[0])
    keys = jax.random.split(jax.random.key(0), 2)
    loss = loss_of("mean_squared_error", (8, 2), data[1])
    return record(model, shape, loss, lambda params: optax.sgd(rate), data, keys, STEPS)


@BUILDS
def test_layers_in_the_order_of_the_forward_pass(build):
    layers = shape_of(model_of(build, 5, 1), X).layers
    names = [layer.name for layer in layers]
    assert names == ["z_first", "block/a_dense", "block", "sown", "b_last"]
    assert layers[-1].captured == ""
    weights = {layer.name: list(layer.weights.values()) for layer in layers if layer.weights}
    assert weights == {"z_first": [(3, 5)], "block/a_dense": [(5, 5)], "b_last": [(5, 2)]}


@pytest.mark.parametrize("other", [functions])
def test_interfaces_measure_the_same(other):
    ours, theirs = measured(linen), measured(other)
    for quantity in ("size", "change", "update"):
        for layer, values in getattr(ours, quantity).items():
            np.testing.assert_allclose(values, getattr(theirs, quantity)[layer], rtol=1e-6)


def test_nnx_has_all_quantities_but_the_alignment():
    recorded = measured(of_nnx)
    assert recorded.size["block"].shape == recorded.change["block"].shape == (2, STEPS + 1)
    assert set(recorded.update) == {"z_first", "block/a_dense", "b_last"}
    assert not recorded.alignment


def test_definitions_against_a_calculation_in_numpy():
    """Sizes, changes, updates and alignments of a network of two linear layers after one step of gradient descent."""

    class Two(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.Dense(5, use_bias=False, name="first")(x)
            return nn.Dense(2, use_bias=False, name="second")(x)

    model = model_of(lambda width, depth: Two(), 5, 1)
    keys = jax.random.split(jax.random.key(0), 1)
    params = Two().init(keys[0], X)["params"]
    a, b = (np.asarray(params[name]["kernel"]) for name in ("first", "second"))
    data = jnp.asarray(X), jnp.asarray(Y)
    recorded = record(
        model,
        shape_of(model, data[0]),
        loss_of("mean_squared_error", (8, 2), data[1]),
        lambda params: optax.sgd(0.1),
        data,
        keys,
        2,
    )
    error = (X @ a @ b - Y) / len(X)
    new_a, new_b = a - 0.1 * X.T @ error @ b.T, b - 0.1 * (X @ a).T @ error

    def rms(array):
        return np.sqrt(np.mean(array**2))

    hidden = X @ new_a
    expected = {
        ("size", "first"): rms(hidden),
        ("size", "second"): rms(hidden @ new_b),
        ("change", "first"): rms(hidden - X @ a),
        ("change", "second"): rms(hidden @ new_b - X @ a @ b),
    }
    for (quantity, name), value in expected.items():
        np.testing.assert_allclose(getattr(recorded, quantity)[name][0, 1], value, rtol=1e-6)
    own = {"first": X @ (new_a - a), "second": hidden @ (new_b - b)}
    scale = {"first": rms(new_a - a) * 3 * rms(X), "second": rms(new_b - b) * 5 * rms(hidden)}
    for name in own:
        np.testing.assert_allclose(recorded.update[name][0, 0], rms(own[name]), rtol=1e-6)
        aligned = rms(own[name]) / scale[name]
        np.testing.assert_allclose(recorded.alignment[name][0, 0], aligned, rtol=1e-6)
    loss = 0.5 * ((X @ a @ b - Y) ** 2).sum(1).mean()
    np.testing.assert_allclose(recorded.loss[0, 0], loss, rtol=1e-6)


@pytest.mark.parametrize(
    ("kernel", "inputs", "terms"),
    [
        ((3, 5), (8, 3), 3),
        ((3, 2, 4), (8, 7, 3), 3),
        ((2, 4, 5), (8, 7, 2, 4), 8),
        ((3, 3, 6, 5), (8, 9, 9, 6), 54),
    ],
    ids=["dense", "to heads", "from heads", "convolution"],
)
def test_fan_in(kernel, inputs, terms):
    assert fan_in(kernel, inputs) == terms


def test_batch_norm_with_its_state():
    class Normed(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.Dense(5, name="dense")(x)
            return nn.Dense(2)(nn.BatchNorm(use_running_average=False, name="norm")(x))

    recorded = measured(lambda width, depth: Normed())
    np.testing.assert_allclose(recorded.size["norm"][:, 0], 1.0, rtol=0.01)
    assert np.isfinite(recorded.loss).all()


def test_a_frozen_layer_does_not_change():
    model = model_of(linen, 5, 1)
    data = jnp.asarray(X), jnp.asarray(Y)
    shape = shape_of(model, data[0])
    keys = jax.random.split(jax.random.key(0), 1)
    loss = loss_of("mean_squared_error", (8, 2), data[1])
    recorded = record(model, shape, loss, lambda p: optax.set_to_zero(), data, keys, STEPS)
    assert not any(values.any() for values in recorded.change.values())
    assert not any(values.any() for values in recorded.update.values())


def test_layers_that_act_through_inner_products_only():
    """In attention, queries and keys reach the output through the logits, values also by another path."""
    build = Example("", Transformer, "adam", 0.01, tokens, NARROW, 1).build
    x, _ = tokens()
    matches = over_width({width: shape_of(model_of(build, width, 1), x) for width in (32, 64)})
    assert {match.name for match in matches if match.fixed} == {"attention_0/logits", "readout"}
    indirect = {match.name for match in matches if match.indirect}
    assert indirect == {"attention_0/query", "attention_0/key", "attention_0/logits"}
