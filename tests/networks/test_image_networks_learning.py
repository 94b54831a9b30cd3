"""Predictive coding and backpropagation of convolutions, against automatic differentiation."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from image_networks import cell, drawn, images, plain_forward, plain_inputs, scaling_of

from scaling_limits import networks
from scaling_limits.algorithms.backpropagation import computation as backpropagation
from scaling_limits.algorithms.gauss_newton_target import computation as gauss_newton_target
from scaling_limits.algorithms.layerwise import output_jacobians
from scaling_limits.algorithms.predictive_coding import computation as predictive_coding
from scaling_limits.algorithms.problem import Problem
from scaling_limits.datasets.loading import Arrays
from scaling_limits.measurements import feature_sizes
from scaling_limits.measurements.context import Context
from scaling_limits.training.loop import compile_shard
from toys import gradients

SHAPE, BATCH, RATE = (16, 17, 2), 3, 0.2
DESCENT = {
    "algorithm": "predictive_coding",
    "inference": "gradient_descent",
    "activity_gradient": "per_sample",
    "activity_learning_rate": RATE,
    "num_inference_steps": 3,
    "energy_weight": 0.7,
    "output_energy_weight": 1.8,
}


def problem(**changes):
    own = cell(input_shape=list(SHAPE), width=1, **changes)
    network, scaling = networks.build(own.network), scaling_of(own)
    x = jnp.asarray(images(SHAPE, BATCH))
    y = jnp.asarray(np.random.default_rng(2).normal(size=(BATCH, 10)))
    numbers = {**own.traced().get("algorithm", {}), "seed": 0}
    return Problem(network, drawn(network, scaling), scaling, x, y, own.algorithm, numbers)


def kernels(params):
    return [stacked["linear"]["kernel"][0] for stacked in params]


def energy(weights, activities, x, y, gammas):
    """pc-tp Eq. 2 of all samples; activities are images where the layer is a convolution."""
    total, below = 0.0, x
    for number, (weight, above) in enumerate(zip(weights, [*activities, y], strict=True)):
        entering = plain_inputs("cnn", number, below, SHAPE, jnp.tanh)
        total += 0.5 * gammas[number] * ((above - entering @ weight.T) ** 2).sum()
        below = above
    return total


@functools.partial(jax.jit, static_argnames=("steps", "order"))
def inferred(weights, x, y, gammas, steps, order):
    """The activities after steps down the energy, from the forward pass."""
    z = plain_forward("cnn", weights, x, SHAPE, jnp.tanh)[1][:-1]
    slopes = jax.grad(energy, argnums=1)
    for _ in range(steps):
        if order == "synchronous":
            z = [a - RATE * g for a, g in zip(z, slopes(weights, z, x, y, gammas), strict=True)]
        else:
            for number in reversed(range(len(z))):
                z[number] = z[number] - RATE * slopes(weights, z, x, y, gammas)[number]
    return z


@pytest.mark.parametrize("order", ["synchronous", "sequential"])
def test_predictive_coding_follows_the_energy(order):
    """Inference moves down F, and weights down F over their own gamma (pc-tp S.33)."""
    own = problem(**DESCENT, inference_order=order)
    gammas = [own.scaling[name]["energy_weight"] for name in ("input", "hidden", "output")]
    assert gammas == [0.7, 0.7, 1.8]
    weights = kernels(own.params)
    z = inferred(weights, own.x, own.y, gammas, 3, order)
    value, slopes = jax.jit(jax.value_and_grad(energy))(weights, z, own.x, own.y, gammas)
    grads, metrics = jax.jit(lambda: gradients(predictive_coding, own))()
    assert float(metrics["energy"]) == pytest.approx(float(value) / BATCH, rel=1e-10)
    for gradient, slope, gamma in zip(kernels(grads), slopes, gammas, strict=True):
        known = slope / gamma / BATCH
        np.testing.assert_allclose(gradient, known, atol=1e-10 * abs(known).max())
    errors = jax.jit(lambda: predictive_coding.errors(own))()
    entering = plain_inputs("cnn", 1, z[0], SHAPE, jnp.tanh)
    known = z[1] - entering @ weights[1].T
    np.testing.assert_allclose(errors[1][0], known.reshape(BATCH, -1), atol=1e-12)


def test_a_sequential_sweep_with_fixed_predictions_is_backpropagation():
    changes = {"num_inference_steps": 1, "activity_learning_rate": 1.0}
    weights = {"energy_weight": 1.0, "output_energy_weight": 1.0}
    own = problem(
        **(DESCENT | changes | weights), inference_order="sequential", fixed_predictions=True
    )

    def loss(weights):
        output = plain_forward("cnn", weights, own.x, SHAPE, jnp.tanh)[1][-1]
        return 0.5 * ((output - own.y) ** 2).sum() / BATCH

    known = jax.jit(jax.grad(loss))(kernels(own.params))
    for algorithm in (predictive_coding, backpropagation):
        grads, _ = jax.jit(lambda a=algorithm: gradients(a, own))()
        for gradient, slope in zip(kernels(grads), known, strict=True):
            np.testing.assert_allclose(gradient, slope, atol=1e-12 * (1 + abs(slope).max()))


def test_gauss_newton_targets_reach_the_output():
    """delta_l^T e_l is the part of the output's error that layer l can reach (pc-tp Prop. 3.3)."""
    own = problem()
    inputs = own.inputs(own.activities())
    errors, jacobians = jax.jit(
        lambda: (gauss_newton_target.errors(own), output_jacobians(own, inputs))
    )()
    at_output = own.output_error(own.forward())
    moved = [jnp.einsum("bck,bk->bc", j[0], e[0]) for j, e in zip(jacobians, errors, strict=True)]
    np.testing.assert_allclose(moved[-1], at_output, atol=1e-12)
    for one in moved[:-1]:
        # eight numbers enter the output layer and ten leave it
        leftover = at_output - one
        assert float(abs(jnp.einsum("bc,bc->b", one, leftover)).max()) < 1e-10
        assert float((leftover**2).sum()) < float((at_output**2).sum())


