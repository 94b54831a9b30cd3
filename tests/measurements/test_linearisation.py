"""Distances from linearisation against their plain definition."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scaling_limits import networks
from scaling_limits.algorithms.backpropagation import computation as backpropagation
from scaling_limits.algorithms.problem import Problem
from scaling_limits.cells import AlgorithmSpec, NetworkSpec
from scaling_limits.datasets.loading import Arrays
from scaling_limits.errors import ConfigurationError
from scaling_limits.measurements import linearisation
from scaling_limits.measurements.context import Context
from scaling_limits.training.loop import compile_shard
from toys import BACKPROPAGATION, RESIDUAL_CNN, TRANSFORMER, cell

NUMBERS = {"init_std": 0.4, "multiplier": 1.1, "branch": 0.7}
SCALING = dict.fromkeys(("input", "hidden", "hidden_1", "hidden_2", "output"), NUMBERS)


def context(spec, scaling=SCALING, share=0.3):
    """A network whose weights, drawn by numpy, have moved by a `share` of their size."""
    network, rng = networks.build(spec), np.random.default_rng(0)
    shapes = jax.eval_shape(lambda: network.init(jax.random.key(0), scaling, "normal", jnp.float64))
    initial, others = (
        jax.tree.map(lambda leaf: jnp.asarray(0.4 * rng.normal(size=leaf.shape)), shapes)
        for _ in range(2)
    )
    now = jax.tree.map(lambda w, other: w + share * other, initial, others)
    x, y = jnp.asarray(rng.normal(size=(5, spec.input_dim))), jnp.zeros((5, spec.output_dim))
    problem = Problem(network, now, scaling, x, y, AlgorithmSpec(name="backpropagation"))
    return Context(problem, initial, x, y, x, y, backpropagation)


def mlp(activation, block_depth=1, num_blocks=3, **changes):
    fields = {
        "name": "mlp",
        "input_dim": 4,
        "output_dim": 2,
        "width": 6,
        "num_hidden_layers": num_blocks + 1,
        "activation": activation,
        "activation_position": "after_weight",
        "skip": True,
        "mean_subtraction": True,
        "block_depth": block_depth,
    }
    return NetworkSpec(**fields | changes)


def measured(given):
    @jax.jit
    def run(now, initial):
        problem = replace(given.problem, params=now)
        return linearisation.measure(replace(given, problem=problem, initial=initial))

    return float(run(given.problem.params, given.initial)["linearisation_distance"])


def kernels(params, name):
    return np.asarray(params[1][name]["kernel"])


def distances(given, of_block):
    """By `of_block(x, block) -> change, linear` of the present inputs, before mean subtraction."""
    *hidden, _ = given.problem.activities()
    features = np.concatenate(hidden)
    found = []
    for block in range(len(features) - 1):
        change, linear = of_block(features[block], block)
        change, rest = (v - v.mean(axis=1, keepdims=True) for v in (change, change - linear))
        found.append(np.linalg.norm(rest) / np.linalg.norm(change))
    return np.sqrt(np.mean(np.square(found)))


def test_blocks_of_one_layer():
    """depth-mup Def. 7.7: phi(W_t x) - phi(W_0 x) - phi'(W_0 x) ((W_t - W_0) x), with ReLU."""
    given = context(mlp("relu"))
    first, now = (1.1 * kernels(p, "linear") for p in (given.initial, given.problem.params))

    def of_block(x, block):
        before, after = x @ first[block].T, x @ now[block].T
        linear = (before > 0) * (after - before)
        return np.maximum(after, 0) - np.maximum(before, 0), linear

    expected = distances(given, of_block)
    assert expected > 0.05
    assert measured(given) == pytest.approx(expected, rel=1e-12)


