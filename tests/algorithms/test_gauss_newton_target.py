"""The Gauss-Newton target by dense linear algebra of each sample, and backpropagation's errors."""

import functools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import plain_inference
import pytest
from toy_networks import build, data, descent, drawn, kernels, unstacked

from scaling_limits import algorithms
from scaling_limits.algorithms.backpropagation import computation as backpropagation
from scaling_limits.algorithms.gauss_newton_target import computation as gauss_newton_target
from scaling_limits.algorithms.layerwise import output_jacobians
from scaling_limits.algorithms.predictive_coding import Options as PredictiveCoding
from scaling_limits.algorithms.predictive_coding import computation as predictive_coding
from scaling_limits.algorithms.problem import Problem
from scaling_limits.cells import AlgorithmSpec
from scaling_limits.networks.network import shift_down
from toys import gradients

GN = AlgorithmSpec(name="gauss_newton_target")


def dense(network, params, scaling, x, y):
    """Jacobians `[batch, out, units]` of f by every node's output, and y - f, by numpy."""

    @jax.jit
    def run(params):
        nodes = plain_inference.nodes_of(network, params, scaling)

        def above(index, z):
            for node in nodes[index + 1 :]:
                z = node(z[None])[0]
            return z

        jacobians, z = [], x
        for index, node in enumerate(nodes):
            z = node(z)
            jacobians.append(jax.vmap(jax.jacrev(functools.partial(above, index)))(z))
        return jacobians, y - z

    return jax.tree.map(np.asarray, run(params))


@pytest.mark.parametrize("damping", [0.0, 1.0, 0.3])
@pytest.mark.parametrize(("position", "skip"), [("before_weight", False), ("after_weight", True)])
def test_least_squares_errors(damping, position, skip):
    """(delta delta^T + rho I)^{-1} delta e_L; undamped, delta^T e_l = e_L of least length."""
    network, params, scaling = build(
        scheme="sp_gaussian", activation="tanh", output_dim=3, position=position, skip=skip
    )
    x, y = data(output_dim=3)
    jacobians, residual = dense(network, params, scaling, x, y)
    inputs = shift_down(x, network.activities(params, scaling, x))
    own = jax.jit(
        lambda p: gauss_newton_target.least_squares(
            output_jacobians(Problem(network, p, scaling, x, y, GN), inputs), residual, damping
        )
    )(params)
    for error, jacobian in zip(unstacked(own), jacobians, strict=True):
        for e, delta, r in zip(error, np.swapaxes(jacobian, 1, 2), residual, strict=True):
            rho = damping * np.trace(delta.T @ delta) / delta.shape[1]
            known = (
                np.linalg.solve(delta @ delta.T + rho * np.eye(len(delta)), delta @ r)
                if damping
                else np.linalg.pinv(delta.T) @ r
            )
            np.testing.assert_allclose(e, known, rtol=1e-8, atol=1e-11)
            if not damping:
                np.testing.assert_allclose(delta.T @ e, r, atol=1e-11)


@pytest.mark.parametrize("exponent", [0.0, 0.3, 1.0])
def test_powers_of_the_preconditioner(exponent):
    """pc-tp Prop. 3.3: (delta delta^T + rho I)^{-e_B} delta e_L; backpropagation's at e_B = 0."""
    network, params, scaling = build(scheme="sp_gaussian", activation="tanh", output_dim=3)
    x, y = data(output_dim=3)
    jacobians, residual = dense(network, params, scaling, x, y)
    numbers = {"preconditioner_exponent": exponent}
    problem = Problem(network, params, scaling, x, y, GN, numbers)
    own = jax.jit(lambda p: gauss_newton_target.errors(replace(problem, params=p)))(params)
    for error, jacobian in zip(unstacked(own), jacobians, strict=True):
        for e, delta, r in zip(error, np.swapaxes(jacobian, 1, 2), residual, strict=True):
            values, vectors = np.linalg.eigh(delta.T @ delta)
            power = vectors @ np.diag(values**-exponent) @ vectors.T
            np.testing.assert_allclose(e, delta @ power @ r, rtol=1e-8, atol=1e-11)
    if exponent == 0:
        for error, known in zip(own, backpropagation.errors(problem), strict=True):
            np.testing.assert_allclose(error, known, rtol=1e-10, atol=1e-13)


