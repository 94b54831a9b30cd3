"""The Hessian by the activities against automatic differentiation, dense matrices and closed forms."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy_networks import EXACT, UNEQUAL, build, data

from scaling_limits.algorithms.predictive_coding import exact
from scaling_limits.algorithms.predictive_coding.hessian import (
    activity_hessian,
    dense,
    eliminate,
)
from scaling_limits.algorithms.problem import Problem
from scaling_limits.losses.outputs import mean_loss
from scaling_limits.measurements.conditioning import NUM_PRODUCTS
from scaling_limits.measurements.eigenvalues import extremes

CROSS_ENTROPY = EXACT.model_copy(update={"loss": "cross_entropy"})


def problem(*, options=EXACT, outputs=3, weights=None, numbers=None, **changes):
    network, params, scaling = build(scheme="sp_gaussian", output_dim=outputs, **changes)
    x, y = data(output_dim=outputs, one_hot=options.loss == "cross_entropy")
    return Problem(network, weights or params, scaling, x, y, options, numbers or {})


def hessian_of(case):
    """Compiled as a whole, as all that is of some size here."""
    return jax.jit(lambda params: activity_hessian(replace(case, params=params)))(case.params)


@jax.jit
def dense_of(hessian):
    return dense(hessian.diagonal(), hessian.couplings())


def matrix(hessian):
    return np.asarray(dense_of(hessian))


def by_autodiff(case, decay=0.0):
    """The energy of the first sample as it is written, differentiated twice at the forward pass."""
    nodes = [
        (segment, jax.tree.map(lambda leaf, i=i: leaf[i], stacked))
        for segment, stacked in zip(case.network.segments, case.params, strict=True)
        for i in range(segment.count)
    ]

    def energy(flat, shape):
        below, total = case.x[0], 0.0
        for (segment, params), z in zip(nodes[:-1], flat.reshape(shape), strict=True):
            error = z - segment.apply(params, case.scaling, below[None])[0]
            total += case.scaling[segment.role]["energy_weight"] / 2 * error @ error
            below = z
        segment, params = nodes[-1]
        output = segment.apply(params, case.scaling, below[None])
        weight = case.scaling["output"]["energy_weight"]
        return (
            total
            + weight * mean_loss(case.options.loss, output, case.y[:1])
            + decay / 2 * flat @ flat
        )

    def hessian():
        stacks = case.network.activities(case.params, case.scaling, case.x[:1])
        z = jnp.concatenate([stack[:, 0] for stack in stacks[:-1]])
        return jax.hessian(energy)(z.ravel(), z.shape)

    return jax.jit(hessian)()


@pytest.mark.parametrize(
    ("activation", "changes"),
    [
        ("linear", {}),
        ("relu", {"skip": True, "energy_weights": UNEQUAL}),
        ("tanh", {"skip": True, "energy_weights": UNEQUAL}),
        ("tanh", {"position": "after_weight"}),
        ("relu", {"skip": True, "block_depth": 2, "energy_weights": UNEQUAL}),
        ("tanh", {"skip": True, "block_depth": 2, "layer_norm": True}),
        ("relu", {"options": CROSS_ENTROPY, "energy_weights": UNEQUAL}),
        ("tanh", {"options": CROSS_ENTROPY, "num_hidden_layers": 1}),
        ("tanh", {"width": 2}),
    ],
)
def test_the_blocks_are_second_derivatives_of_the_energy(activation, changes):
    case = problem(activation=activation, **changes)
    np.testing.assert_allclose(matrix(hessian_of(case)), by_autodiff(case), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("activation", ["linear", "relu", "tanh"])
def test_products_and_solutions_are_those_of_the_dense_matrix(activation):
    case = problem(activation=activation, skip=True, energy_weights=UNEQUAL)
    hessian = hessian_of(case)
    whole = matrix(hessian)
    z = np.random.default_rng(2).normal(size=(4, 8))
    product = np.asarray(jax.jit(lambda h, z: h.product(z))(hessian, z))
    np.testing.assert_allclose(product.ravel(), whole @ z.ravel(), rtol=1e-10)
    solved = np.asarray(jax.jit(lambda h, z: eliminate(h).solve(z))(hessian, z))
    np.testing.assert_allclose(solved.ravel(), np.linalg.solve(whole, z.ravel()), rtol=1e-8)


@jax.jit
def negative_of(hessian):
    return eliminate(hessian).num_negative


@pytest.mark.parametrize("scale", [1.0, 3.0, 10.0])
def test_negative_eigenvalues_are_counted(scale):
    """Bent activations and a large residual make the energy concave in some directions."""
    case = problem(activation="tanh", num_hidden_layers=2)
    case = Problem(case.network, case.params, case.scaling, case.x, scale * case.y, case.options)
    hessian = hessian_of(case)
    values = np.linalg.eigvalsh(matrix(hessian))
    assert int(negative_of(hessian)) == (values < 0).sum()
    if scale == 10.0:
        assert values[0] < 0


def test_a_decay_shifts_all_eigenvalues():
    plain, decayed = (problem(numbers=n) for n in ({}, {"activity_decay": jnp.float64(0.7)}))
    shifted = np.linalg.eigvalsh(matrix(hessian_of(plain))) + 0.7
    np.testing.assert_allclose(np.linalg.eigvalsh(matrix(hessian_of(decayed))), shifted, rtol=1e-10)
    np.testing.assert_allclose(matrix(hessian_of(decayed)), by_autodiff(decayed, 0.7), atol=1e-12)


def test_without_weights_it_is_the_identity():
    case = problem()
    zero = jax.tree.map(jnp.zeros_like, case.params)
    hessian = hessian_of(problem(weights=zero))
    np.testing.assert_array_equal(matrix(hessian), np.eye(32))


def test_its_determinant_is_that_of_the_rescaling_matrix():
    """mupc Theorem A.1: positive definite, whatever the weights."""
    case = problem(skip=True)
    whole = matrix(hessian_of(case))
    sign, size = np.linalg.slogdet(whole)
    rescaling = np.linalg.slogdet(jax.jit(lambda: exact.rescaling_matrix(case))())[1]
    assert sign == 1
    np.testing.assert_allclose(size, rescaling, rtol=1e-10)
    assert np.linalg.eigvalsh(whole)[0] > 0


@jax.jit
def extremes_of(hessian):
    """Of the matrix and of its inverse."""
    return (
        extremes(hessian.product, hessian.like, NUM_PRODUCTS),
        extremes(eliminate(hessian).solve, hessian.like, NUM_PRODUCTS),
    )


@pytest.mark.parametrize("activation", ["linear", "tanh"])
def test_extremes_are_those_of_the_dense_matrix(activation):
    case = problem(activation=activation, width=32, num_hidden_layers=8)
    hessian = hessian_of(case)
    values, vectors = np.linalg.eigh(matrix(hessian))
    above = int((values < 0).sum())
    direct, inverse = extremes_of(hessian)
    np.testing.assert_allclose(direct.largest, values[-1], rtol=1e-8)
    np.testing.assert_allclose(1 / inverse.largest, values[above], rtol=1e-8)
    np.testing.assert_allclose(abs(direct.of_largest.ravel() @ vectors[:, -1]), 1, rtol=1e-6)
    np.testing.assert_allclose(abs(inverse.of_largest.ravel() @ vectors[:, above]), 1, rtol=1e-6)
    if above:
        np.testing.assert_allclose(direct.smallest, values[0], rtol=1e-8)


@pytest.mark.parametrize(("depth", "width", "outputs"), [(8, 24, 10), (16, 12, 3), (8, 3, 10)])
def test_orthogonal_weights_have_a_closed_form(depth, width, outputs):
    """mupc Sec. A.2: blocks tridiagonal(-1, 2, -1), whose last entry is 1 where no output sees them."""
    rng = np.random.default_rng(0)

    def draw(leaf):
        rows = [np.linalg.qr(rng.normal(size=(max(leaf.shape[1:]),) * 2))[0] for _ in leaf]
        return jnp.asarray(np.stack(rows)[:, : leaf.shape[1], : leaf.shape[2]])

    case = problem(width=width, num_hidden_layers=depth, outputs=outputs)
    hessian = hessian_of(replace(case, params=jax.tree.map(draw, case.params)))
    direct, inverse = extremes_of(hessian)
    half = np.pi / 2
    expected = 1 / np.tan(half / (depth + 1)) ** 2
    if width > outputs:
        expected = np.sin(half * depth / (depth + 1)) ** 2 / np.sin(half / (2 * depth + 1)) ** 2
    np.testing.assert_allclose(direct.largest * inverse.largest, expected, rtol=1e-6)


def test_condition_numbers_beyond_float64_are_those_of_the_factor():
    """H = A^T A, whose singular values are as far apart as the root of its eigenvalues."""
    width = 6
    case = problem(skip=True, width=width, num_hidden_layers=32)
    hessian = hessian_of(
        problem(
            skip=True,
            width=width,
            num_hidden_layers=32,
            weights=jax.tree.map(lambda leaf: 3 * leaf, case.params),
        )
    )
    factor = np.eye(32 * width + 3, 32 * width)
    factor[-3:, -width:] = -np.asarray(hessian.output)
    for layer, jacobian in enumerate(np.asarray(hessian.jacobians), start=1):
        rows = slice(layer * width, (layer + 1) * width)
        factor[rows, (layer - 1) * width : layer * width] = -jacobian
    values = np.linalg.svd(factor, compute_uv=False)
    expected = (values[0] / values[-1]) ** 2
    assert expected > 1e16
    direct, inverse = extremes_of(hessian)
    np.testing.assert_allclose(direct.largest * inverse.largest, expected, rtol=1e-3)


def test_premultipliers_and_variances_are_the_same_hessian():
    """mupc Eq. 20: a = 1 and b = 1/N, or a = N^(-1/2) and b = 1."""
    case = problem(width=8)
    scale = {role: s["init_std"] for role, s in case.scaling.items()}
    scaling = {
        role: {**s, "multiplier": scale[role], "init_std": 1.0} for role, s in case.scaling.items()
    }
    params = tuple(
        jax.tree.map(lambda leaf, r=segment.role: leaf / scale[r], stacked)
        for segment, stacked in zip(case.network.segments, case.params, strict=True)
    )
    other = Problem(case.network, params, scaling, case.x, case.y, case.options)
    np.testing.assert_allclose(matrix(hessian_of(other)), matrix(hessian_of(case)), rtol=1e-12)
