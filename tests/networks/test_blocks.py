"""Residual blocks of one and several layers, with and without layer norm, against plain definitions."""

from dataclasses import replace

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from equation_networks import BATCH, backpropagated, check, problem_of, unstacked

from scaling_limits import networks
from scaling_limits.algorithms.backpropagation import computation as backpropagation
from scaling_limits.algorithms.gauss_newton_target import computation as gauss_newton_target
from scaling_limits.algorithms.layerwise import output_jacobians
from scaling_limits.algorithms.predictive_coding import exact
from scaling_limits.cells import NetworkSpec
from scaling_limits.errors import ConfigurationError
from scaling_limits.networks.network import Network, Segment
from scaling_limits.networks.nodes import ACTIVATIONS, Linear
from toys import BACKPROPAGATION, EXACT, IMAGES, TRANSFORMER, cell

NUMBERS = {"init_std": 0.4, "multiplier": 1.1, "branch": 0.7}
SCALING = {
    "input": NUMBERS,
    "hidden": NUMBERS,
    "hidden_1": NUMBERS | {"multiplier": 1.3},
    "hidden_2": NUMBERS | {"init_std": 0.6, "multiplier": 0.9},
    "hidden_3": NUMBERS | {"multiplier": 1.2},
    "output": NUMBERS,
}


def spec(**changes):
    fields = {
        "name": "mlp",
        "input_dim": 5,
        "output_dim": 3,
        "width": 6,
        "num_hidden_layers": 4,
        "activation": "tanh",
        "activation_position": "after_weight",
        "skip": True,
        "mean_subtraction": True,
    }
    return NetworkSpec(**fields | changes)


def drawn(network, dtype=jnp.float64):
    return network.init(jax.random.key(3), SCALING, "normal", dtype)


class EarlierLayer(nn.Module):
    """The node as it was before blocks of several layers."""

    features: int
    before: str
    after: str
    skip: bool = False
    mean_subtraction: bool = False

    @nn.compact
    def __call__(self, x, numbers):
        y = Linear(self.features, name="linear")(ACTIVATIONS[self.before](x), numbers["multiplier"])
        y = ACTIVATIONS[self.after](y)
        if self.mean_subtraction:
            y = y - y.mean(axis=-1, keepdims=True)
        return x + jnp.asarray(numbers["branch"], x.dtype) * y if self.skip else y


@pytest.mark.parametrize("position", ["before_weight", "after_weight"])
@pytest.mark.parametrize("skip", [True, False])
def test_blocks_of_one_layer_have_the_bits_of_earlier_layers(position, skip):
    described = spec(activation_position=position, skip=skip, mean_subtraction=skip)
    network = networks.build(described)
    first = position == "before_weight"
    before, after = ("tanh", "linear") if first else ("linear", "tanh")
    earlier = Network(
        (
            Segment(EarlierLayer(6, "linear", "linear" if skip else after), "input", 1, 1),
            Segment(EarlierLayer(6, before, after, skip, skip), "hidden", 3, 2),
            Segment(EarlierLayer(3, before, "linear"), "output", 1, 5),
        ),
        5,
        linear=False,
    )
    x = jax.random.normal(jax.random.key(1), (8, 5), jnp.float32)

    def losses(network):
        @jax.jit
        def step(params):
            def loss(params):
                return (network.forward(params, SCALING, x) ** 2).mean()

            value, slopes = jax.value_and_grad(loss)(params)
            return value, jax.tree.map(lambda w, slope: w - 0.1 * slope, params, slopes)

        params, found = drawn(network, jnp.float32), []
        for _ in range(4):
            value, params = step(params)
            found.append(np.float32(value))
        return np.array(found)

    found = losses(network)
    assert found[-1] < found[0]
    assert found.tobytes() == losses(earlier).tobytes()


def normalised(z):
    z = z - z.mean(axis=1, keepdims=True)
    return z / np.sqrt((z**2).mean(axis=1, keepdims=True) + 1e-5)


