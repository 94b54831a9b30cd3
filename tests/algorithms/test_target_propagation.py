"""Targets, weight gradients and the losses of feedback weights against plain loops."""

from dataclasses import replace

import feedback_networks as plain
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from feedback_networks import BATCH, UNIT, build, maps, target_errors

from scaling_limits.algorithms.gauss_newton_target import computation as gauss_newton_target
from scaling_limits.algorithms.target_propagation import computation as target_propagation
from scaling_limits.algorithms.target_propagation.reconstruction import (
    difference_reconstruction_losses,
    reconstruction_losses,
)
from toys import gradients

LOSSES = {
    "reconstruction": plain.reconstruction_loss,
    "difference_reconstruction": plain.difference_reconstruction_loss,
}


def flat(stacks):
    return [entry for stack in stacks for entry in stack]


@pytest.mark.parametrize("loss", ["mean_squared_error", "cross_entropy"])
@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize(("num_hidden_layers", "psi"), [(3, "tanh"), (1, "relu")])
def test_targets_and_gradients(loss, corrected, num_hidden_layers, psi):
    """(S.11), (S.13), and dW_l = -(1/B) (phi'(u_l) o e_l) h_{l-1}^T."""
    problem = build(
        loss=loss,
        difference_correction=corrected,
        num_hidden_layers=num_hidden_layers,
        feedback=psi,
    )
    f, g = maps(problem, problem.feedback, psi=psi)
    errors = target_errors(problem, f, g)
    own = flat(target_propagation.errors(problem))
    for one, known in zip(own, errors, strict=True):
        np.testing.assert_allclose(one, known, rtol=1e-10, atol=1e-13)

    grads, metrics = gradients(target_propagation, problem)
    h = plain.activities(problem, f)
    kernels = flat([stacked["linear"]["kernel"] for stacked in grads])
    numbers = [
        problem.scaling[s.role]["multiplier"]
        for s in problem.network.segments
        for _ in range(s.count)
    ]
    for layer, (gradient, a) in enumerate(zip(kernels, numbers, strict=True), start=1):
        slope = 1.0 if layer == len(f) else 1.0 - h[layer] ** 2
        known = -a / BATCH * (slope * errors[layer - 1]).T @ h[layer - 1]
        np.testing.assert_allclose(gradient, known, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(metrics["train_loss"], problem.loss(h[-1]), rtol=1e-12)


@pytest.mark.parametrize("corrected", [False, True])
def test_inverted_networks_have_gauss_newton_targets(corrected):
    """Square linear nodes and Q_l = W_l^{-1}: reconstruction is perfect, so both kinds of targets
    are the Gauss-Newton target.
    """
    problem = build(
        activation="linear",
        feedback="linear",
        width=6,
        output_dim=6,
        multipliers=UNIT,
        difference_correction=corrected,
    )
    inverse = jax.tree.map(jnp.linalg.inv, problem.params[1:])
    problem = replace(problem, feedback=inverse)
    np.testing.assert_allclose(reconstruction_losses(problem, None), 0.0, atol=1e-20)
    known = gauss_newton_target.errors(problem)
    step = problem.numbers["target_step"]
    for own, e in zip(target_propagation.errors(problem), known, strict=True):
        np.testing.assert_allclose(own, step * e, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("num_hidden_layers", [1, 3])
@pytest.mark.parametrize(
    ("loss", "options"),
    [
        ("reconstruction", {}),
        ("reconstruction", {"feedback_noise": 0.2}),
        ("difference_reconstruction", {"feedback_noise": 0.2}),
    ],
)
def test_feedback_gradients(num_hidden_layers, loss, options):
    problem = build(num_hidden_layers=num_hidden_layers, feedback_loss=loss, **options)

    def known(feedback):
        return LOSSES[loss](problem, *maps(problem, feedback))

    own = target_propagation.feedback_gradients(problem)
    expected = jax.jit(jax.grad(known))(problem.feedback)
    for one, other in zip(jax.tree.leaves(own), jax.tree.leaves(expected), strict=True):
        assert np.abs(other).max() > 1e-4
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-13)


def test_losses_are_one_number_for_each_layer():
    problem = build(feedback_noise=0.2)
    f, g = maps(problem, problem.feedback)
    for own, known in (
        (reconstruction_losses, plain.reconstruction_loss),
        (difference_reconstruction_losses, plain.difference_reconstruction_loss),
    ):
        values = own(problem, 0.2)
        assert values.shape == (3,)
        np.testing.assert_allclose(values.sum(), known(problem, f, g), rtol=1e-10)


def test_noise_differs_between_steps_seeds_and_layers():
    def losses(**numbers):
        problem = build(feedback_noise=0.2)
        noisy = replace(problem, numbers=problem.numbers | numbers)
        return reconstruction_losses(noisy, 0.2)

    first = losses()
    for other in (losses(step=jnp.int32(0)), losses(seed=4)):
        assert np.all(first != other)
    np.testing.assert_array_equal(first, losses(step=jnp.int32(-2)))


@pytest.mark.parametrize("loss", ["reconstruction", "difference_reconstruction"])
def test_programs_do_not_grow_with_depth(loss):
    def lines(num_hidden_layers):
        problem = build(num_hidden_layers=num_hidden_layers, feedback_loss=loss, feedback_noise=0.2)

        def run(params, feedback):
            now = replace(problem, params=params, feedback=feedback)
            return target_propagation.update(now, ())

        return len(jax.jit(run).lower(problem.params, problem.feedback).as_text().splitlines())

    assert lines(12) == lines(4)