def test_training_and_what_is_measured_of_it():
    sweep = {"num_inference_steps": 1, "activity_learning_rate": 1.0, "fixed_predictions": True}
    own = cell(
        **(DESCENT | sweep),
        inference_order="sequential",
        input_shape=list(SHAPE),
        width=1,
        num_train=8,
        num_test=4,
        batch_size=8,
        num_steps=12,
        learning_rate=0.002,
        dtype="float64",
        measure={"performance": [0, 12], "error_alignment": [12]},
    )
    x, labels = images(SHAPE, 12), np.arange(12) % 3
    y = np.eye(10)[labels]
    arrays = Arrays(x[:8], y[:8], labels[:8], x[8:], y[8:], labels[8:])
    (measured,) = compile_shard(own, arrays)([own])
    losses = measured["train_loss"].values
    assert losses.shape == (12,)
    assert (np.diff(losses) < 0).all()
    assert measured["test_loss"].values.shape == (2,)
    # unequal energy weights scale the layers' errors and change no direction
    np.testing.assert_allclose(measured["error_cosine_bp"].values, 1.0, rtol=1e-9)


def test_sizes_of_features_that_differ_in_number():
    own = problem()
    context = Context(own, own.params, own.x, own.y, own.x, own.y, backpropagation)
    first, second, output = (stack[0] for stack in own.activities())
    rms = [float(jnp.sqrt((z**2).mean())) for z in (first, first, first, first, second)]
    found = feature_sizes.measure(context)
    np.testing.assert_allclose(found["activity_rms"], rms, rtol=1e-12)
    np.testing.assert_allclose(found["output_rms"], np.sqrt((output**2).mean()), rtol=1e-12)
