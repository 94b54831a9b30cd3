"""Moments of activations of Gaussians, against closed forms and adaptive quadrature."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from scaling_limits.limits.gaussian_moments import SMOOTH, moments, smooth

CORRELATIONS = (0.0, -0.4, 0.9, 1 - 1e-9, 1.0, -1.0)


def pairs(variance, other):
    """Covariances at all correlations, with a row of one variance and columns of another."""
    covariances = np.array(CORRELATIONS)[None] * np.sqrt(variance * other)
    return covariances, np.array([variance]), np.full(len(CORRELATIONS), other)


@pytest.mark.parametrize(("variance", "other"), [(0.3, 0.3), (1.0, 4.0), (8.0, 8.0)])
def test_closed_forms_of_erf(variance, other):
    """The arc-sine kernel (Williams 1997) and its derivatives in the covariance, by Price's theorem."""
    found = moments(smooth("erf"), *pairs(variance, other))
    c, a, b = pairs(variance, other)[0][0], 1 + 2 * variance, 1 + 2 * other
    det = a * b - 4 * c**2
    expected = {
        "values": 2 / np.pi * np.arcsin(2 * c / np.sqrt(a * b)),
        "derivatives": 4 / np.pi / np.sqrt(det),
        "curvatures": 16 / np.pi * c / det**1.5,
        "curvature_values": -8 / np.pi * c / (a * np.sqrt(det)),
        "third_derivatives": -8 / np.pi * b / det**1.5,
    }
    for name, value in expected.items():
        np.testing.assert_allclose(getattr(found, name)[0], value, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("variance", [0.5, 8.0])
def test_the_same_gaussian_twice(name, variance):
    """At correlation 1 the moments are integrals over one Gaussian."""
    phi = smooth(name)
    found = moments(phi, *(np.full(shape, variance) for shape in ((1, 1), 1, 1)))

    def mean(f, g):
        def integrand(x):
            u = np.array(variance**0.5 * x)
            return float(f(u) * g(u)) * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)

        return quad(integrand, -12, 12, epsabs=1e-12, limit=400)[0]

    def one(_):
        return 1.0

    centre = mean(phi.value, one)
    expected = [
        mean(phi.value, phi.value) - centre**2,
        mean(phi.first, phi.first),
        mean(phi.second, phi.second),
        mean(phi.second, lambda u: phi.value(u) - centre),
        mean(phi.third, phi.first),
    ]
    np.testing.assert_allclose([part.item() for part in found], expected, atol=1e-8)


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives(name):
    """Each function is the derivative of the one before it."""
    u, step = np.linspace(-3, 3, 13), 1e-5
    phi = smooth(name)
    for function, derivative in pairwise(phi):
        slope = (function(u + step) - function(u - step)) / (2 * step)
        np.testing.assert_allclose(derivative(u), slope, atol=1e-8)


@pytest.mark.parametrize("name", SMOOTH)
def test_prices_theorem_close_to_singular(name):
    """d Cov(phi, phi) / dc = E phi' phi' and d E phi' phi' / dc = E phi'' phi'' (Price 1958)."""
    step = 1e-5
    covariances = np.array([[0.4, 1 - 1e-4]])
    at = [
        moments(smooth(name), covariances + by, np.ones(1), np.ones(2)) for by in (-step, 0, step)
    ]
    for function, derivative in (("values", "derivatives"), ("derivatives", "curvatures")):
        slope = (getattr(at[2], function) - getattr(at[0], function)) / (2 * step)
        np.testing.assert_allclose(getattr(at[1], derivative), slope, atol=1e-7)


def test_a_gaussian_that_is_zero():
    found = moments(smooth("gelu"), np.zeros((1, 1)), np.zeros(1), np.ones(1))
    assert found.values.item() == pytest.approx(0.0, abs=1e-15)
    # phi'(0) E phi'(w) = 1/4
    assert found.derivatives.item() == pytest.approx(0.25)
