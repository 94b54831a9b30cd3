"""Residual networks, VGG and Myrtle-5: sizes as published, outputs as written out, batch norm."""

import math

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from image_networks import cell, scaling_of
from normalised_networks import plain_myrtle, plain_resnet, plain_vgg, resnet, vgg

from scaling_limits import networks
from scaling_limits.algorithms.backpropagation import computation as backpropagation
from scaling_limits.algorithms.problem import Problem
from scaling_limits.costs.sizes import layers, num_weights
from scaling_limits.datasets.loading import Arrays
from scaling_limits.errors import ConfigurationError
from scaling_limits.losses.outputs import mean_loss
from scaling_limits.measurements import curvature, weight_changes
from scaling_limits.measurements.context import Context
from scaling_limits.networks.network import Network, Segment
from scaling_limits.optimisers import groups
from scaling_limits.training.loop import compile_shard
from toys import gradients


def weighted(own, seed=0):
    """Its network, numbers, and normal weights, by numpy: nothing to compile."""
    network, scaling = networks.build(own.network), scaling_of(own)
    shapes = jax.eval_shape(lambda: network.init(jax.random.key(0), scaling, "normal", jnp.float64))
    rng = np.random.default_rng(seed)
    params = jax.tree.map(
        lambda leaf: jnp.asarray(rng.normal(size=leaf.shape) / leaf.shape[-1] ** 0.5), shapes
    )
    return network, scaling, params


def samples(own, count, seed=1):
    return jnp.asarray(np.random.default_rng(seed).normal(size=(count, own.network.input_dim)))


COLOUR = {"input_shape": [32, 32, 3], "width": 4}


@pytest.mark.parametrize(
    ("own", "count", "nodes"),
    [
        # 11,173,962 less 2 x 4,800 gains and shifts and 10 biases
        (resnet("resnet_basic", 8, **COLOUR), 11_164_352, 10),
        # the same channels by another unit of width
        (resnet("resnet_basic", 8, **COLOUR | {"width": 16}, channels=4), 11_164_352, 10),
        # 23,520,842 less 2 x 26,560 and 10
        (resnet("resnet_bottleneck", 16, **COLOUR), 23_467_712, 18),
        # 20,040,522 less 2 x 5,504, as many biases of convolutions, and 10
        (vgg(17, **COLOUR), 20_024_000, 17),
        (
            cell(network="myrtle5", depth=5, width=16, input_shape=[28, 28]),
            16 * (9 + 3 * 144 + 10),
            5,
        ),
    ],
    ids=["ResNet-18", "ResNet-18 in fours", "ResNet-50", "VGG-19", "Myrtle-5"],
)
def test_published_sizes(own, count, nodes):
    """Numbers of parameters of the networks for CIFAR-10; width 4 is the published one."""
    network, scaling = networks.build(own.network), scaling_of(own)
    params = jax.eval_shape(lambda: network.init(jax.random.key(0), scaling, "normal", jnp.float32))
    assert sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(params)) == count
    assert num_weights(layers(own)) == count
    assert network.num_weight_layers == own.network.num_hidden_layers + 1 == nodes


def test_every_weight_has_its_fan_in_and_positions():
    found = layers(resnet("resnet_bottleneck", 8, width=2, input_shape=[9, 14, 3]))
    first, later = found[1:5], found[-8:-1]
    assert [layer.inputs for layer in first] == [32, 9 * 32, 32, 32]
    assert [layer.outputs for layer in first] == [32, 32, 128, 128]
    assert [layer.positions for layer in first] == [126] * 4
    assert [layer.inputs for layer in later] == [512, 9 * 256, 256, 512, 1024, 9 * 256, 256]
    # 9 x 14, 5 x 7, 3 x 4, 2 x 2
    assert [layer.positions for layer in later] == [12, 4, 4, 4, 4, 4, 4]
    assert [layer.count for layer in found[:9]] == [1] * 8 + [1]
    assert found[-1].inputs == 1024


def test_layers_are_what_is_built():
    for own in (resnet("resnet_bottleneck", 16), resnet(), vgg(9)):
        network, scaling, params = weighted(own)
        shapes = jax.eval_shape(
            lambda p, n=network, o=own: n.observed(
                p, scaling_of(o), samples(o, 2), n.shifts(samples(o, 2))
            ),
            params,
        )[1]
        built = {}
        for segment, stack, inputs in zip(network.segments, params, shapes, strict=True):
            for name, part in stack.items():
                role = dict(segment.weights).get(name, segment.role)
                kernel = part["kernel"].shape
                positions = math.prod(inputs[name]["kernel"].shape[2:-1])
                built[role] = (kernel[0], kernel[1], kernel[2], positions)
        plan = {x.name: (x.count, x.outputs, x.inputs, x.positions) for x in layers(own)}
        assert built == plan
        assert set(scaling) == set(plan)


