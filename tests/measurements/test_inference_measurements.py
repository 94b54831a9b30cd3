"""What inference makes of the activities, against sums over units written out, and the least of a quadratic energy."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from scaling_limits import networks
from scaling_limits.algorithms.predictive_coding import Options, descent
from scaling_limits.algorithms.predictive_coding import computation as predictive_coding
from scaling_limits.algorithms.problem import Problem
from scaling_limits.cells import NetworkSpec
from scaling_limits.measurements import inference_trace
from scaling_limits.measurements.context import Context

WIDTH, HIDDEN, STEPS = 6, 4, 5
SCALING = {
    "input": {"multiplier": 0.9, "branch": 1.0, "energy_weight": 0.6},
    "hidden": {"multiplier": 0.5, "branch": 0.7, "energy_weight": 0.8},
    "output": {"multiplier": 0.8, "branch": 1.0, "energy_weight": 2.5},
}


def context(*, activation="linear", **changes):
    """Drawn by numpy, skips, a batch of five, two outputs."""
    network = networks.build(
        NetworkSpec(
            name="mlp",
            input_dim=3,
            output_dim=2,
            width=WIDTH,
            num_hidden_layers=HIDDEN,
            activation=activation,
            activation_position="before_weight",
            skip=True,
            mean_subtraction=False,
        )
    )
    rng = np.random.default_rng(0)
    sizes = [(1, WIDTH, 3), (HIDDEN - 1, WIDTH, WIDTH), (1, 2, WIDTH)]
    params = tuple({"linear": {"kernel": jnp.asarray(rng.normal(size=size))}} for size in sizes)
    x, y = jnp.asarray(rng.normal(size=(5, 3))), jnp.asarray(rng.normal(size=(5, 2)))
    given = {
        "inference": "gradient_descent",
        "num_inference_steps": STEPS,
        "activity_gradient": "per_sample",
        "activity_initialisation": "forward",
        "inference_order": "synchronous",
        "fixed_predictions": False,
    }
    options = Options(name="predictive_coding", **given | changes)
    numbers = {"activity_learning_rate": 0.05, "seed": 3, "activity_decay": options.activity_decay}
    numbers = {name: value for name, value in numbers.items() if value is not None}
    problem = Problem(network, params, SCALING, x, y, options, numbers)
    return Context(problem, params, x, y, x, y, predictive_coding)


@functools.cache
def solution():
    """The hidden activities of least energy, layer by layer: of a quadratic form, by automatic differentiation.

    However they are inferred.
    """
    problem = context().problem
    nodes = [
        (segment, jax.tree.map(lambda leaf, i=i: leaf[i], stacked))
        for segment, stacked in zip(problem.network.segments, problem.params, strict=True)
        for i in range(segment.count)
    ]
    zeros = [jnp.zeros((5, WIDTH))] * HIDDEN
    flat, restore = ravel_pytree(zeros)

    def energy(flat):
        hidden = restore(flat)
        total = 0.0
        for (segment, own), z, target in zip(
            nodes, [problem.x, *hidden], [*hidden, problem.y], strict=True
        ):
            error = target - segment.apply(own, SCALING, z)
            total += 0.5 * SCALING[segment.role]["energy_weight"] * (error**2).sum()
        return total

    @jax.jit
    def least():
        return jnp.linalg.solve(jax.hessian(energy)(flat), -jax.grad(energy)(flat))

    return jax.device_get(restore(least()))


def norms(layers):
    return [np.mean([np.sqrt((sample**2).sum()) for sample in np.asarray(z)]) for z in layers]


def means(layers):
    return [np.mean(np.asarray(z)) for z in layers]


def distance(layers, known):
    apart = sum(
        ((np.asarray(a) - np.asarray(b)) ** 2).sum() for a, b in zip(layers, known, strict=True)
    )
    return np.sqrt(apart / sum((np.asarray(b) ** 2).sum() for b in known))


def hidden_after(given, steps):
    """Where training's own inference ends after so many steps."""
    options = given.problem.options.model_copy(update={"num_inference_steps": steps})
    problem = Problem(**{**vars(given.problem), "options": options})
    found = jax.jit(lambda: descent.infer(problem, problem.activities()))()
    return [layer for stack in jax.device_get(found.inputs[1:]) for layer in stack]


VARIANTS = {
    "descent": {},
    "sequential": {"inference_order": "sequential", "activity_gradient": "batch_mean"},
    "adam from normal activities": {"inference": "adam", "activity_initialisation": "normal"},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_trace_is_of_the_cell_s_own_inference(variant):
    given = context(**VARIANTS[variant])
    found = jax.jit(lambda: inference_trace.measure(given))()
    assert {name: value.shape for name, value in found.items()} == {
        name: tuple({"inference_step": STEPS + 1, "layer": HIDDEN}[axis] for axis in axes)
        for name, axes in inference_trace.AXES.items()
    }
    known, start = solution(), hidden_after(given, 0)
    for step in (0, 2, STEPS):
        layers = hidden_after(given, step) if step else start
        np.testing.assert_allclose(found["activity_norm"][step], norms(layers), rtol=1e-12)
        np.testing.assert_allclose(found["activity_mean"][step], means(layers), rtol=1e-10)
        for metric, other in (("equilibrium_distance", known), ("inference_change", start)):
            assert found[metric][step] == pytest.approx(distance(layers, other), rel=1e-9)
    np.testing.assert_allclose(found["equilibrium_activity_norm"], norms(known), rtol=1e-9)
    np.testing.assert_allclose(found["equilibrium_activity_mean"], means(known), rtol=1e-8)


@pytest.mark.parametrize(
    "changes",
    [{"activation": "relu"}, {"activity_decay": 0.5}, {"loss": "cross_entropy"}],
    ids=["relu", "decay", "cross_entropy"],
)
def test_without_a_closed_form_there_is_no_analytic_solution(changes):
    found = jax.eval_shape(lambda: inference_trace.measure(context(**changes)))
    assert set(found) == {"activity_norm", "activity_mean", "inference_change"}
