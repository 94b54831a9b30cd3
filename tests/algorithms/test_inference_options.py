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


def traced(options, rate):
    """The numbers of these options that cells of one program may differ in."""
    own = {name: getattr(options, name) for name in ("inference_tolerance", "activity_decay")}
    given = {name: value for name, value in own.items() if value is not None}
    return {"activity_learning_rate": rate, **given}


def alike(options, numbers):
    """The same options for all values of these numbers."""
    names = set(numbers) - {"activity_learning_rate"}
    return options.model_copy(update=dict.fromkeys(names, 1.0))


@functools.cache
def program(options, activation):
    network, _, scaling = toy(activation)

    @jax.jit
    def run(params, numbers):
        problem = Problem(network, params, scaling, *DATA, options, {**numbers, "seed": 3})
        found = inference.infer(problem, problem.activities())
        return (
            unstacked(found.errors),
            unstacked(found.inputs)[1:],
            found.metrics.get("inference_steps"),
        )

    return run


@functools.cache
def inferred(options, rate=0.1, activation="linear"):
    """Errors, the hidden activities by layer, and, with a tolerance, the number of steps."""
    numbers = traced(options, rate)
    return jax.device_get(program(alike(options, numbers), activation)(toy(activation)[1], numbers))


def energy(hidden, decay, *, activation="linear", mean=False):
    """Of the batch, as activities descend it: the sum, or the mean, over its samples."""
    network, params, scaling = toy(activation)
    x, y = DATA
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
    total += 0.5 * decay * sum((z**2).sum() for z in hidden)
    return total / len(x) if mean else total


@functools.partial(jax.jit, static_argnames=("activation", "mean"))
def slopes_of(hidden, decay, **kind):
    return jax.grad(energy)(hidden, decay, **kind)


@jax.jit
def least(decay):
    """The hidden activities where the quadratic energy is least, in one row."""
    zero, restore = ravel_pytree([jnp.zeros((len(DATA[0]), 8))] * HIDDEN)

    def of(flat):
        return energy(restore(flat), decay)

    return jnp.linalg.solve(jax.hessian(of)(zero), -jax.grad(of)(zero))


def slopes(hidden, options, activation="linear"):
    """Of the energy that inference with these options descends."""
    mean = options.activity_gradient == "batch_mean"
    decay = options.activity_decay or 0.0
    return jax.device_get(slopes_of(hidden, decay, activation=activation, mean=mean))


def start(variant, activation="linear"):
    """The hidden activities before any step, which depend on nothing but where inference begins."""
    initial = VARIANTS[variant].get("activity_initialisation", "forward")
    return inferred(descent(0, activity_initialisation=initial), RATE, activation)[1]


@pytest.mark.parametrize("variant", [name for name in VARIANTS if "adam" not in name])
def test_the_first_step_follows_the_gradient_of_the_energy(variant):
    """With the decay of all hidden layers in it; in sequential order only the topmost layer's is that of before."""
    options = descent(1, **VARIANTS[variant])
    starts, ends = start(variant, "tanh"), inferred(options, RATE, "tanh")[1]
    known = slopes(starts, options, "tanh")
    compared = slice(-1, None) if "sequential" in variant else slice(None)
    for before, after, slope in list(zip(starts, ends, known, strict=True))[compared]:
        np.testing.assert_allclose(before - after, RATE * slope, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("changes", [{}, VARIANTS["sequential"]], ids=["synchronous", "sequential"])
@pytest.mark.parametrize("decay", [0.3, 1.0])
def test_linear_networks_with_decay_reach_the_solution(changes, decay):
    """(H + alpha I) z = b, where the quadratic energy is least."""
    options = descent(1500, activity_decay=decay, **changes)
    hidden = inferred(options, 0.08)[1]
    flat = np.concatenate([z.ravel() for z in hidden])
    np.testing.assert_allclose(flat, least(decay), rtol=1e-7, atol=1e-9)


@functools.cache
def path(variant):
    """The hidden activities, layer by layer, of every step from 0 on."""
    options = descent(STEPS, **VARIANTS[variant])
    network, params, scaling = toy()
    numbers = {**traced(options, RATE), "seed": 3}

    @jax.jit
    def run(params):
        problem = Problem(network, params, scaling, *DATA, options, numbers)
        return inference.trace(problem, problem.activities(), lambda hidden, _: unstacked(hidden))

    return jax.device_get(run(params))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_trace_begins_and_ends_where_inference_does(variant):
    ends = {steps: inferred(descent(steps, **VARIANTS[variant]), RATE)[1] for steps in (3, STEPS)}
    for steps, hidden in {0: start(variant), **ends}.items():
        for own, known in zip(path(variant), hidden, strict=True):
            np.testing.assert_allclose(own[steps], known, rtol=1e-12, atol=1e-14)


def gradient_norm(variant, number):
    """Of the gradient that the step of this number follows."""
    before, after = ([layer[n] for layer in path(variant)] for n in (number - 1, number))
    if "sequential" in variant:
        # each layer's gradient is that with the new layers above it
        found = [(a - b) / RATE for a, b in zip(before, after, strict=True)]
    else:
        found = slopes(before, descent(0, **VARIANTS[variant]))
    return float(np.sqrt(sum((slope**2).sum() for slope in found)))


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