@pytest.mark.parametrize("position", ["before_weight", "after_weight"])
@pytest.mark.parametrize(("block_depth", "layer_norm"), [(1, True), (2, False), (3, True)])
def test_blocks_are_their_definition(position, block_depth, layer_norm):
    """depth-mup Eq. 6: MS(phi(a W_k ... phi(a W_1 LN(x)))), or with the activations before the weights."""
    described = spec(activation_position=position, block_depth=block_depth, layer_norm=layer_norm)
    network = networks.build(described)
    params = drawn(network)
    x = jax.random.normal(jax.random.key(1), (8, 5))
    first = position == "before_weight"
    names = [f"hidden_{k}" for k in range(1, block_depth + 1)] if block_depth > 1 else ["hidden"]
    parts = names if block_depth > 1 else ["linear"]

    z = 1.1 * np.asarray(x) @ np.asarray(params[0]["linear"]["kernel"][0]).T
    expected = [z]
    for block in range(3):
        y = normalised(z) if layer_norm else z
        for name, part in zip(names, parts, strict=True):
            w, a = np.asarray(params[1][part]["kernel"][block]), SCALING[name]["multiplier"]
            y = a * np.tanh(y) @ w.T if first else np.tanh(a * y @ w.T)
        z = z + 0.7 * (y - y.mean(axis=1, keepdims=True))
        expected.append(z)
    last = np.tanh(z) if first else z
    expected.append(1.1 * last @ np.asarray(params[2]["linear"]["kernel"][0]).T)

    found = [z for stack in network.activities(params, SCALING, x) for z in stack]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_layers_of_a_block_are_drawn_apart():
    kernels = [part["kernel"] for part in drawn(networks.build(spec(block_depth=2)))[1].values()]
    assert [kernel.std() for kernel in kernels] == pytest.approx([0.4, 0.6], rel=0.2)
    assert abs(np.corrcoef(kernels[0].ravel(), kernels[1].ravel())[0, 1]) < 0.3


def test_layers_of_a_block_stand_in_their_order():
    """A tree's own order is alphabetical."""
    described = spec(block_depth=11)
    stack = {f"hidden_{number}": number for number in (1, 10, 11, *range(2, 10))}
    found = networks.build(described).segments[1].by_weight(stack)
    assert [name for name, _ in found] == [
        layer.name for layer in networks.layers_of(described)[1:-1]
    ]
    assert [number for _, number in found] == list(range(1, 12))


BLOCKS = {**BACKPROPAGATION, "depth_kind": "blocks", "depth": 8, "parameterisation": "depth_mup"}
BLOCKS |= {"depth_exponent": 0.5, "depth_lr_exponent": 0.5, "base_depth": 2}


def test_layers_of_a_block_have_numbers_of_their_own():
    plain = cell(**BLOCKS).scaling["hidden"]
    found = cell(**BLOCKS, block_depth=2, activation_position="after_weight")
    assert list(found.scaling) == ["input", "hidden_1", "hidden_2", "output"]
    assert found.scaling["hidden_1"] == found.scaling["hidden_2"] == plain
    assert cell(**BLOCKS, block_depth=2, frozen=["hidden"]).frozen == ("hidden_1", "hidden_2")


@pytest.mark.parametrize(
    ("kind", "depth"), [("blocks", 8), ("block_layers", 24)], ids=["blocks", "block_layers"]
)
def test_depth_may_count_the_layers_in_blocks(kind, depth):
    """Powers of depth are of the number of blocks."""
    found = cell(**BLOCKS | {"depth_kind": kind, "depth": depth}, block_depth=3)
    assert found == cell(**BLOCKS, block_depth=3)
    assert found.network.num_hidden_layers == 9
    assert found.scaling["hidden_3"].branch == pytest.approx(0.5)


