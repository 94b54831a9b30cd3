"""What the scaler does to parameters and to optax's transformations."""

from itertools import pairwise

import jax
import numpy as np
import optax
import pytest
from flax import nnx
from scaled_models import ResNet, Transformer, data, init

import scaling_limits
from scaling_limits.errors import ConfigurationError

WIDE, NARROW = 64, 16
RATIO = WIDE / NARROW


@pytest.fixture(scope="module")
def trees():
    return tuple(mlp(width) for width in (WIDE, NARROW))


def mlp(width):
    """Parameters of an MLP with Flax's default initialiser."""
    rng = np.random.default_rng(width)
    sizes = [3, width, width, width, 2]
    return {
        f"Dense_{layer}": {
            "kernel": draws(rng, fan_in, fan_out) / np.float32(fan_in**0.5),
            "bias": np.zeros(fan_out, np.float32),
        }
        for layer, (fan_in, fan_out) in enumerate(pairwise(sizes))
    }


def draws(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


def gradients_of(params, size=1.0):
    rng = np.random.default_rng(1)
    return jax.tree.map(lambda leaf: draws(rng, *leaf.shape) * np.float32(size), params)


def rms(x):
    return float(np.sqrt(np.mean(np.square(x))))


def first_updates(rule, gradients, params):
    return jax.jit(lambda g, w: rule.update(g, rule.init(w), w)[0])(gradients, params)


def test_initial_weights_have_the_base_size_times_the_power(trees):
    params, base = trees
    rescaled = scaling_limits.mup(params, base).rescale(params)
    powers = {"Dense_0": 0, "Dense_1": -0.5, "Dense_2": -0.5, "Dense_3": -1}
    for layer, power in powers.items():
        expected = rms(base[layer]["kernel"]) * RATIO**power
        assert rms(rescaled[layer]["kernel"]) == pytest.approx(expected, rel=1e-5)
        # one factor for each parameter
        quotient = rescaled[layer]["kernel"] / params[layer]["kernel"]
        np.testing.assert_allclose(quotient, quotient[0, 0], rtol=1e-5)
        assert not rescaled[layer]["bias"].any()


def test_every_initialiser_ends_at_the_same_powers():
    """Of a constant size, as GPT-2's, and of one that follows fan-in and fan-out, as Glorot's."""
    for size_of in (lambda *shape: 0.02, lambda *shape: (2 / sum(shape)) ** 0.5):

        def tree(width, size_of=size_of):
            rng = np.random.default_rng(0)
            kernels = {"a": (3, width), "b": (width, width), "c": (width, 2)}
            return {
                name: draws(rng, *shape) * np.float32(size_of(*shape))
                for name, shape in kernels.items()
            }

        rescaled = scaling_limits.mup(tree(WIDE), tree(NARROW)).rescale(tree(WIDE))
        for name, power in {"a": 0, "b": -0.5, "c": -1}.items():
            expected = rms(tree(NARROW)[name]) * RATIO**power
            assert rms(rescaled[name]) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("rule", ["sgd", "adam", "adamw"])
def test_at_the_base_size_nothing_changes(rule):
    rng = np.random.default_rng(0)
    params = {name: draws(rng, 4, 4) for name in ("first", "blocks/a", "blocks/b", "last")}
    mup = scaling_limits.mup(params, params, rule, depth=(3, 3), branches="blocks/*")
    jax.tree.map(np.testing.assert_array_equal, mup.rescale(params), params)
    optimiser = getattr(optax, rule)
    plain, scaled = optimiser(0.1), mup.optimiser(optimiser, learning_rate=0.1)
    states = [one.init(params) for one in (plain, scaled)]
    for size in (1.0, 1e-8, 3.0):
        gradients = gradients_of(params, size)
        (expected, first), (updates, second) = (
            one.update(gradients, state, params)
            for one, state in zip((plain, scaled), states, strict=True)
        )
        jax.tree.map(np.testing.assert_array_equal, updates, expected)
        states = [first, second]


# kernels of the MLP, and the factors of their learning rate, epsilon and weight decay
ADAM = {
    "Dense_0": (1, 1 / RATIO, 1),
    "Dense_1": (1 / RATIO, 1 / RATIO, RATIO),
    "Dense_3": (1 / RATIO, 1, RATIO),
}
SGD = {"Dense_0": (RATIO, 1), "Dense_1": (1, 1), "Dense_3": (1 / RATIO, 1)}


def test_adamw_has_each_parameters_own_numbers(trees):
    params, base = trees
    # gradients of the order of epsilon, so that it counts
    gradients = gradients_of(params, 1e-3)
    numbers = {"learning_rate": 0.1, "eps": 1e-3, "eps_root": 1e-7, "weight_decay": 0.3}
    rule = scaling_limits.mup(params, base, "adamw").optimiser(optax.adamw, b1=0.8, **numbers)
    updates = first_updates(rule, gradients, params)
    for layer, (rate, epsilon, decay) in ADAM.items():
        own = optax.adamw(
            0.1 * rate, 0.8, 0.999, 1e-3 * epsilon, 1e-7 * epsilon**2, weight_decay=0.3 * decay
        )
        weights, gradient = params[layer]["kernel"], gradients[layer]["kernel"]
        expected, _ = own.update(gradient, own.init(weights), weights)
        np.testing.assert_allclose(updates[layer]["kernel"], expected, rtol=1e-5, atol=1e-8)


def test_weight_decay_removes_the_same_share_of_every_parameter(trees):
    params, base = trees
    rule = scaling_limits.mup(params, base).optimiser(
        optax.adamw, learning_rate=0.1, weight_decay=0.5
    )
    updates = first_updates(rule, jax.tree.map(np.zeros_like, params), params)
    jax.tree.map(lambda u, w: np.testing.assert_allclose(u, -0.05 * w, rtol=1e-5), updates, params)


def test_defaults_of_the_constructor_are_rescaled(trees):
    params, base = trees
    mup, gradients = scaling_limits.mup(params, base), gradients_of(params, 1e-8)
    silent, told = (
        mup.optimiser(optax.adamw, learning_rate=0.1, **numbers)
        for numbers in ({}, {"eps": 1e-8, "weight_decay": 1e-4})
    )
    updates = [first_updates(one, gradients, params) for one in (silent, told)]
    jax.tree.map(np.testing.assert_array_equal, *updates)


def test_schedules_and_momentum_of_sgd(trees):
    params, base = trees
    gradients = gradients_of(params)
    rule = scaling_limits.mup(params, base, "sgd").optimiser(
        optax.sgd, learning_rate=lambda step: 0.1 / (1 + step), momentum=0.5
    )
    state = rule.init(params)
    for rate, moment in ((0.1, 1.0), (0.05, 1.5)):
        updates, state = rule.update(gradients, state, params)
        for layer, (factor, _) in SGD.items():
            expected = -rate * factor * moment * gradients[layer]["kernel"]
            np.testing.assert_allclose(updates[layer]["kernel"], expected, rtol=1e-5)


def test_a_constructor_of_the_users_and_shapes_alone(trees):
    params, base = (jax.eval_shape(lambda tree=tree: tree) for tree in trees)
    mup = scaling_limits.mup(params, base)

    def lion(learning_rate, weight_decay):
        return optax.chain(optax.clip(1.0), optax.lion(learning_rate, weight_decay=weight_decay))

    rule = mup.optimiser(lion, learning_rate=0.1, weight_decay=0.0)
    updates = first_updates(rule, gradients_of(trees[0]), trees[0])
    assert {layer: rms(updates[layer]["kernel"]) for layer in ADAM} == pytest.approx(
        {layer: 0.1 * rate for layer, (rate, *_) in ADAM.items()}
    )


def test_a_model_of_nnx_trains():
    def build(width):
        rngs = nnx.Rngs(0)
        return nnx.Sequential(
            nnx.Linear(8, width, rngs=rngs), nnx.relu, nnx.Linear(width, 4, rngs=rngs)
        )

    model, base = build(WIDE), build(NARROW)
    state = nnx.state(model, nnx.Param)
    mup = scaling_limits.mup(state, nnx.state(base, nnx.Param))
    nnx.update(model, mup.rescale(state))
    expected = rms(base.layers[2].kernel[...]) / RATIO
    assert rms(model.layers[2].kernel[...]) == pytest.approx(expected, rel=1e-5)
    optimiser = nnx.Optimizer(model, mup.optimiser(optax.adam, learning_rate=0.1), wrt=nnx.Param)
    x, y = data()

    def loss(model):
        return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()

    before = [model.layers[i].kernel[...] for i in (0, 2)]
    nnx.jit(lambda model, optimiser: optimiser.update(model, nnx.grad(loss)(model)))(
        model, optimiser
    )
    steps = [rms(model.layers[i].kernel[...] - w) for i, w in zip((0, 2), before, strict=True)]
    assert steps == pytest.approx([0.1, 0.1 / RATIO], rel=1e-3)


def test_the_table_has_the_models_layers():
    params, base = (jax.eval_shape(lambda n=n: init(ResNet(n, depth=4))) for n in (WIDE, NARROW))
    mup = scaling_limits.mup(params, base, depth=(2, 4), branches="blocks/*", depth_exponent=0.5)
    table = mup.table().set_index("parameter")
    assert table.loc["blocks/Dense_0/kernel"].to_dict() == {
        "shape": (4, WIDE, WIDE),
        "role": "hidden",
        "in_branch": True,
        "init_std": "m_N^-0.5",
        "learning_rate": "m_N^-1 m_L^-0.5",
        "epsilon": "m_N^-1 m_L^-0.5",
        "weight_decay": "m_N m_L^0.5",
        "multiplier": "",
    }
    assert table.loc["blocks/Dense_1/bias", "learning_rate"] == "m_L^-0.5"
    assert table.loc["Dense_0/bias", "learning_rate"] == "1"
    assert table.loc["residual branches", "multiplier"] == "m_L^-0.5"
    assert mup.multipliers["residual branches"] == pytest.approx(2**-0.5)
    assert "epsilon" not in scaling_limits.mup(params, base, "sgd").table()


def test_attention_needs_a_multiplier_if_its_heads_grow():
    def shapes(width, heads):
        model = Transformer(width, heads)
        return jax.eval_shape(lambda: model.init(jax.random.key(0), data(tokens=True)[0]))

    base = shapes(16, 2)
    larger = scaling_limits.mup(shapes(64, 2), base)
    assert larger.multipliers == {"attention scores": 0.5}
    assert larger.table().iloc[-1]["multiplier"] == "m_head^-0.5"
    assert scaling_limits.mup(shapes(64, 8), base).multipliers == {}
    tied = scaling_limits.mup(shapes(64, 8), base, roles={"*embedding": "tied"})
    assert tied.multipliers == {"logits": 0.25}


@pytest.mark.parametrize(
    ("rule", "inner", "numbers", "message"),
    [
        ("adam", optax.adam(0.1), {}, "^inner: is a GradientTransformation.*; give a constructor"),
        ("adam", optax.adam, {}, "^hyperparameters: adam: missing .* 'learning_rate'; valid: "),
        ("adam", optax.adam, {"lr": 0.1}, "^hyperparameters: adam: .*; valid: learning_rate, b1"),
        ("adam", optax.sgd, {"learning_rate": 0.1}, "^inner: sgd has other powers than adam"),
        ("sgd", optax.adam, {"learning_rate": 0.1}, "^inner: adam takes eps, .*optimiser='adam'"),
    ],
)
def test_bad_optimisers_are_named(trees, rule, inner, numbers, message):
    with pytest.raises(ConfigurationError, match=message):
        scaling_limits.mup(*trees, rule).optimiser(inner, **numbers)


def with_kernel(tree, kernel):
    return tree | {"Dense_0": tree["Dense_0"] | {"kernel": kernel}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda kernel: 0 * kernel, r"^Dense_0/kernel: is zero in params only"),
        (lambda kernel: np.nan * kernel, r"^Dense_0/kernel: is not finite in params"),
        (lambda kernel: kernel[:, :3], r"^Dense_0/kernel: has shape \(3, 3\); the target model"),
        (jax.eval_shape, r"^Dense_0/kernel: is a shape in params"),
    ],
)
def test_bad_initial_weights_are_named(trees, change, message):
    params, base = trees
    mup = scaling_limits.mup(params, base)
    kernel = params["Dense_0"]["kernel"]
    changed = (
        jax.ShapeDtypeStruct(kernel.shape, kernel.dtype)
        if change is jax.eval_shape
        else change(kernel)
    )
    with pytest.raises(ConfigurationError, match=message):
        mup.rescale(with_kernel(params, changed))


def test_unknown_parameters_are_named(trees):
    params, base = trees
    mup = scaling_limits.mup(params, base)
    with pytest.raises(ConfigurationError, match=r"^params/Dense_0/bias: is not a parameter of"):
        mup.rescale({"params": params})
    with pytest.raises(ConfigurationError, match=r"^params/Dense_0/bias: is not a parameter of"):
        mup.optimiser(optax.adam, learning_rate=0.1).init({"params": params})
    shapes = scaling_limits.mup(params, jax.eval_shape(lambda: base))
    with pytest.raises(
        ConfigurationError, match=r"kernel: is a shape in base_params|bias: is a shape"
    ):
        shapes.rescale(params)
