"""pc-tp A7: converged linear feedback weights and the targets that they send."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from scaling_limits.limits.linear_feedback import (
    difference_errors,
    feedback_weights,
    ridge_for,
    targets,
)

SAMPLES, WIDTHS = 6, (9, 8, 7)
RIDGES = (0.3, 0.05)
RNG = np.random.default_rng(2)
ACTIVITIES = [RNG.normal(size=(SAMPLES, width)) for width in WIDTHS]
ERROR = RNG.normal(size=(SAMPLES, WIDTHS[-1]))


def test_feedback_weights_minimise_the_ridge_loss():
    """(S.119), (S.120)."""
    for lower, upper, ridge, q in zip(
        ACTIVITIES[:-1],
        ACTIVITIES[1:],
        RIDGES,
        feedback_weights(ACTIVITIES, RIDGES),
        strict=True,
    ):

        def loss(flat, lower=lower, upper=upper, ridge=ridge, shape=q.shape):
            weights = flat.reshape(shape)
            return ((upper @ weights.T - lower) ** 2).sum() + ridge * (weights**2).sum()

        def slope(flat, lower=lower, upper=upper, ridge=ridge, shape=q.shape):
            weights = flat.reshape(shape)
            return 2 * ((upper @ weights.T - lower).T @ upper + ridge * weights).ravel()

        flat = q.ravel()
        assert check_grad(loss, slope, flat + 0.1) < 1e-3
        np.testing.assert_allclose(slope(flat), 0.0, atol=1e-10)
        for _ in range(5):
            assert loss(flat + 1e-3 * RNG.normal(size=flat.shape)) > loss(flat)


def test_errors_of_difference_targets_are_products_of_the_weights():
    """(S.127): e_{l-1} = Q_l* e_l."""
    errors = difference_errors(ACTIVITIES, ERROR, RIDGES)
    np.testing.assert_array_equal(errors[-1], ERROR)
    for q, above, error in zip(
        feedback_weights(ACTIVITIES, RIDGES), errors[1:], errors, strict=False
    ):
        np.testing.assert_allclose(error, above @ q.T, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("scale", [1.0, 1e-2])
def test_the_correction_makes_no_difference_without_ridge(scale):
    """(S.131)-(S.133): hhat_l - h_l tends to the error with the correction, in proportion to mu."""

    def distance(ridge):
        ridges = [ridge] * len(RIDGES)
        plain = targets(ACTIVITIES, ACTIVITIES[-1] + scale * ERROR, ridges)
        corrected = difference_errors(ACTIVITIES, scale * ERROR, ridges)
        return max(
            np.abs(hhat - h - e).max()
            for hhat, h, e in zip(plain, ACTIVITIES, corrected, strict=True)
        )

    assert distance(0.0) < 1e-12
    assert distance(1e-6) / distance(1e-7) == pytest.approx(10, rel=1e-3)


def test_the_ridge_of_a_weight_decay():
    """The gradient of (S.164) with its decay vanishes at Q*."""
    lower, upper = ACTIVITIES[:2]
    decay = 0.02
    (q,) = feedback_weights(ACTIVITIES[:2], [ridge_for(decay, SAMPLES, WIDTHS[0])])
    gradient = (upper @ q.T - lower).T @ upper / SAMPLES / WIDTHS[0]
    np.testing.assert_allclose(gradient, -decay * q, rtol=1e-9, atol=1e-13)