def test_fewer_units_than_outputs_leave_the_pseudo_inverse():
    network, params, scaling = build(scheme="sp_gaussian", activation="tanh", width=2, output_dim=4)
    x, y = data(output_dim=4)
    jacobians, residual = dense(network, params, scaling, x, y)
    own = gauss_newton_target.errors(Problem(network, params, scaling, x, y, GN, {}))
    for error, jacobian in zip(unstacked(own), jacobians, strict=True):
        for e, delta, r in zip(error, np.swapaxes(jacobian, 1, 2), residual, strict=True):
            np.testing.assert_allclose(e, np.linalg.pinv(delta.T) @ r, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_outputs_that_move_together_only(dtype):
    """Two outputs with the derivative (3, 4): the error that both share, 3/2, over its square."""
    jacobian = jnp.asarray([[[[3.0, 4.0], [3.0, 4.0]]]], dtype)
    (errors,) = jax.jit(gauss_newton_target.least_squares)(
        (jacobian,), jnp.asarray([[1.0, 2.0]], dtype)
    )
    np.testing.assert_allclose(errors, [[[0.18, 0.24]]], rtol=1e-5)


@pytest.mark.parametrize("loss", ["mean_squared_error", "cross_entropy"])
@pytest.mark.parametrize("name", ["backpropagation", "gauss_newton_target", "predictive_coding"])
def test_gradients_are_those_of_the_errors(name, loss):
    """dW_l = -(1/B) sum e_l h_{l-1}^T, in one layer's own inputs h."""
    network, params, scaling = build(
        scheme="sp_gaussian", activation="tanh", position="before_weight", output_dim=3
    )
    x, y = data(output_dim=3, one_hot=loss == "cross_entropy")
    module = algorithms.get(AlgorithmSpec(name=name))
    # with fixed predictions, weights learn from the forward pass here as well
    options = descent(2, loss=loss, fixed_predictions=True)
    numbers = {"activity_learning_rate": 0.3}

    @jax.jit
    def run(params):
        problem = Problem(network, params, scaling, x, y, options, numbers)
        return *gradients(module, problem), module.errors(problem)

    grads, metrics, errors = run(params)
    forward = unstacked(network.activities(params, scaling, x))
    inputs = [x, *[np.tanh(u) for u in forward[:-1]]]
    for gradient, error, h in zip(kernels(grads), unstacked(errors), inputs, strict=True):
        np.testing.assert_allclose(gradient, -error.T @ h / len(x), rtol=1e-10, atol=1e-14)
    expected = jax.nn.log_softmax(forward[-1]) if loss == "cross_entropy" else None
    known = 0.5 * ((y - forward[-1]) ** 2).sum() if expected is None else -(y * expected).sum()
    np.testing.assert_allclose(metrics["train_loss"], known / len(x), rtol=1e-12)


def test_backpropagation_errors():
    """-dloss/du_l of each sample, from the Jacobians."""
    network, params, scaling = build(scheme="sp_gaussian", activation="tanh", output_dim=3)
    x, y = data(output_dim=3)
    jacobians, residual = dense(network, params, scaling, x, y)
    own = jax.jit(lambda p: backpropagation.errors(Problem(network, p, scaling, x, y, GN, {})))(
        params
    )
    for error, jacobian in zip(unstacked(own), jacobians, strict=True):
        known = np.einsum("bcn,bc->bn", jacobian, residual)
        np.testing.assert_allclose(error, known, rtol=1e-10, atol=1e-14)


def test_two_layers_of_predictive_coding_are_a_damped_target():
    """pc-tp (A3): with L = 2 e_1* is the target damped by rho = gamma_1/gamma_2."""
    gammas = {"input": 0.7, "hidden": 1.0, "output": 2.0}
    network, params, scaling = build(
        scheme="sp_gaussian", num_hidden_layers=1, output_dim=3, energy_weights=gammas
    )
    params = drawn(network, scaling, seed=4)
    x, y = data(output_dim=3)
    exact = PredictiveCoding(name="predictive_coding", inference="exact")
    own = predictive_coding.errors(Problem(network, params, scaling, x, y, exact, {}))[0][0]
    w = np.asarray(kernels(params)[1])
    residual = np.asarray(y - network.forward(params, scaling, x))
    damped = np.linalg.solve(w.T @ w + 0.7 / 2.0 * np.eye(w.shape[1]), w.T @ residual.T).T
    np.testing.assert_allclose(own, damped, rtol=1e-10, atol=1e-13)