CHANGES = {
    "hidden": {"learning_rate": {"depth": 0.25}, "branch": {"depth": 0.5}},
    "hidden_1": {"learning_rate": {"depth": 0.5}, "init_std": {"width": 1.0}},
}


def test_exponents_of_layers_and_their_role_multiply():
    plain = cell(**BLOCKS, block_depth=2).scaling
    found = cell(**BLOCKS, block_depth=2, exponent_changes=CHANGES).scaling
    ratios = {
        name: [
            getattr(found[name], quantity) / getattr(plain[name], quantity)
            for quantity in ("learning_rate", "init_std", "branch")
        ]
        for name in plain
    }
    assert ratios["hidden_1"] == pytest.approx([4**0.75, 8.0, 2.0])
    assert ratios["hidden_2"] == pytest.approx([4**0.25, 1.0, 2.0])
    assert ratios["input"] == ratios["output"] == [1.0, 1.0, 1.0]


def test_exponents_of_a_transformers_layers():
    plain = {**TRANSFORMER, **BACKPROPAGATION, "base_width": 2}
    changes = {"query": {"init_std": {"width": -0.5}}}
    before, after = (cell(**plain, **own).scaling for own in ({}, {"exponent_changes": changes}))
    assert after["query"].init_std == pytest.approx(before["query"].init_std / 2)
    assert {name: n for name, n in after.items() if name != "query"} == {
        name: n for name, n in before.items() if name != "query"
    }


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (
            {"depth_kind": "block_layers", "depth": 7, "block_depth": 3},
            r"^depth: 7 block_layers .* block_depth: 3; the nearest is 6",
        ),
        (
            {"depth_kind": "block_layers", "depth": 1, "block_depth": 3},
            r"^depth: 1 block_layers .* the nearest is 3",
        ),
        ({"depth_kind": "hidden_layers", "block_depth": 2}, "^depth_kind: .* use blocks or block"),
        ({"block_depth": 0}, "^block_depth: "),
        ({"block_depth": 2, "exponent_changes": {"hiden_1": {}}}, "did you mean 'hidden_1'"),
        ({"exponent_changes": {"hidden_1": {}}}, "unknown role or layer 'hidden_1'.*'hidden'"),
        (
            {"block_depth": 2, "exponent_changes": {"hidden_1": {"branch": {"depth": 0.5}}}},
            "^exponent_changes.hidden_1.branch: acts only on the role hidden",
        ),
        (
            {
                "block_depth": 2,
                "parameterisation": "sp_gaussian",
                "depth_exponent": None,
                "depth_lr_exponent": None,
                "base_depth": 1,
                "exponent_changes": {"hidden_1": {"energy_weight": {"width": 0.5}}},
                **EXACT,
                "activation": "linear",
            },
            "^exponent_changes.hidden_1: unknown scaled quantity 'energy_weight'",
        ),
        (
            {"block_depth": 2, "exponent_changes": {"hidden_1": {"init_sdt": {"depth": 0.5}}}},
            "^exponent_changes.hidden_1: .* did you mean 'init_std'",
        ),
    ],
)
def test_what_is_no_block_is_refused(settings, problem):
    with pytest.raises(ConfigurationError, match=problem):
        cell(**BLOCKS | settings)


@pytest.mark.parametrize(("key", "value"), [("block_depth", 2), ("layer_norm", True)])
def test_blocks_need_skips(key, value):
    plain = {"skip": False, "parameterisation": "sp_gaussian", **BACKPROPAGATION}
    with pytest.raises(ConfigurationError, match=rf"^{key}: .* requires skip: true"):
        cell(**plain, **{key: value})


@pytest.mark.parametrize("network", [TRANSFORMER, IMAGES | {"network": "cnn", "depth": 3}])
def test_other_networks_do_not_count_layers_of_blocks(network):
    with pytest.raises(ConfigurationError, match=r"^depth_kind: 'block_layers' .* use blocks"):
        cell(**{**BACKPROPAGATION, **network, "depth_kind": "block_layers"})


