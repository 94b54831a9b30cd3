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


def gammas(num_layers):
    """Energy weights that all differ."""
    return [0.5 + 0.4 * layer for layer in range(num_layers)]


def energy(matrices, activities, x, y, weights):
    """Batch mean of sum_l g_l/2 ||z_l - A_l z_{l-1}||^2."""
    below, above = [x, *activities], [*activities, y]
    return sum(
        0.5 * weight * ((target - z @ matrix.T) ** 2).sum() / len(x)
        for matrix, z, target, weight in zip(matrices, below, above, weights, strict=True)
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
        return energy(matrices, activities, x[:1], y[:1], [1.0] * num_layers)

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
    activities = closed.equilibrium_activities(matrices, x, y)[:-1]
    for index in range(BATCH):
        drive = dense_drive(matrices, x[index], y[index])
        solution = np.linalg.solve(dense_hessian(matrices), drive)
        np.testing.assert_allclose(
            np.concatenate([z[index] for z in activities]), solution, atol=1e-11
        )
    star = closed.equilibrium_energy(matrices, x, y)
    unit = [1.0] * num_layers
    np.testing.assert_allclose(energy(matrices, activities, x, y, unit), star, rtol=1e-12)
    assert star <= closed.loss(matrices, x, y)
    assert np.linalg.eigvalsh(closed.rescaling_matrix(matrices)).min() >= 1 - 1e-12


@pytest.mark.parametrize(("num_layers", "output_dim", "skip"), SHAPES)
def test_weighted_equilibrium(num_layers, output_dim, skip):
    """pc-tp Theorem 4.2: v*_l is where the weighted energy is stationary, e*_l = v*_l - A_l v*_{l-1},
    and F* is its value there.
    """
    weights, multipliers, x, y = problem(num_layers, output_dim)
    matrices = closed.effective_matrices(weights, multipliers, skip=skip)
    given = gammas(num_layers)
    activities = closed.equilibrium_activities(matrices, x, y, given)
    slopes = jax.grad(energy, argnums=1)(matrices, activities[:-1], x, y, given)
    assert max(float(abs(slope).max()) for slope in slopes) < 1e-12
    below, above = [x, *activities[:-1]], [*activities[:-1], y]
    errors = closed.equilibrium_errors(matrices, x, y, given)
    for matrix, z, target, error in zip(matrices, below, above, errors, strict=True):
        np.testing.assert_allclose(error, target - z @ matrix.T, atol=1e-12)
    np.testing.assert_allclose(
        closed.equilibrium_energy(matrices, x, y, given),
        energy(matrices, activities[:-1], x, y, given),
        rtol=1e-12,
    )
    doubled = [2 * weight for weight in given]
    np.testing.assert_allclose(
        closed.rescaling_matrix(matrices, doubled),
        closed.rescaling_matrix(matrices, given),
        rtol=1e-12,
    )


@pytest.mark.parametrize(("num_layers", "output_dim", "skip"), SHAPES)
def test_nudged_equilibrium(num_layers, output_dim, skip):
    """pc-tp Theorem B.3 (A5): with beta/2 ||y - z_L||^2 instead of a clamped output, z*_1..z*_L are
    where the energy is stationary and F* is its value there; S.104's printed sign is that of -e*_l.
    """
    weights, multipliers, x, y = problem(num_layers, output_dim)
    matrices = closed.effective_matrices(weights, multipliers, skip=skip)
    given, nudging = gammas(num_layers), 0.7

    def nudged(activities):
        *hidden, output = activities
        drawn = 0.5 * nudging * ((y - output) ** 2).sum() / len(x)
        return energy(matrices, hidden, x, output, given) + drawn

    activities = closed.equilibrium_activities(matrices, x, y, given, nudging=nudging)
    slopes = jax.grad(nudged)(activities)
    assert max(float(abs(slope).max()) for slope in slopes) < 1e-12
    star = closed.equilibrium_energy(matrices, x, y, given, nudging=nudging)
    np.testing.assert_allclose(nudged(activities), star, rtol=1e-12)
    errors = closed.equilibrium_errors(matrices, x, y, given, nudging=nudging)
    inputs = [x, *activities[:-1]]
    for matrix, below, z, error in zip(matrices, inputs, activities, errors, strict=True):
        np.testing.assert_allclose(error, z - below @ matrix.T, atol=1e-12)
        assert np.linalg.norm(error) > 1e-3


def test_nudging_ends_at_a_clamped_output():
    """As beta grows the output reaches y and the errors those of a clamped one; at 0 nothing moves."""
    weights, multipliers, x, y = problem(4, 3)
    matrices = closed.effective_matrices(weights, multipliers, skip=False)
    clamped = closed.equilibrium_errors(matrices, x, y, gammas(4))
    near = closed.equilibrium_errors(matrices, x, y, gammas(4), nudging=1e9)
    faint = closed.equilibrium_errors(matrices, x, y, gammas(4), nudging=1e-9)
    for a, b, c in zip(clamped, near, faint, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)
        assert float(abs(c).max()) < 1e-6 * float(abs(a).max())
    output = closed.equilibrium_activities(matrices, x, y, gammas(4))[-1]
    np.testing.assert_allclose(output, y, atol=1e-12)


def written_out(matrices, x, y, weights, *, short_by):
    """pc-tp Eq. 16, v*_1..v*_{L-1}, with its sum from i = 2 to l - short_by (in print: 1)."""
    num_layers = len(matrices)

    def product(upper, lower):
        """W_{upper:lower}."""
        result = np.eye(len(matrices[upper - 1]))
        for index in range(upper, lower - 1, -1):
            result = result @ np.asarray(matrices[index - 1])
        return result

    maps = {i: product(num_layers, i) for i in range(2, num_layers + 1)}
    ratio = {layer: weights[-1] / weights[layer - 1] for layer in range(1, num_layers)}
    c_gamma = sum(ratio[i - 1] * maps[i] @ maps[i].T for i in maps)
    residual = np.asarray(y - x @ product(num_layers, 1).T)
    whitened = np.linalg.solve(np.eye(len(c_gamma)) + c_gamma, residual.T)
    activities = []
    for layer in range(1, num_layers):
        response = ratio[layer] * maps[layer + 1].T
        for i in range(2, layer - short_by + 1):
            response = response + ratio[i - 1] * product(layer, i) @ maps[i].T
        activities.append(np.asarray(x) @ product(layer, 1).T + (response @ whitened).T)
    return activities


@pytest.mark.parametrize("skip", [False, True])
def test_activities_written_out(skip):
    """pc-tp Eq. 16 with a sum up to l; the one in print, up to l - 1, is wrong from layer 2 on."""
    weights, multipliers, x, y = problem(4, 3)
    matrices = closed.effective_matrices(weights, multipliers, skip=skip)
    known = closed.equilibrium_activities(matrices, x, y, gammas(4))[:-1]
    for own, z in zip(written_out(matrices, x, y, gammas(4), short_by=0), known, strict=True):
        np.testing.assert_allclose(own, z, atol=1e-12)
    printed = written_out(matrices, x, y, gammas(4), short_by=1)
    np.testing.assert_allclose(printed[0], known[0], atol=1e-12)
    for own, z in zip(printed[1:], known[1:], strict=True):
        assert np.linalg.norm(own - z) > 0.05 * np.linalg.norm(z)


def test_two_layers():
    """pc-tp (A3): e*_1 = (W_2^T W_2 + g_1/g_2 I)^{-1} W_2^T (y - f)."""
    weights, multipliers, x, y = problem(2, 3)
    matrices = closed.effective_matrices(weights, multipliers, skip=False)
    w = np.asarray(matrices[1])
    residual = np.asarray(y - x @ (matrices[1] @ matrices[0]).T)
    known = np.linalg.solve(w.T @ w + 0.7 / 1.9 * np.eye(w.shape[1]), w.T @ residual.T).T
    own = closed.equilibrium_errors(matrices, x, y, [0.7, 1.9])[0]
    np.testing.assert_allclose(own, known, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(("num_layers", "output_dim", "skip"), SHAPES)
def test_gradients(num_layers, output_dim, skip):
    """pcn-limits T3: the local rule at z* is the total derivative of F*, over g_l (pc-tp S.33)."""
    weights, multipliers, x, y = problem(num_layers, output_dim)
    given = gammas(num_layers)

    def of_weights(quantity):
        def value(weights):
            return quantity(closed.effective_matrices(weights, multipliers, skip=skip), x, y)

        return jax.grad(value)(weights)

    def star(matrices, x, y):
        return closed.equilibrium_energy(matrices, x, y, given)

    local = closed.predictive_coding_gradients(
        weights, multipliers, x, y, skip=skip, energy_weights=given
    )
    for a, b, weight in zip(local, of_weights(star), given, strict=True):
        np.testing.assert_allclose(a, b / weight, atol=1e-12)
    local = closed.backpropagation_gradients(weights, multipliers, x, y, skip=skip)
    for a, b in zip(local, of_weights(closed.loss), strict=True):
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
    scaling = {
        "input": {"multiplier": 0.5, "branch": 7.0},
        "hidden": {"multiplier": 2.0, "branch": 0.3},
    }
    for skip, hidden in ((False, 2.0), (True, 0.6)):
        weights, multipliers = closed.layer_matrices(
            params, scaling, ["input", "hidden"], skip=skip
        )
        assert [w.shape for w in weights] == [(3, 2), (3, 3), (3, 3)]
        np.testing.assert_allclose(multipliers, [0.5, hidden, hidden])
        np.testing.assert_array_equal(weights[2], params[1]["w"][1])
