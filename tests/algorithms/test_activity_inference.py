"""Every option of inference against plain loops, and the identities of pc-tp that they imply."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import plain_inference
import pytest
from toy_networks import UNEQUAL, build, data, descent, drawn, kernels, numbers_of, unstacked

from scaling_limits.algorithms.backpropagation import computation as backpropagation
from scaling_limits.algorithms.predictive_coding import computation as predictive_coding
from scaling_limits.algorithms.predictive_coding import descent as inference
from scaling_limits.algorithms.problem import Problem
from scaling_limits.cells import AlgorithmSpec
from scaling_limits.networks.network import Network, Segment
from scaling_limits.networks.nodes import Layer
from toys import gradients

SEED = 3


def numbers(rate, options=None):
    """Those of the options, and the rate."""
    own = {name: getattr(options, name, None) for name in ("inference_tolerance", "activity_decay")}
    given = {name: value for name, value in own.items() if value is not None}
    return {"activity_learning_rate": rate, "seed": SEED, **given}


def infer(network, params, scaling, x, y, options, rate):
    @jax.jit
    def run(params, rate):
        problem = Problem(network, params, scaling, x, y, options, numbers(rate, options))
        return inference.infer(problem, problem.activities())

    return run(params, rate)


def unequal_layers():
    """Hidden layers of 7, 7, 7, 4 and 6 units; the run of equal ones is a segment of two nodes."""
    sizes = [
        (7, "input", 1),
        (7, "hidden", 2),
        (4, "hidden", 1),
        (6, "hidden", 1),
        (3, "output", 1),
    ]
    segments, first = [], 1
    for features, role, count in sizes:
        before = "linear" if role == "input" else "tanh"
        segments.append(Segment(Layer(features, before, "linear"), role, count, first))
        first += count
    network = Network(tuple(segments), 5, linear=False)
    scaling = numbers_of(
        "sp_gaussian",
        width=7,
        input_dim=5,
        depth=6,
        skip=False,
        output_scale=1.0,
        energy_weights=UNEQUAL,
    )
    return network, drawn(network, scaling), scaling


def equal_layers(skip, position):
    return build(
        scheme="sp_gaussian",
        activation="tanh",
        skip=skip,
        position=position,
        num_hidden_layers=5,
        output_dim=3,
        energy_weights=UNEQUAL,
    )


NETWORKS = {
    "unequal": unequal_layers,
    "before_weight": lambda: equal_layers(False, "before_weight"),
    "after_weight": lambda: equal_layers(False, "after_weight"),
    "skip, before_weight": lambda: equal_layers(True, "before_weight"),
    "skip, after_weight": lambda: equal_layers(True, "after_weight"),
}
SEQUENTIAL = {"inference_order": "sequential"}
ADAM = {"inference": "adam"}
NORMAL = {"activity_initialisation": "normal"}
ZEROS = {"activity_initialisation": "zeros"}
BATCH_MEAN = {"activity_gradient": "batch_mean"}
FIXED = {"fixed_predictions": True}
DECAY = {"activity_decay": 0.7}
VARIANTS = {
    "sequential": SEQUENTIAL,
    "sequential, zeros, batch mean": SEQUENTIAL | ZEROS | BATCH_MEAN,
    "sequential, normal, fixed": SEQUENTIAL | NORMAL | FIXED,
    "forward": {},
    "forward, fixed": FIXED,
    "zeros, batch mean": ZEROS | BATCH_MEAN,
    "normal": NORMAL,
    "adam, batch mean": ADAM | BATCH_MEAN,
    "adam, zeros, fixed": ADAM | ZEROS | FIXED,
    "decay": DECAY,
    "decay, normal, fixed, batch mean": DECAY | NORMAL | FIXED | BATCH_MEAN,
    "decay, sequential": DECAY | SEQUENTIAL,
    "decay, sequential, zeros, batch mean": DECAY | SEQUENTIAL | ZEROS | BATCH_MEAN,
    "decay, adam": DECAY | ADAM,
}
CASES = [
    *[("before_weight", variant, "mean_squared_error") for variant in VARIANTS],
    *[(name, "sequential", "cross_entropy") for name in NETWORKS],
    ("unequal", "adam, batch mean", "mean_squared_error"),
    ("unequal", "decay, sequential", "mean_squared_error"),
    ("skip, before_weight", "decay", "cross_entropy"),
    ("skip, after_weight", "forward", "cross_entropy"),
]


@pytest.mark.parametrize(("name", "variant", "loss"), CASES)
def test_inference_is_what_plain_loops_give(name, variant, loss):
    network, params, scaling = NETWORKS[name]()
    x, y = data(batch=4, output_dim=3, one_hot=loss == "cross_entropy")
    options = descent(3, loss=loss, **VARIANTS[variant])
    rate = 0.4 if options.activity_gradient == "batch_mean" else 0.1
    inferred = infer(network, params, scaling, x, y, options, rate)
    first = plain_inference.initial_activities(
        network, params, scaling, x, options.activity_initialisation, jax.random.key(SEED)
    )
    errors, activities = jax.jit(
        lambda params, first: plain_inference.infer(
            network, params, scaling, first, x, y, options, rate
        )
    )(params, first)
    learned_from = [x, *(first if options.fixed_predictions else activities)]
    # Adam divides by the size of slopes, which round-off of small ones changes
    tolerance = 1e-7 if options.inference == "adam" else 1e-12
    for own, known in zip(unstacked(inferred.errors), errors, strict=True):
        np.testing.assert_allclose(own, known, rtol=tolerance, atol=tolerance)
    for own, known in zip(unstacked(inferred.inputs), learned_from, strict=True):
        np.testing.assert_allclose(own, known, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", ["zeros", "normal"])
def test_other_initial_activities(kind):
    """Normal ones all move in the first step. Zeros predict zeros, so only the ends have errors."""
    network, params, scaling = equal_layers(False, "before_weight")
    x, y = data(output_dim=3)
    starts, ends = (
        unstacked(
            infer(
                network, params, scaling, x, y, descent(steps, activity_initialisation=kind), 0.1
            ).inputs
        )[1:]
        for steps in (0, 1)
    )
    moved = [bool((a != b).any()) for a, b in zip(starts, ends, strict=True)]
    if kind == "zeros":
        assert not any(bool(z.any()) for z in starts)
        assert moved == [True, False, False, False, True]
    else:
        assert np.ravel(starts).std() == pytest.approx(1.0, abs=0.15)
        assert all(moved)


UNREACHED = {
    "descent": {},
    "adam": ADAM,
    "fixed": FIXED,
    "cross_entropy": {"loss": "cross_entropy"},
}


@pytest.mark.parametrize("variant", UNREACHED)
def test_layers_not_reached_have_no_errors(variant, monkeypatch):
    """Synchronously from the forward pass, in float32: after step t none in layers l <= H - t, also
    where the same prediction comes out differently each time that it is compiled.
    """
    compiled, predict = itertools.count(), Problem.predictions

    def rounded(problem, points):
        factor = 1.0 + 1e-6 * next(compiled)
        return tuple(factor * stack for stack in predict(problem, points))

    monkeypatch.setattr(Problem, "predictions", rounded)
    network, params, scaling = build(
        scheme="sp_gaussian", activation="tanh", skip=True, width=32, output_dim=3
    )
    given = (params, data(output_dim=3, one_hot=variant == "cross_entropy"))
    params, (x, y) = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), given)
    for steps in (1, 3):
        options = descent(steps, **UNREACHED[variant])
        inferred = infer(network, params, scaling, x, y, options, 0.1)
        for layer, error in enumerate(unstacked(inferred.errors), start=1):
            assert bool((error != 0).any()) == (layer > 4 - steps), (steps, layer)


@pytest.mark.parametrize(
    ("name", "loss"),
    [("before_weight", "mean_squared_error"), *[(name, "cross_entropy") for name in NETWORKS]],
)
def test_one_fixed_sweep_is_backpropagation(name, loss):
    """pc-tp Techniques i and ii with sequential inference (A1): e_l = -(prod_{i>l} gamma_i)
    dloss/du_l, and with unit weights the gradient is backpropagation's.
    """
    network, params, scaling = NETWORKS[name]()
    x, y = data(output_dim=3, one_hot=loss == "cross_entropy")
    options = descent(1, loss=loss, inference_order="sequential", fixed_predictions=True)
    bp = AlgorithmSpec(name="backpropagation", loss=loss)
    inferred = infer(network, params, scaling, x, y, options, 1.0)
    slopes = jax.jit(
        lambda params: backpropagation.errors(Problem(network, params, scaling, x, y, bp, {}))
    )(params)
    factor = 1.0
    roles = [segment.role for segment in network.segments for _ in range(segment.count)]
    for role, own, slope in reversed(
        list(zip(roles, unstacked(inferred.errors), unstacked(slopes), strict=True))
    ):
        np.testing.assert_allclose(own, factor * slope, rtol=1e-10, atol=1e-14)
        factor *= UNEQUAL[role]
    unit = {role: values | {"energy_weight": 1.0} for role, values in scaling.items()}

    @jax.jit
    def both(params):
        given = (network, params, unit, x, y)
        return (
            gradients(predictive_coding, Problem(*given, options, numbers(1.0))),
            gradients(backpropagation, Problem(*given, bp, {})),
        )

    (grads, metrics), (expected, known) = both(params)
    np.testing.assert_allclose(metrics["train_loss"], known["train_loss"], rtol=1e-12)
    for a, b in zip(kernels(grads), kernels(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("activation", ["tanh", "linear"])
def test_single_shot_sequential_inference(activation):
    """pc-tp Eq. 14, S.29 and S.101 (A6), with y - f for the sign of S.26."""
    network, params, scaling = build(
        scheme="sp_gaussian", activation=activation, output_dim=3, energy_weights=UNEQUAL
    )
    x, y = data(output_dim=3)
    options = descent(1, inference_order="sequential")
    own = unstacked(infer(network, params, scaling, x, y, options, 1.0).errors)
    nodes = plain_inference.nodes_of(network, params, scaling)
    u = plain_inference.initial_activities(network, params, scaling, x, "forward")
    bp = AlgorithmSpec(name="backpropagation")
    slopes = jax.jit(
        lambda params: unstacked(
            backpropagation.errors(Problem(network, params, scaling, x, y, bp, {}))
        )
    )(params)
    gammas = [UNEQUAL["input"], *[UNEQUAL["hidden"]] * 3, UNEQUAL["output"]]
    shifts = [np.prod(gammas[layer:]) * slopes[layer - 1] for layer in range(1, 5)]
    moved = [a + b for a, b in zip(u, shifts, strict=True)]
    for layer in range(2, 5):
        known = moved[layer - 1] - nodes[layer - 1](moved[layer - 2])
        np.testing.assert_allclose(own[layer - 1], known, atol=1e-13)
        if activation == "linear":
            jump = (
                slopes[layer - 1]
                - gammas[layer - 1] * kernels(params)[layer - 1].dot(slopes[layer - 2].T).T
            )
            np.testing.assert_allclose(own[layer - 1], np.prod(gammas[layer:]) * jump, atol=1e-13)
    np.testing.assert_allclose(own[0], shifts[0], atol=1e-13)
    np.testing.assert_allclose(own[-1], y - nodes[-1](moved[-1]), atol=1e-13)


@pytest.mark.parametrize(
    "changes",
    [{}, NORMAL | FIXED, SEQUENTIAL, ADAM],
    ids=["forward", "normal", "sequential", "adam"],
)
def test_the_program_does_not_grow_with_depth_or_steps(changes):
    def size(num_hidden_layers, steps):
        network, params, scaling = build(num_hidden_layers=num_hidden_layers, activation="tanh")
        x, y = data()
        options = descent(steps, **changes)

        def run(params):
            return gradients(
                predictive_coding, Problem(network, params, scaling, x, y, options, numbers(0.1))
            )

        return str(jax.make_jaxpr(run)(params)).count(" = ")

    # depths at which no stage ends at a single layer, which has no hidden segment
    assert size(12, 12) == size(20, 20) == size(12, 24)