SMALL = {
    "dataset": "digits", "input_shape": [2, 2], "dtype": "float64", "width": 6, "depth_kind": "blocks", "depth": 2,
    "block_depth": 2, "parameterisation": "sp_gaussian",
}  # fmt: skip


def energy(activation, layer_norm):
    """pcn-limits Eq. 2 of two blocks of two layers, before_weight."""

    def norm(z):
        z = z - z.mean(axis=1, keepdims=True)
        return z / jnp.sqrt((z**2).mean(axis=1, keepdims=True) + 1e-5)

    def block(z, w):
        y = activation(norm(z) if layer_norm else z) @ w["hidden_1"].T
        return z + activation(y) @ w["hidden_2"].T

    def whole(x, y, weights, hidden):
        first, *blocks, last = weights
        predictions = [x @ first["linear"].T, *map(block, hidden[:-1], blocks)]
        errors = sum(((a - b) ** 2).sum() for a, b in zip(hidden, predictions, strict=True))
        output = activation(hidden[-1]) @ last["linear"].T
        return (errors + ((y - output) ** 2).sum()) / (2 * BATCH)

    return whole


def test_predictive_coding_sees_blocks_as_nodes():
    """The equation's equilibrium, weight gradients and steps."""
    check(SMALL | {"activation": "tanh", "layer_norm": True}, energy(jnp.tanh, True))


def test_exact_inference_of_linear_blocks():
    """Where the equation has no slope by any activity."""
    problem = problem_of(cell(**SMALL | {"activation": "linear", "optimiser": "sgd"} | EXACT))
    whole = energy(lambda z: z, False)

    @jax.jit
    def run(params):
        own = replace(problem, params=params)
        activities, given = own.activities(), (own.x, own.y, unstacked(own))
        inferred = exact.infer(own, activities)
        hidden = [z for stack in inferred.inputs for z in stack][1:]
        forward = [z for stack in activities[:-1] for z in stack]
        return whole(*given, forward), jax.value_and_grad(whole, argnums=3)(*given, hidden)

    at_first, (value, slopes) = run(problem.params)
    assert value < 0.9 * at_first
    for slope in slopes:
        np.testing.assert_allclose(slope, 0.0, atol=1e-12)


def test_exact_inference_is_not_of_layer_norm():
    with pytest.raises(ConfigurationError, match=r"^layer_norm: true .* inference: exact"):
        cell(**SMALL | {"activation": "linear", "layer_norm": True} | EXACT)


def test_gauss_newton_targets_of_blocks():
    """pc-tp Prop. 3.3: they explain the output's error by least squares; at e_B = 0 they are backpropagation's."""
    own = backpropagated(SMALL | {"activation": "tanh", "layer_norm": True})
    problem = problem_of(own)

    @jax.jit
    def run(params, exponent):
        numbers = problem.numbers | {"preconditioner_exponent": exponent}
        own = replace(problem, params=params, numbers=numbers)
        forward = own.activities()
        jacobians = output_jacobians(own, own.inputs(forward))
        updated = gauss_newton_target.update(own, ())[0].forward
        known = backpropagation.update(own, ())[0].forward
        output_error = own.output_error(forward[-1][0])
        return gauss_newton_target.errors(own), jacobians, output_error, updated, known

    errors, jacobians, output_error, *_ = jax.device_get(run(problem.params, 1.0))
    for stack, jacobian in zip(errors, jacobians, strict=True):
        explained = np.einsum("lbcn,lbn->lbc", jacobian, stack)
        # blocks have six units, fewer than outputs: the projection
        left = np.einsum("lbcn,lbc->lbn", jacobian, output_error - explained)
        np.testing.assert_allclose(left, 0.0, atol=1e-10)
    *_, found, known = run(problem.params, 0.0)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-12), found, known)
