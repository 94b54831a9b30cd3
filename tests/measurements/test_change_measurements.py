"""What training has moved, against plain arithmetic on an MLP of three weights."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scaling_limits import networks
from scaling_limits.algorithms.backpropagation import computation as backpropagation
from scaling_limits.algorithms.predictive_coding import Options as PredictiveCoding
from scaling_limits.algorithms.predictive_coding import computation as predictive_coding
from scaling_limits.algorithms.problem import Problem
from scaling_limits.cells import NetworkSpec
from scaling_limits.measurements import (
    equilibrium_alignment,
    feature_changes,
    output_alignment,
)
from scaling_limits.measurements.context import Context
from toys import gradients

SCALING = {
    role: {"init_std": std, "multiplier": a, "branch": 1.0, "energy_weight": g}
    for role, std, a, g in (
        ("input", 0.5, 0.9, 0.7),
        ("hidden", 0.3, 1.3, 1.1),
        ("output", 0.2, 0.8, 2.0),
    )
}
DESCENT = PredictiveCoding(
    name="predictive_coding",
    inference="gradient_descent",
    num_inference_steps=1,
    activity_gradient="per_sample",
    activity_initialisation="forward",
    inference_order="sequential",
    fixed_predictions=False,
)


def spec(activation="tanh", position="before_weight"):
    return NetworkSpec(
        name="mlp",
        input_dim=4,
        output_dim=3,
        width=6,
        num_hidden_layers=2,
        activation=activation,
        activation_position=position,
        skip=False,
        mean_subtraction=False,
    )


def context(described, options=DESCENT, rate=0.1):
    network = networks.build(described)
    keys = jax.random.split(jax.random.key(3), 4)
    initial, now = (network.init(key, SCALING, "normal", jnp.float64) for key in keys[:2])
    x = jax.random.normal(keys[2], (5, described.input_dim), jnp.float64)
    y = jax.random.normal(keys[3], (5, 3), jnp.float64)
    numbers = {"activity_learning_rate": jnp.float64(rate), "seed": 0}
    problem = Problem(network, now, SCALING, x, y, options, numbers)
    return Context(problem, initial, x, y, x, y, predictive_coding)


def kernels(params):
    multipliers = [SCALING[role]["multiplier"] for role in ("input", "hidden", "output")]
    return [
        a * np.asarray(p["linear"]["kernel"][0]) for a, p in zip(multipliers, params, strict=True)
    ]


def rms(values):
    return np.sqrt((values**2).mean())


def features(params, x, position):
    """u_1, u_2, f (before the weight), or h_1, h_2, f (after it); and the input of the output weights."""
    first, second, last = kernels(params)
    u1 = np.asarray(x) @ first.T
    h1 = np.tanh(u1)
    u2 = h1 @ second.T
    h2 = np.tanh(u2)
    shown = (u1, u2) if position == "before_weight" else (h1, h2)
    return [*shown, h2 @ last.T], h2


@pytest.mark.parametrize("position", ["before_weight", "after_weight"])
def test_changes_of_activities(position):
    given = context(spec(position=position))
    now, _ = features(given.problem.params, given.problem.x, position)
    first, _ = features(given.initial, given.problem.x, position)
    expected = [rms(a - b) for a, b in zip(now, first, strict=True)]
    found = feature_changes.measure(given)["activity_change"]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert feature_changes.labels(spec()) == {"layer": (1, 2, 3)}


@pytest.mark.parametrize("position", ["before_weight", "after_weight"])
def test_alignment_of_the_output_weights(position):
    given = context(spec(position=position))
    _, now = features(given.problem.params, given.problem.x, position)
    _, first = features(given.initial, given.problem.x, position)
    weights = np.asarray(given.initial[-1]["linear"]["kernel"][0])
    moved = now - first
    ratio = rms(moved @ weights.T) / (rms(weights) * rms(moved))
    found = output_alignment.measure(given)
    np.testing.assert_allclose(found["output_alignment"], ratio, rtol=1e-12)
    np.testing.assert_allclose(
        found["output_alignment_exponent"], np.log(ratio) / np.log(6), rtol=1e-12
    )


def test_one_sweep_is_not_the_equilibrium_and_many_are():
    few = equilibrium_alignment.measure(context(spec("linear")))["error_cosine_equilibrium"]
    many = DESCENT.model_copy(update={"num_inference_steps": 2000})
    far = equilibrium_alignment.measure(context(spec("linear"), many, 0.2))
    assert few.shape == (3,)
    assert float(few[0]) < 0.999
    np.testing.assert_allclose(far["error_cosine_equilibrium"], 1.0, atol=1e-9)


def test_the_loss_after_inference():
    """Of the output's prediction from the moved activities: below the forward pass's."""
    options = DESCENT.model_copy(update={"num_inference_steps": 50})
    problem = context(spec(), options, 0.2).problem
    _, metrics = gradients(predictive_coding, problem)
    errors = predictive_coding.errors(problem)
    expected = 0.5 * float((errors[-1] ** 2).sum()) / len(problem.x)
    assert float(metrics["inferred_loss"]) == pytest.approx(expected, rel=1e-12)
    assert float(metrics["inferred_loss"]) < float(metrics["train_loss"])
    _, reference = gradients(backpropagation, problem)
    assert float(metrics["train_loss"]) == pytest.approx(float(reference["train_loss"]), rel=1e-12)
