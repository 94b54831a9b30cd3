import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scaling_limits import networks
from scaling_limits.cells import NetworkSpec
from scaling_limits.errors import ConfigurationError
from scaling_limits.networks.draws import layer_key, scaled_draws, unit_draw
from scaling_limits.networks.network import shift_down, shift_up, top_of
from scaling_limits.networks.nodes import ACTIVATIONS, Linear
from toys import cell

SCALING = {
    "input": {"init_std": 0.7, "multiplier": 1.1, "branch": 3.0},
    "hidden": {"init_std": 0.4, "multiplier": 0.6, "branch": 0.8},
    "output": {"init_std": 0.5, "multiplier": 0.9, "branch": 3.0},
}


def spec(**changes):
    fields = {
        "name": "mlp",
        "input_dim": 5,
        "output_dim": 3,
        "width": 8,
        "num_hidden_layers": 4,
        "activation": "tanh",
        "activation_position": "before_weight",
        "skip": False,
        "mean_subtraction": False,
    }
    return NetworkSpec(**(fields | changes))


def initialise(network, key=0, scaling=SCALING, distribution="normal", dtype=jnp.float64):
    init = functools.partial(network.init, distribution=distribution, dtype=dtype)
    return jax.jit(init)(jax.random.key(key), scaling)


def plain(network):
    """Normal weights by numpy, where the draws are not the point: nothing to compile."""
    rng = np.random.default_rng(0)
    shapes = jax.eval_shape(
        lambda key: network.init(key, SCALING, "normal", jnp.float64), jax.random.key(0)
    )
    return jax.tree.map(lambda leaf: jnp.asarray(0.4 * rng.normal(size=leaf.shape)), shapes)


def weights_of(params):
    return [w for stacked in params for w in stacked["linear"]["kernel"]]


@pytest.mark.parametrize(
    ("activation", "position", "skip", "mean_subtraction", "num_hidden_layers"),
    [
        *[(activation, "before_weight", True, False, 3) for activation in ACTIVATIONS],
        ("tanh", "before_weight", False, False, 3),
        ("tanh", "after_weight", False, False, 3),
        ("relu", "after_weight", True, True, 3),
        ("relu", "before_weight", True, False, 1),
    ],
)
def test_forward_is_the_written_out_recursion(
    activation, position, skip, mean_subtraction, num_hidden_layers
):
    network = networks.build(
        spec(
            activation=activation,
            activation_position=position,
            skip=skip,
            mean_subtraction=mean_subtraction,
            num_hidden_layers=num_hidden_layers,
        )
    )
    params = plain(network)
    x = jax.random.normal(jax.random.key(1), (6, 5))
    phi = ACTIVATIONS[activation]
    weights = weights_of(params)
    assert len(weights) == network.num_weight_layers == num_hidden_layers + 1

    z, expected = x, []
    for index, w in enumerate(weights):
        last = index == len(weights) - 1
        role = "input" if index == 0 else "output" if last else "hidden"
        a = SCALING[role]["multiplier"]
        if position == "before_weight":
            new = a * (z if index == 0 else phi(z)) @ w.T
        else:
            new = a * z @ w.T
            linear = last or (skip and index == 0)
            new = new if linear else phi(new)
        if role == "hidden" and mean_subtraction:
            new = new - new.mean(axis=1, keepdims=True)
        b = SCALING[role]["branch"]
        z = b * new + z if role == "hidden" and skip else new
        expected.append(z)

    activities = network.activities(params, SCALING, x)
    for z, known in zip([z for stack in activities for z in stack], expected, strict=True):
        np.testing.assert_allclose(z, known, atol=1e-12)
    np.testing.assert_allclose(network.forward(params, SCALING, x), expected[-1], atol=1e-12)
    predictions = network.predictions(params, SCALING, shift_down(x, activities))
    for stack, known in zip(predictions, activities, strict=True):
        np.testing.assert_allclose(stack, known, atol=1e-12)


def test_linear_exposes_its_input_and_the_cotangent_of_its_output():
    module = Linear(3)
    x = jax.random.normal(jax.random.key(0), (4, 5))
    variables = module.init(jax.random.key(1), x, 0.5)
    kernel = jax.random.normal(jax.random.key(2), (3, 5))
    target = jax.random.normal(jax.random.key(3), (4, 3))

    def loss(kernel, perturbations):
        collections = {"params": {"kernel": kernel}, "perturbations": perturbations}
        y, sown = module.apply(collections, x, 0.5, mutable=["intermediates"])
        return ((y - target) ** 2).sum(), sown["intermediates"]["input"][0]

    (gradient, cotangent), seen = jax.grad(loss, argnums=(0, 1), has_aux=True)(
        kernel, variables["perturbations"]
    )
    np.testing.assert_array_equal(seen, x)
    np.testing.assert_allclose(cotangent["output"], 0.5 * 2 * (0.5 * x @ kernel.T - target))
    np.testing.assert_allclose(gradient, cotangent["output"].T @ x, rtol=1e-12)


def test_draws_do_not_depend_on_the_scheme_or_the_depth():
    shallow, deep = (networks.build(spec(num_hidden_layers=h)) for h in (3, 5))
    other = {role: {"init_std": 2.5, "multiplier": 1.0} for role in SCALING}
    first, second = initialise(shallow), initialise(shallow, scaling=other)
    stds = [SCALING[segment.role]["init_std"] for segment in shallow.segments]
    for std, a, b in zip(stds, first, second, strict=True):
        np.testing.assert_allclose(
            a["linear"]["kernel"] / std, b["linear"]["kernel"] / 2.5, rtol=1e-14
        )
    for a, b in zip(weights_of(first)[:3], weights_of(initialise(deep))[:3], strict=True):
        np.testing.assert_array_equal(a, b)


