"""Fits of level sets, which claims judge and maps draw: exact on powers."""

import numpy as np
import pytest

from scaling_limits.figures.level_sets import fit_level_set

X = 2.0 ** np.arange(-8, 1)
Y = 2.0 ** np.arange(-3, 3)


def surface(value):
    """`value(x, y)` on the grid, [Y, X, 1]."""
    return value(X[None, :], Y[:, None])[:, :, None]


@pytest.mark.parametrize("power", [0.5, 0.6, 1.0, 1.7, 2.5])
def test_functions_of_a_power_of_y_times_x(power):
    """f(y^p x) is constant where d log y / d log x = -1/p, and its logarithm is interpolated exactly."""
    found = fit_level_set(X, Y, surface(lambda x, y: 2 * (y**power * x * 16) ** -0.3), 2.0)
    assert found.slopes == pytest.approx([-1 / power], abs=1e-9)
    # the ends lie on the set
    for x, y in found.ends[..., 0]:
        assert y**power * x * 16 == pytest.approx(1)


def test_any_function_where_rows_and_columns_are_shifted_copies():
    found = fit_level_set(X, Y, surface(lambda x, y: np.exp(-3 * np.sqrt(x * y)) + 0.1), 0.7)
    assert found.slopes == pytest.approx([-1], abs=1e-9)


def test_x_and_y_are_treated_alike():
    values = surface(lambda x, y: 1 + np.log2(x * 16 * y**0.6) ** 2 + 0.3 * np.log2(y) ** 2)
    slope = fit_level_set(X, Y, values, 4.0).slopes
    turned = fit_level_set(Y, X, values.swapaxes(0, 1), 4.0).slopes
    assert slope == pytest.approx(1 / turned)


def test_a_bent_set_has_a_slope_between_those_of_its_ends():
    """(x y)(1 + y) is constant: the slope is -(1 + y) / (1 + 2 y), from -1 at small y to -1/2 at large y."""
    values = surface(lambda x, y: (4 * x * y * (1 + y)) ** -0.5)
    assert -1 < fit_level_set(X, Y, values, 1.0).slopes[0] < -0.5


def test_the_first_crossing_counts():
    """Not the one beyond the best, where the quantity rises again."""
    values = surface(lambda x, y: np.exp(np.abs(np.log(x * y * 8))))
    found = fit_level_set(X, Y, values, 2.5)
    assert found.slopes == pytest.approx([-1], abs=1e-9)
    assert (found.ends[0].prod(axis=0) * 8) == pytest.approx(1 / 2.5)


def test_divergence_and_gaps_beyond_the_best_change_nothing():
    values = surface(lambda x, y: 2 * (y * x * 16) ** -0.3)
    whole = fit_level_set(X, Y, values, 2.0)
    values[surface(lambda x, y: x * y) > 0.5] = np.inf
    values[-1, -1] = np.nan
    assert fit_level_set(X, Y, values, 2.0).slopes == pytest.approx(whole.slopes)


def test_nothing_is_interpolated_next_to_divergence():
    values = surface(lambda x, y: 2 * (y * x * 16) ** -0.3)
    values[surface(lambda x, y: x * y * 16) < 1] = np.inf
    found = fit_level_set(X, Y, values, 2.5)
    assert found.counts == [0]
    assert np.isnan(found.slopes).all()
    assert np.isnan(found.ends).all()


def test_surfaces_are_fitted_each_by_itself():
    values = [surface(lambda x, y, p=p: (y**p * x * 16) ** -0.3) for p in (0.5, 1, 2)]
    flat = np.ones_like(values[0])
    found = fit_level_set(X, Y, np.concatenate([*values, flat], axis=2), 1.0 + 1e-12)
    assert found.slopes[:3] == pytest.approx([-2, -1, -0.5])
    # a surface below the level everywhere has no crossing
    assert found.counts[3] == 0
    assert np.isnan(found.slopes[3])
