"""pc-tp B1, B5: powers of width of the first steps of target propagation and of its feedback weights.

With weights and feedback weights of the table's rows; `b` is the exponent of the output's initial
standard deviation, pc-tp b_L.
"""

import functools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scaling_limits import networks
from scaling_limits.algorithms.problem import Problem
from scaling_limits.algorithms.target_propagation import Options as TargetPropagation
from scaling_limits.algorithms.target_propagation import computation as target_propagation
from scaling_limits.cells import NetworkSpec
from scaling_limits.limits.linear_feedback import feedback_weights
from scaling_limits.parameterisations.table import Exponents, Factors, resolve
from toys import gradients

WIDTHS, SEEDS = (128, 1024), 8
SAMPLES, INPUT_DIM, OUTPUT_DIM, TOLERANCE = 4, 16, 10, 0.15


@functools.cache
def draws(width, seed):
    """Unit weights, unit feedback weights, inputs and targets, by numpy; the data are the same at all
    widths. Single layers everywhere: no loops over layers to compile.
    """
    rng = np.random.default_rng((width, seed))
    params = [(width, INPUT_DIM), (width, width), (OUTPUT_DIM, width)]
    feedback = [(width, width), (width, OUTPUT_DIM)]
    data = [(SAMPLES, INPUT_DIM), (SAMPLES, OUTPUT_DIM)]
    same = np.random.default_rng(seed)
    return [
        [generator.standard_normal(shape) for shape in shapes]
        for generator, shapes in ((rng, params), (rng, feedback), (same, data))
    ]


@functools.cache
def built(width, psi):
    return networks.build(
        NetworkSpec(
            name="mlp",
            input_dim=INPUT_DIM,
            output_dim=OUTPUT_DIM,
            width=width,
            num_hidden_layers=2,
            activation="tanh",
            activation_position="after_weight",
            skip=False,
            mean_subtraction=False,
            feedback=psi,
        )
    )


def problem(width, seed, *, scheme="tp_mup", corrected=False, psi="linear", **changes):
    network = built(width, psi)
    resolved = resolve(
        scheme,
        "sgd",
        width=width,
        depth=3,
        input_dim=INPUT_DIM,
        base_width=32,
        base_depth=1,
        skip=False,
        factors=Factors(),
        exponents=Exponents(),
        exponent_changes=changes,
        feedback_dim=OUTPUT_DIM,
    )
    scaling = {role: numbers.model_dump() for role, numbers in resolved.scaling.items()}
    params, feedback, (x, y) = draws(width, seed)

    def scaled(segments, units):
        return tuple(
            {"linear": {"kernel": jnp.asarray(scaling[s.role]["init_std"] * unit[None])}}
            for s, unit in zip(segments, units, strict=True)
        )

    return Problem(
        network,
        scaled(network.segments, params),
        scaling,
        jnp.asarray(x),
        jnp.asarray(y),
        TargetPropagation(
            name="target_propagation",
            target_step=0.01,
            difference_correction=corrected,
            feedback_loss="reconstruction",
        ),
        {"target_step": 0.01, "seed": 0},
        scaled(network.feedback, feedback),
    )


@functools.cache
def program(function, network, options):
    """Compiled as a whole, once for all schemes and seeds."""

    def run(arrays, feedback):
        return function(Problem(network, options=options, feedback=feedback, **arrays))

    return jax.jit(run)


def computed(function, problem):
    names = ("params", "scaling", "x", "y", "numbers")
    arrays = {name: getattr(problem, name) for name in names}
    return program(function, problem.network, problem.options)(arrays, problem.feedback)


def kernels(weights):
    return [w for stacked in weights for w in np.asarray(stacked["linear"]["kernel"])]


def moved(problem, segments, gradients, inputs):
    """RMS of each weight's update times its own input."""
    rates = [problem.scaling[segment.role]["learning_rate"] for segment in segments]
    steps = zip(rates, kernels(gradients), inputs, strict=True)
    return [rms(rate * np.asarray(h[0]) @ gradient.T) for rate, gradient, h in steps]


def converged(problem):
    """With the feedback weights of (S.120), without ridge."""
    h = [np.asarray(stack[0]) for stack in computed(Problem.activities, problem)]
    weights = feedback_weights(h, [0.0] * (len(h) - 1))
    return replace(
        problem, feedback=tuple({"linear": {"kernel": jnp.asarray(q[None])}} for q in weights)
    )


def rms(values):
    return float(np.sqrt((np.asarray(values) ** 2).mean()))


def slopes(sizes, **options):
    """Of the logarithms of `sizes(problem)`, means over seeds."""
    logs = [
        np.mean([np.log(sizes(problem(width, seed, **options))) for seed in range(SEEDS)], axis=0)
        for width in WIDTHS
    ]
    return np.polyfit(np.log(WIDTHS), logs, 1)[0]


def weight_gradients(problem):
    """And what enters each weight."""
    return gradients(target_propagation, problem)[0], problem.inputs(problem.activities())


def first_step(problem):
    """Of the weights, with converged feedback weights."""
    problem = converged(problem)
    return moved(problem, problem.network.segments, *computed(weight_gradients, problem))


@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize(
    ("scheme", "expected"), [("tp_mup", (0, 0, 0)), ("sp_gaussian", (0, 1, 1))]
)
def test_first_step_of_the_weights(scheme, expected, corrected):
    """B1, (S.143), (S.149)-(S.152)."""
    measured = slopes(first_step, scheme=scheme, corrected=corrected)
    np.testing.assert_allclose(measured, expected, atol=TOLERANCE)


SMALL_OUTPUT = {"output": {"init_std": {"width": -0.5}}}


def feedback_gradients(problem):
    """And what enters each feedback weight."""
    return target_propagation.feedback_gradients(problem), problem.activities()[1:]


def feedback_step(problem):
    """Of the feedback weights, as drawn."""
    return moved(problem, problem.network.feedback, *computed(feedback_gradients, problem))


@pytest.mark.parametrize("psi", ["tanh", "linear"])
@pytest.mark.parametrize("b", [0.5, 1.0])
def test_first_step_of_the_feedback_weights(b, psi):
    """B5, (S.167), (S.168): of order one with taubar_L = -2 b_L, and as M^(-2 b_L) without."""
    output = SMALL_OUTPUT if b == 1 else {}
    without = {"feedback_output": {"learning_rate": {"width": -1.0}}}
    follows = {"feedback_output": {"learning_rate": {"width": 2 * b - 1}}}
    for changes, expected in ((without, -2 * b), (follows, 0.0)):
        measured = slopes(feedback_step, psi=psi, **output, **changes)
        np.testing.assert_allclose(measured, [0.0, expected], atol=TOLERANCE)


@pytest.mark.parametrize("b", [0.5, 1.0])
def test_size_of_converged_feedback_weights(b):
    """(S.171), (S.172): 1/M below the output, M^(b_L - 1/2) from it."""

    def sizes(problem):
        return [rms(q) for q in kernels(converged(problem).feedback)]

    measured = slopes(sizes, **(SMALL_OUTPUT if b == 1 else {}))
    np.testing.assert_allclose(measured, [-1.0, b - 0.5], atol=TOLERANCE)