@pytest.mark.parametrize(
    ("own", "plain", "known"),
    [
        (resnet(), plain_resnet, 5),
        (resnet("resnet_bottleneck", 8, input_shape=[9, 10], activation="relu"), plain_resnet, 5),
        (resnet("resnet_bottleneck", 8), plain_resnet, 3),
        (vgg(9), plain_vgg, 5),
        (vgg(), plain_vgg, 3),
    ],
    ids=["basic", "bottleneck", "bottleneck-3", "vgg", "vgg-3"],
)
def test_outputs_are_those_written_out(own, plain, known):
    """Five samples by their own statistics, or by those of the `known` first ones."""
    network, scaling, params = weighted(own)
    x, phi = samples(own, 5), {"tanh": jnp.tanh, "relu": jax.nn.relu}[own.network.activation]
    expected = jax.jit(lambda p, x: plain(own, p, x, known, phi))(params, x)
    if known == len(x):
        found = jax.jit(network.forward)(params, scaling, x)
    else:
        found = jax.jit(network.evaluate)(params, scaling, x, x[:known])
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_myrtle_is_what_is_written_out():
    own = cell(network="myrtle5", depth=5, width=3, input_shape=[14, 14])
    network, scaling, params = weighted(own)
    x = samples(own, 3)
    found = jax.jit(network.forward)(params, scaling, x)
    expected = jax.jit(lambda p, x: plain_myrtle(own, p, x, jnp.tanh))(params, x)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_sample_is_evaluated_by_itself():
    own = resnet()
    network, scaling, params = weighted(own)
    x, reference = samples(own, 7), samples(own, 3, seed=5)
    evaluate = jax.jit(network.evaluate)
    together = evaluate(params, scaling, x, reference)
    assert together.shape == (7, 10)
    for i in (0, 6):
        alone = evaluate(params, scaling, x[i : i + 1], reference)
        np.testing.assert_allclose(alone[0], together[i], rtol=1e-9)
    batch = jax.jit(network.forward)(params, scaling, x)
    assert float(abs(batch - together).max()) > 0.01


def test_gradients_by_finite_differences():
    """Along one direction in each node's weights."""
    own = resnet(loss="cross_entropy")
    network, scaling, params = weighted(own)
    x, y = samples(own, 4), jnp.eye(10)[jnp.arange(4)]
    problem = Problem(network, params, scaling, x, y, own.algorithm)
    grads, _ = jax.jit(lambda: gradients(backpropagation, problem))()
    _, _, directions = weighted(own, seed=7)

    @jax.jit
    def loss(steps):
        moved = tuple(
            jax.tree.map(lambda p, d, step=step: p + step * d, *parts)
            for step, *parts in zip(steps, params, directions, strict=True)
        )
        return mean_loss("cross_entropy", network.forward(moved, scaling, x), y)

    for node, own_step in enumerate(1e-5 * np.eye(len(params))):
        pairs = zip(*map(jax.tree.leaves, (grads[node], directions[node])), strict=True)
        slope = sum(float(jnp.vdot(g, d)) for g, d in pairs)
        difference = float(loss(own_step) - loss(-own_step)) / 2e-5
        assert difference == pytest.approx(slope, rel=1e-6, abs=1e-9)
        assert abs(slope) > 1e-5


def test_every_weight_of_a_node_has_its_own_numbers():
    own = resnet(frozen=["input"])
    network, scaling, _ = weighted(own)
    names = list(own.scaling)
    assert names == ["input", *(f"hidden_{number}" for number in range(2, 13)), "output"]
    assert own.frozen == ("input",)
    stds = {layer.name: layer.inputs**-0.5 for layer in layers(own)}
    assert {name: own.scaling[name].init_std for name in names[:-1]} == pytest.approx(
        {name: stds[name] for name in names[:-1]}
    )
    rates = {name: 1.0 + number for number, name in enumerate(names)}
    for name in names:
        scaling[name] |= {"learning_rate": rates[name]}
    params = network.init(jax.random.key(0), scaling, "normal", jnp.float64)
    rule = groups.rules(own, own.traced()["optimiser"], scaling, network)["forward"]
    ones = jax.tree.map(jnp.ones_like, params)
    updates, _ = groups.updated(rule, ones, ones, rule.init(params), {})
    for segment, drawn, updated in zip(network.segments, params, updates, strict=True):
        for name, part in drawn.items():
            role = dict(segment.weights).get(name, segment.role)
            assert float(part["kernel"].std()) == pytest.approx(scaling[role]["init_std"], rel=0.2)
            moved = 0.0 if role == "input" else -rates[role]
            np.testing.assert_allclose(updated[name]["kernel"], 1 + moved)


def test_measurements_of_weights_name_each_of_them():
    row = {"optimiser": "kfac", "damping": 0.1, "parameterisation": "preconditioned_mup"}
    own = resnet("resnet_bottleneck", 8, **row)
    network, scaling, params = weighted(own)
    x = samples(own, 2)
    rule = groups.rules(own, own.traced()["optimiser"], scaling, network)["forward"]
    state = rule.init(params)
    problem = Problem(network, params, scaling, x, x, own.algorithm)
    context = Context(
        problem, params, x, x, x, x, backpropagation, direction=lambda: (params, params, state)
    )
    for module in (curvature, weight_changes):
        shapes = jax.eval_shape(lambda m=module: m.measure(context))
        (count,) = {shape.shape for shape in shapes.values()}
        assert count == (len(module.labels(own.network)["layer"]),) == (2 + 8 * 3 + 4,)


