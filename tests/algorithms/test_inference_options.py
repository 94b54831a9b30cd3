"""Inference that ends at a tolerance, activities that decay, and what a trace shows of both."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from toy_networks import UNEQUAL, build, data, descent, unstacked

from scaling_limits.algorithms.predictive_coding import descent as inference
from scaling_limits.algorithms.problem import Problem

HIDDEN, STEPS = 6, 30
DATA = data(output_dim=3)
RATE = 0.05
VARIANTS = {
    "descent": {},
    "batch mean": {"activity_gradient": "batch_mean"},
    "sequential": {"inference_order": "sequential"},
    "adam": {"inference": "adam"},
    "decay": {"activity_decay": 0.3},
    "sequential decay": {"inference_order": "sequential", "activity_decay": 0.3},
    "normal": {"activity_initialisation": "normal"},
}


def toy(activation="linear"):
    return build(
        scheme="sp_gaussian",
        activation=activation,
        skip=True,
        num_hidden_layers=HIDDEN,
        output_dim=3,
        energy_weights=UNEQUAL,
    )


def problem_of(params, options, rate, activation="linear"):
    network, _, scaling = toy(activation)
    own = {name: getattr(options, name) for name in ("inference_tolerance", "activity_decay")}
    given = {name: value for name, value in own.items() if value is not None}
    numbers = {"activity_learning_rate": rate, "seed": 3, **given}
    return Problem(network, params, scaling, *DATA, options, numbers)


def inferred(options, rate=0.1, activation="linear"):
    """Errors, the hidden activities by layer, and, with a tolerance, the number of steps."""

    @jax.jit
    def run(params):
        problem = problem_of(params, options, rate, activation)
        found = inference.infer(problem, problem.activities())
        return (
            unstacked(found.errors),
            unstacked(found.inputs)[1:],
            found.metrics.get("inference_steps"),
        )

    return run(toy(activation)[1])


def energy(hidden, options, activation="linear"):
    """Of the batch, as activities descend it: the sum, or the mean, over its samples."""
    network, params, scaling = toy(activation)
    problem = problem_of(params, options, 0.1, activation)
    x, y = problem.x, problem.y
    below = [x, *hidden]
    nodes = [
        (segment, jax.tree.map(lambda leaf, i=i: leaf[i], stacked))
        for segment, stacked in zip(network.segments, params, strict=True)
        for i in range(segment.count)
    ]
    total = 0.0
    for (segment, own), z, target in zip(nodes, below, [*hidden, y], strict=True):
        error = target - segment.apply(own, scaling, z)
        total += 0.5 * scaling[segment.role]["energy_weight"] * (error**2).sum()
    total += 0.5 * (options.activity_decay or 0.0) * sum((z**2).sum() for z in hidden)
    return total / len(x) if options.activity_gradient == "batch_mean" else total


@pytest.mark.parametrize("variant", [name for name in VARIANTS if "adam" not in name])
@pytest.mark.parametrize("activation", ["linear", "tanh"])
def test_the_first_step_follows_the_gradient_of_the_energy(variant, activation):
    """With the decay of all hidden layers in it; in sequential order only the topmost layer's is that of before."""
    options = {steps: descent(steps, **VARIANTS[variant]) for steps in (0, 1)}
    starts, ends = (inferred(options[steps], 0.05, activation)[1] for steps in (0, 1))
    slopes = jax.jit(jax.grad(lambda hidden: energy(hidden, options[0], activation)))(starts)
    compared = slice(-1, None) if "sequential" in variant else slice(None)
    for start, end, slope in list(zip(starts, ends, slopes, strict=True))[compared]:
        np.testing.assert_allclose(start - end, 0.05 * slope, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("changes", [{}, VARIANTS["sequential"]], ids=["synchronous", "sequential"])
@pytest.mark.parametrize("decay", [0.3, 1.0])
def test_linear_networks_with_decay_reach_the_solution(changes, decay):
    """(H + alpha I) z = b, where the quadratic energy is least."""
    options = descent(1500, activity_decay=decay, **changes)
    hidden = inferred(options, 0.08)[1]
    flat, restore = ravel_pytree(hidden)

    def of(z):
        return energy(restore(z), options)

    zero = jnp.zeros_like(flat)
    solution = jnp.linalg.solve(jax.hessian(of)(zero), -jax.grad(of)(zero))
    np.testing.assert_allclose(flat, solution, rtol=1e-7, atol=1e-9)


@functools.cache
def path(variant):
    """The hidden activities, layer by layer, of every step from 0 on."""
    options = descent(STEPS, **VARIANTS[variant])

    @jax.jit
    def run(params):
        problem = problem_of(params, options, RATE)
        return inference.trace(problem, problem.activities(), lambda hidden, _: unstacked(hidden))

    return run(toy()[1])


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_trace_begins_and_ends_where_inference_does(variant):
    for steps in (0, 4, STEPS):
        hidden = inferred(descent(steps, **VARIANTS[variant]), RATE)[1]
        for own, known in zip(path(variant), hidden, strict=True):
            np.testing.assert_allclose(own[steps], known, rtol=1e-12, atol=1e-14)


def gradient_norm(variant, number):
    """Of the gradient that the step of this number follows."""
    before, after = ([layer[n] for layer in path(variant)] for n in (number - 1, number))
    if "sequential" in variant:
        # each layer's gradient is that with the new layers above it
        slopes = [(a - b) / RATE for a, b in zip(before, after, strict=True)]
    else:
        slopes = jax.grad(energy)(before, descent(0, **VARIANTS[variant]))
    return float(jnp.linalg.norm(ravel_pytree(slopes)[0]))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("known", [3, 11])
def test_inference_ends_with_the_first_step_below_the_tolerance(variant, known):
    """Within the stages, and after them."""
    norms = [gradient_norm(variant, number) for number in (known - 1, known)]
    assert norms[1] < 0.999 * norms[0]
    tolerance = float(np.sqrt(norms[0] * norms[1]))
    options = descent(STEPS, inference_tolerance=tolerance, **VARIANTS[variant])
    errors, hidden, taken = inferred(options, RATE)
    assert int(taken) == known
    for own, layer in zip(hidden, path(variant), strict=True):
        np.testing.assert_allclose(own, layer[known], rtol=1e-12, atol=1e-14)
    plain = inferred(descent(known, **VARIANTS[variant]), RATE)[0]
    for own, other in zip(errors, plain, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("variant", ["descent", "sequential"])
@pytest.mark.parametrize(("rate", "tolerance"), [(RATE, 1e-9), (3.0, 1e-3)])
def test_all_steps_are_taken_where_the_tolerance_is_not_met(variant, rate, tolerance):
    """Also where the activities diverge."""
    options = descent(900 if rate > 1 else STEPS, **VARIANTS[variant])
    own = inferred(options.model_copy(update={"inference_tolerance": tolerance}), rate)
    assert int(own[2]) == options.num_inference_steps
    for error, other in zip(own[0], inferred(options, rate)[0], strict=True):
        np.testing.assert_allclose(error, other, rtol=1e-11, atol=1e-14)
