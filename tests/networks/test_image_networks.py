import jax
import jax.numpy as jnp
import numpy as np
import pytest
from image_networks import cell, drawn, effective, images, plain_forward, plain_pool, scaling_of

from scaling_limits import networks
from scaling_limits.errors import ConfigurationError
from scaling_limits.networks.convolutional.architectures import image_layers as layers
from scaling_limits.networks.convolutional.computation import max_pool


@pytest.mark.parametrize(
    ("name", "shape", "phi"),
    [
        # maxima of absolute values are not absolute values of maxima: pooling is last
        ("cnn", (17, 20, 3), "abs"),
        ("vgg5", (16, 19, 2), "abs"),
        ("cnn", (16, 16, 1), "tanh"),
    ],
)
def test_forward_is_the_same_window_by_window(name, shape, phi):
    own = cell(network=name, input_shape=list(shape), activation=phi, parameterisation="ntk")
    network, scaling = networks.build(own.network), scaling_of(own)
    params, x = drawn(network, scaling), images(shape)
    weights = effective(network, params, scaling)
    _, known = plain_forward(name, weights, x, shape, getattr(np, phi))
    activities = jax.jit(network.activities)(params, scaling, x)
    assert len(activities) == network.num_weight_layers == len(weights)
    for stack, u in zip(activities, known, strict=True):
        np.testing.assert_allclose(stack[0], u.reshape(len(x), -1), atol=1e-12)
    output = jax.jit(network.forward)(params, scaling, x)
    np.testing.assert_allclose(output, known[-1], atol=1e-12)
    assert not network.linear


def test_pooling_shares_the_derivative_among_equal_maxima():
    x = np.random.default_rng(0).normal(size=(2, 5, 4, 3))
    np.testing.assert_array_equal(max_pool(x), plain_pool(x))
    x[0, :2, :2, 0] = [[7.0, 1.0], [7.0, 2.0]]
    slope = jax.grad(lambda x: max_pool(x)[0, 0, 0, 0])(x)
    np.testing.assert_array_equal(slope[0, :2, :2, 0], [[0.5, 0.0], [0.5, 0.0]])
    assert float(abs(slope).sum()) == 1.0


def test_sizes_are_those_of_the_paper():
    """pc-tp App. E."""
    for width in (4, 16):
        spec = cell(width=width, input_shape=[28, 28]).network
        assert [layer.fan_in for layer in layers(spec)] == [25, 100 * width, 128 * width]
        assert [layer.features for layer in layers(spec)] == [4 * width, 8 * width, 10]
    vgg = layers(cell(network="vgg5", width=8, input_shape=[28, 28]).network)
    assert [layer.features for layer in vgg] == [128, 256, 512, 512, 512, 512, 10]
    assert [layer.shape[0] for layer in vgg[:5]] == [28, 14, 7, 3, 1]
    assert [layer.fan_in for layer in vgg] == [9, 1152, 2304, 4608, 512, 512, 512]
    colour = layers(cell(network="vgg5", width=8, input_shape=[32, 32, 3]).network)
    assert (colour[0].fan_in, colour[4].fan_in) == (27, 4 * 512)


@pytest.mark.parametrize("name", ["cnn", "vgg5"])
def test_weights_are_as_wide_as_the_layers_say(name):
    own = cell(network=name, width=2, input_shape=[17, 16, 3])
    network, scaling = networks.build(own.network), scaling_of(own)
    plan = layers(own.network)
    params = jax.eval_shape(lambda: network.init(jax.random.key(0), scaling, "normal", "float32"))
    assert [p["linear"]["kernel"].shape for p in params] == [
        (1, layer.features, layer.fan_in) for layer in plan
    ]
    x = jnp.zeros((2, own.network.input_dim), jnp.float32)
    activities = jax.eval_shape(lambda p: network.activities(p, scaling, x), params)
    assert [stack.shape[2] for stack in activities] == [np.prod(layer.leaving) for layer in plan]
    assert {stack.dtype for stack in activities} == {jnp.dtype("float32")}