def test_blocks_of_two_layers():
    """depth-mup Sec. 9, the linearised block: each layer's change alone, with tanh."""
    given = context(mlp("tanh", 2))
    w1, w2 = (1.1 * kernels(given.initial, name) for name in ("hidden_1", "hidden_2"))
    d1, d2 = (
        1.1 * kernels(given.problem.params, name) - w
        for name, w in (("hidden_1", w1), ("hidden_2", w2))
    )

    def of_block(x, block):
        a, b, da, db = (w[block].T for w in (w1, w2, d1, d2))
        inner, outer = np.tanh(x @ a), np.tanh(np.tanh(x @ a) @ b)
        after = np.tanh(np.tanh(x @ (a + da)) @ (b + db))
        by_first = ((1 - inner**2) * (x @ da)) @ b
        return after - outer, (1 - outer**2) * (inner @ db + by_first)

    expected = distances(given, of_block)
    assert expected > 0.05
    assert measured(given) == pytest.approx(expected, rel=1e-12)


def test_linear_blocks_of_one_layer_are_their_linearisation_and_those_of_two_are_not():
    assert measured(context(mlp("linear"))) < 1e-12
    assert measured(context(mlp("linear", 2))) > 0.05


@pytest.mark.parametrize("block_depth", [1, 2])
def test_nothing_has_changed_at_step_0(block_depth):
    assert measured(context(mlp("tanh", block_depth, layer_norm=True), share=0.0)) == 0.0


def test_cells_compiled_quickly_have_no_distance_at_step_0():
    """Unoptimised, a transformer's change at equal weights is not zero but rounding."""
    own = cell(
        **{**TRANSFORMER, **BACKPROPAGATION, "dtype": "float32", "layer_norm": True},
        measure={"linearisation": [0, 1]},
    ).model_copy(update={"compiled": "quickly"})
    x = np.random.default_rng(0).integers(15, size=(64, own.dataset.sequence_length))
    found = compile_shard(own, Arrays(x, x, x, x, x, x))([own])[0]["linearisation_distance"].values
    assert found[0] == 0.0
    assert 0 < found[1] < 0.5


def test_blocks_of_a_transformer():
    """By finite differences of the weights: the node's own linearisation."""
    own = cell(**TRANSFORMER | BACKPROPAGATION)
    given = context(own.network, own.traced()["scaling"])
    segment = given.problem.network.segments[1]
    scaling = given.problem.scaling
    inputs = given.problem.inputs(given.problem.activities())[1]
    apply = jax.jit(lambda weights, x: segment.apply(weights, scaling, x))
    found = []
    for block in range(2):
        now, first = (
            jax.tree.map(lambda leaf, b=block: leaf[b], params[1])
            for params in (given.problem.params, given.initial)
        )

        def at(share, now=now, first=first, block=block):
            weights = jax.tree.map(lambda a, b: b + share * (a - b), now, first)
            return np.asarray(apply(weights, inputs[block]))

        change, linear = at(1.0) - at(0.0), (at(1e-5) - at(-1e-5)) / 2e-5
        found.append(np.linalg.norm(change - linear) / np.linalg.norm(change))
    assert min(found) > 0.05
    assert measured(given) == pytest.approx(np.sqrt(np.mean(np.square(found))), rel=1e-6)


def test_the_program_does_not_grow_with_depth():
    def size(num_blocks):
        given = context(mlp("tanh", 2, num_blocks, layer_norm=True))

        def measure(params):
            problem = replace(given.problem, params=params)
            return linearisation.measure(replace(given, problem=problem))

        return len(str(jax.make_jaxpr(measure)(given.problem.params)).splitlines())

    assert size(4) == size(14)


def test_convolutions_with_skips_have_branches_too():
    own = cell(**RESIDUAL_CNN | BACKPROPAGATION, input_shape=[8, 8])
    found = context(own.network, own.traced()["scaling"])
    assert 0 < measured(found) < 1


@pytest.mark.parametrize(
    "settings",
    [
        {"skip": False, "parameterisation": "sp_gaussian"},
        {"network": "cnn", "skip": None, "width": 1, "depth": 2, "input_shape": [16, 16],
         "parameterisation": "sp_gaussian"},
        {"depth": 1},
    ],
    ids=["no skips", "convolutions", "no block"],
)  # fmt: skip
def test_networks_without_residual_branches_are_refused(settings):
    with pytest.raises(ConfigurationError, match=r"^measurements\.linearisation: .* skip: true"):
        cell(**BACKPROPAGATION | settings, measure={"linearisation": [0]})
