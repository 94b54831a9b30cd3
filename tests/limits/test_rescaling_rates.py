"""Rates in width and depth at initialisation (pcn-limits T8, T9, T10), on matrices drawn here."""

import functools
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scaling_limits.limits import linear_equilibrium as closed
from scaling_limits.limits import rescaling

INPUT_DIM, NUM_SAMPLES = 40, 20
WIDTHS = (64, 128, 256, 512, 1024)


def draw(rng, width, num_layers, scheme):
    """Weights, in float32: the rates need no more."""
    sizes = [INPUT_DIM, *[width] * (num_layers - 1), 1]
    shapes = [(out, fan_in) for fan_in, out in pairwise(sizes)]
    if scheme == "sp_uniform":
        return [2 * rng.random(shape, np.float32) - 1 for shape in shapes]
    return [rng.standard_normal(shape, np.float32) for shape in shapes]


def scales(width, num_layers, scheme, skip):
    """Multipliers: mean-field (alpha = 1/2 with skips), or those of uniform draws on +-1/sqrt(fan_in)."""
    if scheme == "sp_uniform":
        return [INPUT_DIM**-0.5, *[width**-0.5] * (num_layers - 1)]
    hidden = (width * num_layers) ** -0.5 if skip else width**-0.5
    return [INPUT_DIM**-0.5, *[hidden] * (num_layers - 2), 1 / width]


@functools.cache
def mean_rescaling(width, num_layers, scheme, seeds=None):
    """Means over seeds of s - 1, without and with skips, of the same weights.

    The output's row is passed down layer by layer, which is s by the definition of B_l.
    """
    # the spread of s - 1 falls with width
    seeds = seeds or 24 * max(1, 512 // width)
    rng, total = np.random.default_rng(2), np.zeros(2)
    for _ in range(seeds):
        weights = draw(rng, width, num_layers, scheme)
        for skip in (False, True):
            multipliers = scales(width, num_layers, scheme, skip)
            row = multipliers[-1] * weights[-1]
            total[int(skip)] += (row**2).sum()
            for c, w in zip(multipliers[-2:0:-1], weights[-2:0:-1], strict=True):
                row = c * row @ w + (row if skip else 0.0)
                total[int(skip)] += (row**2).sum()
    return total / seeds


def slope(x, y):
    return np.polyfit(np.log(x), np.log(y), 1)[0]


def test_row_recursion_is_the_rescaling_matrix():
    weights = draw(np.random.default_rng(2), 16, 5, "mean_field")
    multipliers = scales(16, 5, "mean_field", True)
    matrices = closed.effective_matrices([jnp.asarray(w) for w in weights], multipliers, skip=True)
    expected = float(closed.rescaling_matrix(matrices)[0, 0]) - 1
    assert mean_rescaling(16, 5, "mean_field", seeds=1)[1] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("skip", "theory"),
    [(False, rescaling.mean_field_mlp), (True, rescaling.mean_field_residual)],
)
def test_mean_field_rescaling(skip, theory):
    """T8: s - 1 within 10% of its exact mean, slope -1 in width."""
    measured = [mean_rescaling(width, 5, "mean_field")[int(skip)] for width in WIDTHS]
    np.testing.assert_allclose(measured, [theory(width, 5) for width in WIDTHS], rtol=0.1)
    assert slope(WIDTHS, measured) == pytest.approx(-1, abs=0.1)
    depths = (4, 8, 32)
    over_depth = [mean_rescaling(256, depth, "mean_field")[int(skip)] for depth in depths]
    np.testing.assert_allclose(over_depth, [theory(256, depth) for depth in depths], rtol=0.1)


def test_standard_rescaling_does_not_depend_on_width():
    """T10: the control."""
    widths = (64, 256, 1024)
    measured = [mean_rescaling(width, 5, "sp_uniform")[0] for width in widths]
    np.testing.assert_allclose(measured, rescaling.standard_uniform_mlp(5), atol=0.05)
    assert abs(slope(widths, measured)) < 0.05


def test_exact_means():
    """Limits of the exact formulas: (e - 1) L / N for deep residual networks, muPC's trace of S."""
    assert rescaling.mean_field_mlp(512, 8, 2.0) == pytest.approx(7 / (4 * 512))
    residual = rescaling.mean_field_residual(512, 400)
    assert residual == pytest.approx((np.e - 1) * 400 / 512, rel=0.01)
    assert rescaling.mean_field_residual(512, 33) == pytest.approx(0.103, abs=0.001)
    assert rescaling.standard_uniform_mlp(5) == pytest.approx(0.4938, abs=1e-4)


@functools.cache
def differences(width, skip, scheme="mean_field", seeds=4):
    """Means over seeds of 1 - cosine and relative error of PC gradients against BP's, L = 5."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(NUM_SAMPLES, INPUT_DIM))
    y = rng.choice([-1.0, 1.0], (NUM_SAMPLES, 1))

    @jax.jit
    def compare(weights, multipliers):
        flat = [
            jnp.concatenate([g.ravel() for g in gradients(weights, multipliers, x, y, skip=skip)])
            for gradients in (
                closed.predictive_coding_gradients,
                closed.backpropagation_gradients,
            )
        ]
        pc, bp = flat
        norm = jnp.linalg.norm
        return jnp.stack([1 - pc @ bp / norm(pc) / norm(bp), norm(pc - bp) / norm(bp)])

    values = []
    for _ in range(seeds):
        weights, multipliers = draw(rng, width, 5, scheme), scales(width, 5, scheme, skip)
        values.append(compare([w.astype(np.float64) for w in weights], multipliers))
    return np.mean(values, axis=0)


@pytest.mark.parametrize("skip", [False, True])
def test_gradients_meet_in_width(skip):
    """T9: 1 - cosine ~ N^-2, relative error ~ N^-1; the paper's N^-1/2 is an upper bound."""
    widths = (64, 128, 256, 512)
    cosine, error = np.transpose([differences(width, skip) for width in widths])
    assert slope(widths, cosine) == pytest.approx(-2, abs=0.3)
    assert slope(widths, error) == pytest.approx(-1, abs=0.15)
    assert cosine[-1] < 1e-3


def test_gradients_do_not_meet_under_the_standard_parameterisation():
    """T10: the control."""
    widths = (64, 128, 256)
    cosine, error = np.transpose([differences(width, False, "sp_uniform") for width in widths])
    assert min(cosine[:2]) > 0.1
    assert slope(widths, cosine) > -1
    assert slope(widths, error) > -0.75


@pytest.mark.parametrize("num_layers", [2, 5, 16])
def test_general_mean_has_the_named_ones_as_special_cases(num_layers):
    width, gamma = 64, 1.7

    def general(skip, hidden, output):
        return rescaling.mean_excess(
            width=width,
            num_weight_layers=num_layers,
            skip=skip,
            hidden_scale=hidden,
            output_scale=output,
        )

    mlp = rescaling.mean_field_mlp(width, num_layers, gamma)
    residual = rescaling.mean_field_residual(width, num_layers, gamma)
    uniform = rescaling.standard_uniform_mlp(num_layers)
    output = 1 / (gamma * width)
    assert general(False, width**-0.5, output) == pytest.approx(mlp, rel=1e-12)
    assert general(True, (width * num_layers) ** -0.5, output) == pytest.approx(residual, rel=1e-12)
    third = (3 * width) ** -0.5
    assert general(False, third, third) == pytest.approx(uniform, rel=1e-12)