def test_draws_have_unit_variance_and_do_not_depend_on_the_scheme():
    first, second = (cell(width=4, parameterisation=name) for name in ("ntk", "sp_gaussian"))
    network = networks.build(first.network)
    units, scaled = (
        network.init(jax.random.key(3), scaling_of(own), "normal", jnp.float64)
        for own in (first, second)
    )
    for segment, unit, own in zip(network.segments, units, scaled, strict=True):
        std = second.scaling[segment.role].init_std
        kernel = unit["linear"]["kernel"]
        assert float(kernel.std()) == pytest.approx(1.0, abs=0.1)
        np.testing.assert_allclose(own["linear"]["kernel"], std * kernel, rtol=1e-14)


@pytest.mark.parametrize("name", ["cnn", "vgg5"])
@pytest.mark.parametrize("scheme", ["sp_gaussian", "ntk", "mup"])
def test_preactivations_have_the_mean_square_of_what_enters(name, scheme):
    """Each weight has its own fan-in: E u^2 is the mean over the entries of a window, padding included."""
    shape = (16, 16, 1)
    own = cell(network=name, width=8 if name == "cnn" else 2, parameterisation=scheme)
    network, scaling = networks.build(own.network), scaling_of(own)
    x = images(shape, batch=8)
    activities = jax.jit(network.activities)
    ratios = []
    for seed in range(4):
        params = drawn(network, scaling, seed)
        weights = effective(network, params, scaling)
        inputs, _ = plain_forward(name, weights, x, shape, np.tanh)
        stacks = activities(params, scaling, x)
        ratios.append(
            [
                float((stack**2).mean()) / (entering**2).mean()
                for stack, entering in zip(stacks, inputs, strict=True)
            ]
        )
    found = np.mean(ratios, axis=0)
    np.testing.assert_allclose(found[:-1], 1.0, atol=0.15)
    if scheme != "mup":
        # ten outputs of four seeds
        assert found[-1] == pytest.approx(1.0, abs=0.5)


def test_layers_of_one_role_have_numbers_of_their_own():
    settings = {"network": "vgg5", "width": 2, "parameterisation": "mup"}
    own = cell(**settings, frozen=["hidden"])
    names = [f"hidden_{number}" for number in range(2, 7)]
    assert list(own.scaling) == ["input", *names, "output"]
    assert own.frozen == tuple(names)
    stds = [own.scaling[name].init_std for name in names]
    fan_ins = [layer.fan_in for layer in layers(own.network)][1:-1]
    np.testing.assert_allclose(stds, np.power(fan_ins, -0.5))
    assert {own.scaling[name].learning_rate for name in names} == {0.0}
    usual = cell(**settings)
    changed = cell(**settings, exponent_changes={"hidden": {"learning_rate": {"width": 1.0}}})
    rates = [changed.scaling[name].learning_rate for name in names]
    assert rates == [2 * usual.scaling[name].learning_rate for name in names]
    assert list(cell(parameterisation="mup").scaling) == ["input", "hidden", "output"]


PC = {
    "algorithm": "predictive_coding",
    "inference": "exact",
    "activation": "linear",
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"depth": 4}, r"depth: cnn has 3 weight layers \(2 hidden_layers\), not 4"),
        ({"network": "vgg5", "depth": 5}, "depth: vgg5 has 7 weight layers"),
        ({"input_shape": [8, 8]}, "cnn requires images of at least 16 x 16 pixels, not 8 x 8"),
        ({"dataset": "gaussian_binary", "input_shape": None}, "cnn requires images .* not 40"),
        ({"skip": True, "parameterisation": "ntk"}, "skip: True acts only with network: mlp"),
        (
            {"activation_position": "after_weight"},
            "activation_position: after_weight acts only with network: mlp",
        ),
        (PC, "inference: 'exact' requires network: mlp, .* not network: cnn"),
    ],
)
def test_refusals(changes, message):
    with pytest.raises(ConfigurationError, match=message):
        cell(**changes)


def test_an_mlp_says_nothing_of_images():
    assert "input_shape" not in cell(network="mlp").canonical()["network"]
    assert cell().canonical()["network"]["input_shape"] == [16, 16]