def test_draws_of_layers_and_seeds_differ():
    network = networks.build(spec())
    drawn = [*weights_of(initialise(network))[1:4], *weights_of(initialise(network, key=1))[1:4]]
    for i, a in enumerate(drawn):
        for b in drawn[:i]:
            assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.5


@pytest.mark.parametrize("distribution", ["normal", "uniform", "orthogonal"])
def test_draws_by_programs_of_their_own_have_the_bits_of_those_within_another(distribution):
    network, key = networks.build(spec()), jax.random.key(0)
    alone = network.init(key, SCALING, distribution, jnp.float32)
    within = initialise(network, distribution=distribution, dtype=jnp.float32)
    for a, b in zip(alone, within, strict=True):
        np.testing.assert_array_equal(a["linear"]["kernel"], b["linear"]["kernel"])


@pytest.mark.parametrize("distribution", ["normal", "uniform", "orthogonal"])
@pytest.mark.parametrize("shape", [(3, 5), (70, 90)])
def test_draws_cut_from_longer_ones_are_those_of_their_own_shape(distribution, shape):
    key, leaf = jax.random.key(2), jax.ShapeDtypeStruct(shape, jnp.float32)
    found = scaled_draws(key, "weights", (4, 2), np.float32(0.5), leaf, distribution)
    for layer, weights in zip((4, 5), found, strict=True):
        own = unit_draw(layer_key(key, "weights", layer), distribution, shape, jnp.float32)
        np.testing.assert_array_equal(weights, np.float32(0.5) * own)


def test_keys_depend_on_purpose_and_layer():
    key = jax.random.key(0)
    keys = [layer_key(key, purpose, layer) for purpose in ("a", "b") for layer in (1, 2)]
    assert len({jax.random.key_data(k).tobytes() for k in map(jax.device_get, keys)}) == 4


@pytest.mark.parametrize("distribution", ["normal", "uniform"])
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_draws_have_unit_variance(distribution, dtype):
    w = unit_draw(jax.random.key(0), distribution, (200, 300), dtype)
    assert w.dtype == dtype
    assert abs(float(w.mean())) < 0.02
    assert abs(float(w.var()) - 1) < 0.02
    if distribution == "uniform":
        assert float(abs(w).max()) <= 3**0.5


@pytest.mark.parametrize("shape", [(6, 6), (9, 4), (4, 9)])
def test_orthogonal_draws(shape):
    w = unit_draw(jax.random.key(0), "orthogonal", shape, jnp.float64)
    small = w.T @ w if shape[0] >= shape[1] else w @ w.T
    np.testing.assert_allclose(small, np.eye(min(shape)), atol=1e-12)


def test_orthogonal_draws_are_not_biased_by_the_signs_of_qr():
    keys = jax.random.split(jax.random.key(0), 400)
    draws = jax.vmap(lambda key: unit_draw(key, "orthogonal", (2, 2), jnp.float64))(keys)
    assert abs(float(draws[:, 0, 0].mean())) < 0.12


def test_float32_stays_float32_with_float64_scales():
    network = networks.build(spec(skip=True))
    scaling = jax.tree.map(jnp.float64, SCALING)
    params = initialise(network, scaling=scaling, dtype=jnp.float32)
    x = jnp.ones((2, 5), jnp.float32)
    assert {leaf.dtype for leaf in jax.tree.leaves(params)} == {jnp.dtype("float32")}
    assert network.forward(params, scaling, x).dtype == jnp.float32


def test_the_program_does_not_grow_with_depth():
    def size(num_hidden_layers):
        network = networks.build(spec(num_hidden_layers=num_hidden_layers))
        params = plain(network)
        x = jnp.ones((2, 5))
        jaxpr = jax.make_jaxpr(jax.grad(lambda p: network.forward(p, SCALING, x).sum()))(params)
        return len(str(jaxpr).splitlines())

    assert size(4) == size(14)


def test_top_and_shifts():
    network = networks.build(spec())
    x = jax.random.normal(jax.random.key(1), (2, 5))
    activities = network.activities(plain(network), SCALING, x)
    part = network.top(3)
    assert [(s.role, s.count, s.first) for s in part.segments] == [
        ("hidden", 2, 3),
        ("output", 1, 5),
    ]
    kept = top_of(activities, part)
    np.testing.assert_array_equal(kept[0], activities[1][1:])
    inputs = shift_down(x, activities)
    for stack, expected in zip(shift_up(inputs, activities[-1][0]), activities, strict=True):
        np.testing.assert_array_equal(stack, expected)


@pytest.mark.parametrize(
    ("kind", "num_hidden_layers", "scaled"),
    [("hidden_layers", 4, 5), ("weight_layers", 3, 4), ("blocks", 5, 4)],
)
def test_what_depth_counts(kind, num_hidden_layers, scaled):
    """And what its powers act on: muPC's branches have the inverse root of that."""
    chosen = cell(depth=4, depth_kind=kind)
    assert chosen.network.num_hidden_layers == num_hidden_layers
    assert chosen.scaling["hidden"].branch == pytest.approx(scaled**-0.5, rel=1e-12)


def test_unknown_name():
    with pytest.raises(ConfigurationError, match="did you mean 'mlp'"):
        networks.build(spec(name="mpl"))


def test_unknown_distribution():
    with pytest.raises(ConfigurationError, match="did you mean 'normal'"):
        initialise(networks.build(spec()), distribution="norml")