class Halved(nn.Module):
    """A node without weights: means of neighbours, times what its role says."""

    @nn.compact
    def __call__(self, x, numbers):
        return numbers["branch"] * x.reshape(len(x), -1, 2).mean(axis=2)


def test_nodes_without_weights():
    own = cell(network="mlp", depth=1, depth_kind="hidden_layers", width=6, parameterisation="ntk")
    scaling = scaling_of(own) | {"pool": {"branch": 3.0, "init_std": 1.0, "learning_rate": 1.0}}
    first, last = networks.build(own.network).segments
    pool, last = Segment(Halved(), "pool", 1, 2), Segment(last.node, last.role, 1, 3)
    network = Network((first, pool, last), own.network.input_dim, linear=False)
    params = network.init(jax.random.key(0), scaling, "normal", jnp.float64)
    assert params[1] == {}
    x = samples(own, 4)
    weights = [np.asarray(params[i]["linear"]["kernel"][0]) for i in (0, 2)]
    hidden, middle, output = network.activities(params, scaling, x)
    known = scaling["input"]["multiplier"] * x @ weights[0].T
    np.testing.assert_allclose(hidden[0], known, rtol=1e-12)
    known = 1.5 * (known[:, ::2] + known[:, 1::2])
    np.testing.assert_allclose(middle[0], known, rtol=1e-12)
    known = scaling["output"]["multiplier"] * np.tanh(known) @ weights[1].T
    np.testing.assert_allclose(output[0], known, rtol=1e-12)
    found, inputs = network.observed(params, scaling, x, network.shifts(x))
    np.testing.assert_allclose(found, known, rtol=1e-12)
    assert inputs[1] == {}
    rule = groups.rules(own, own.traced()["optimiser"], scaling, network)["forward"]
    updates, _ = groups.updated(rule, params, params, rule.init(params), {})
    np.testing.assert_allclose(updates[2]["linear"]["kernel"], 0.0, atol=1e-12)


def test_the_test_set_is_evaluated_with_statistics_of_training_samples():
    own = resnet(
        num_train=6, num_test=5, batch_size=2, num_steps=2, measure={"performance": [0, 2]}
    )
    assert own.network.num_statistics == 6
    own = own.model_copy(update={"network": own.network.model_copy(update={"num_statistics": 3})})
    x, labels = np.asarray(samples(own, 11)), np.arange(11) % 10
    y = np.eye(10)[labels]
    arrays = Arrays(x[:6], y[:6], labels[:6], x[6:], y[6:], labels[6:])
    (measured,) = compile_shard(own, arrays)([own])
    network, scaling = networks.build(own.network), own.traced()["scaling"]
    params = network.init(jax.random.key(0), scaling, "normal", jnp.float64)
    # every second sample of the training set
    both = np.concatenate([x[0:6:2], x[6:]])
    outputs = jax.jit(lambda p, x: plain_resnet(own, p, x, 3, jnp.tanh))(params, both)[3:]
    expected = mean_loss("mean_squared_error", outputs, jnp.asarray(y[6:]))
    np.testing.assert_allclose(measured["test_loss"].values[0], expected, rtol=1e-8)
    assert measured["test_loss"].values[1] != measured["test_loss"].values[0]


PC = {
    "algorithm": "predictive_coding",
    "inference": "gradient_descent",
    "num_inference_steps": 1,
    "activity_gradient": "per_sample",
    "activity_learning_rate": 1.0,
}


@pytest.mark.parametrize(
    ("make", "changes", "message"),
    [
        (
            resnet,
            {"depth": 5},
            "depth: resnet_basic has no variant with 5 blocks. Valid: 4, 8, .* nearest is 4",
        ),
        (
            resnet,
            {"depth_kind": "weight_layers"},
            "depth_kind: .* counts residual blocks; use blocks",
        ),
        (
            vgg,
            {"depth": 19},
            "depth: vgg has no variant with 19 weight layers. Valid: 6, .* nearest is 17",
        ),
        (
            vgg,
            {"input_shape": [28, 28]},
            "vgg requires images of at least 32 x 32 pixels, not 28 x 28",
        ),
        (resnet, {"input_shape": [8, 7]}, "resnet_basic requires images of at least 8 x 8"),
        (
            resnet,
            PC,
            "algorithm: 'predictive_coding' treats samples independently, .* use backpropagation",
        ),
        (
            vgg,
            {"algorithm": "gauss_newton_target"},
            "algorithm: .* network: vgg .* use backpropagation",
        ),
        (resnet, {"measure": {"error_alignment": [0]}}, "error_alignment: .* batch norm"),
        (resnet, {"measure": {"output_alignment": [0]}, "input_shape": [16, 16]}, "pooling before"),
        (resnet, {"skip": True}, "skip: True acts only with network: mlp"),
    ],
)
def test_refusals(make, changes, message):
    with pytest.raises(ConfigurationError, match=message):
        make(**changes)
