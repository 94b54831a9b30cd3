"""The closed forms against the energy itself, by automatic differentiation and dense Hessians."""

import functools
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scaling_limits.limits import linear_equilibrium as closed

INPUT_DIM, WIDTH, BATCH = 5, 6, 4
# weight layers, outputs, skips
SHAPES = [(2, 1, False), (4, 3, False), (4, 3, True)]


@functools.cache
def problem(num_layers, output_dim):
    rng = np.random.default_rng(num_layers)
    sizes = [INPUT_DIM, *[WIDTH] * (num_layers - 1), output_dim]
    weights = [jnp.asarray(rng.normal(size=(out, fan_in))) for fan_in, out in pairwise(sizes)]
    multipliers = [0.8 / fan_in**0.5 for fan_in in sizes[:-1]]
    x = jnp.asarray(rng.normal(size=(BATCH, INPUT_DIM)))
    y = jnp.asarray(rng.normal(size=(BATCH, output_dim)))
    return weights, multipliers, x, y


def energy(matrices, activities, x, y):
    """Batch mean of 1/2 sum_l ||z_l - A_l z_{l-1}||^2."""
    below, above = [x, *activities], [*activities, y]
    return sum(
        0.5 * ((target - z @ matrix.T) ** 2).sum() / len(x)
        for matrix, z, target in zip(matrices, below, above, strict=True)
    )


def dense_hessian(matrices):
    """mupc Eq. 5, 24: blocks I + A_{l+1}^T A_{l+1} on, and -A_{l+1} below the diagonal."""
    hidden = len(matrices) - 1
    blocks = [[np.zeros((WIDTH, WIDTH)) for _ in range(hidden)] for _ in range(hidden)]
    for index in range(hidden):
        above = np.asarray(matrices[index + 1])
        blocks[index][index] = np.eye(WIDTH) + above.T @ above
        if index + 1 < hidden:
            blocks[index + 1][index] = -above
            blocks[index][index + 1] = -above.T
    return np.block(blocks)


def dense_drive(matrices, x, y):
    """mupc Eq. 15: A_1 x in the first block, A_L^T y in the last (both where they coincide)."""
    hidden = len(matrices) - 1
    drive = np.zeros((hidden, WIDTH))
    drive[0] += matrices[0] @ x
    drive[-1] += matrices[-1].T @ y
    return drive.ravel()


@pytest.mark.parametrize(("num_layers", "output_dim", "skip"), SHAPES)
def test_dense_hessian_and_gradient(num_layers, output_dim, skip):
    """mupc tests 1 and 3: the linear system is the energy's, and det H = det S > 0."""
    weights, multipliers, x, y = problem(num_layers, output_dim)
    matrices = closed.effective_matrices(weights, multipliers, skip=skip)
    hidden = num_layers - 1

    def of_vector(vector):
        activities = list(vector.reshape(hidden, 1, WIDTH))
        return energy(matrices, activities, x[:1], y[:1])

    point = jnp.asarray(np.random.default_rng(3).normal(size=hidden * WIDTH))
    hessian = dense_hessian(matrices)
    np.testing.assert_allclose(jax.jit(jax.hessian(of_vector))(point), hessian, atol=1e-12)
    expected = hessian @ point - dense_drive(matrices, x[0], y[0])
    np.testing.assert_allclose(jax.jit(jax.grad(of_vector))(point), expected, atol=1e-12)
    np.linalg.cholesky(hessian)
    np.testing.assert_allclose(
        np.linalg.slogdet(hessian)[1],
        np.linalg.slogdet(closed.rescaling_matrix(matrices))[1],
        rtol=1e-10,
    )


@pytest.mark.parametrize(("num_layers", "output_dim", "skip"), SHAPES)
def test_equilibrium(num_layers, output_dim, skip):
    """mupc test 2, pcn-limits T1, T5: z* = H^-1 b, F(z*) = F*, F* <= L, S >= I."""
    weights, multipliers, x, y = problem(num_layers, output_dim)
    matrices = closed.effective_matrices(weights, multipliers, skip=skip)
    activities = closed.equilibrium_activities(matrices, x, y)
    for index in range(BATCH):
        drive = dense_drive(matrices, x[index], y[index])
        solution = np.linalg.solve(dense_hessian(matrices), drive)
        np.testing.assert_allclose(
            np.concatenate([z[index] for z in activities]), solution, atol=1e-11
        )
    slopes = jax.grad(energy, argnums=1)(matrices, activities, x, y)
    assert max(float(abs(slope).max()) for slope in slopes) < 1e-12
    star = closed.equilibrium_energy(matrices, x, y)
    np.testing.assert_allclose(energy(matrices, activities, x, y), star, rtol=1e-12)
    assert star <= closed.loss(matrices, x, y)
    assert np.linalg.eigvalsh(closed.rescaling_matrix(matrices)).min() >= 1 - 1e-12


@pytest.mark.parametrize(("num_layers", "output_dim", "skip"), SHAPES)
def test_gradients(num_layers, output_dim, skip):
    """pcn-limits T3: the local rule at z* is the total derivative of F*."""
    weights, multipliers, x, y = problem(num_layers, output_dim)

    def of_weights(quantity):
        def value(weights):
            return quantity(closed.effective_matrices(weights, multipliers, skip=skip), x, y)

        return jax.grad(value)(weights)

    pairs = [
        (closed.predictive_coding_gradients, closed.equilibrium_energy),
        (closed.backpropagation_gradients, closed.loss),
    ]
    for gradients, quantity in pairs:
        local = gradients(weights, multipliers, x, y, skip=skip)
        for a, b in zip(local, of_weights(quantity), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize(("num_layers", "skip"), [(2, False), (5, False), (5, True)])
def test_one_output(num_layers, skip):
    """pcn-limits T2, T4, T7: F* = L/s, ds/dW in closed form, dF*/dW_1 = (1/s) dL/dW_1."""
    weights, multipliers, x, y = problem(num_layers, 1)
    matrices = closed.effective_matrices(weights, multipliers, skip=skip)
    s = closed.rescaling_matrix(matrices)[0, 0]
    np.testing.assert_allclose(
        closed.equilibrium_energy(matrices, x, y), closed.loss(matrices, x, y) / s, rtol=1e-12
    )

    def rescaling(weights):
        effective = closed.effective_matrices(weights, multipliers, skip=skip)
        return closed.rescaling_matrix(effective)[0, 0]

    expected = jax.grad(rescaling)(weights)
    for a, b in zip(
        closed.rescaling_gradients(weights, multipliers, skip=skip), expected, strict=True
    ):
        np.testing.assert_allclose(a, b, atol=1e-12)
    np.testing.assert_array_equal(expected[0], jnp.zeros_like(weights[0]))
    pc = closed.predictive_coding_gradients(weights, multipliers, x, y, skip=skip)
    bp = closed.backpropagation_gradients(weights, multipliers, x, y, skip=skip)
    np.testing.assert_allclose(pc[0], bp[0] / s, atol=1e-13)


def test_layer_matrices_unstack_segments():
    params = ({"w": jnp.ones((1, 3, 2))}, {"w": jnp.arange(18.0).reshape(2, 3, 3)})
    scaling = {"input": {"multiplier": 0.5}, "hidden": {"multiplier": 2.0}}
    weights, multipliers = closed.layer_matrices(params, scaling, ["input", "hidden"])
    assert [w.shape for w in weights] == [(3, 2), (3, 3), (3, 3)]
    assert [float(c) for c in multipliers] == [0.5, 2.0, 2.0]
    np.testing.assert_array_equal(weights[2], params[1]["w"][1])
