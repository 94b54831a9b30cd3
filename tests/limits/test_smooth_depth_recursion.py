"""The corrected Def. E.1 of depth-mup: reference numbers, the linear case, finite networks; the printed form fails."""

from functools import partial

import numpy as np
import pytest
from scipy.special import erf

from scaling_limits.limits import depth_recursion
from scaling_limits.limits.gaussian_moments import Activation, ActivationMoments, moments, smooth

INPUTS, TARGETS = (1.0, 0.8, -1.2, 1.1, 0.9, -0.7), (2.0, 2.0, -2.0, 2.0, 2.0, -2.0)


def sine_and_cosine(covariances, rows, columns):
    """Closed forms for phi = sin + cos (note depth-mup 1.9)."""
    sums = rows[:, None] + columns
    e, m = np.exp(-(sums - 2 * covariances) / 2), np.exp(-sums / 2)
    return ActivationMoments(e - m, e, e, -(e - m), -e)


def printed(mean_derivatives):
    """Kets of Def. E.1 as printed; `mean_derivatives` maps variances of h to E phi'(h)."""

    class Printed(depth_recursion.Kets):
        def backward_coefficients(self, block, now):
            past, upto = slice(now.start), slice(now.stop)
            means = mean_derivatives(np.diagonal(self.x.moments[block]))
            derivatives = self.activation.derivatives[block, now, upto]
            found = (derivatives - np.outer(means[now], means[upto])) * self.dx.fields[
                block + 1, now, 0, block, upto
            ]
            found -= self.rate * derivatives * self.dx.moments[block + 1, now, upto]
            found[:, past.stop :] = 0.0
            return found

    return Printed


def train(num_blocks, activation, steps=6):
    """One input, one output, one sample a step, half the squared error, eta = 1."""
    return depth_recursion.train(
        np.reshape(INPUTS[:steps], (-1, 1, 1)),
        lambda step, outputs: outputs - TARGETS[step],
        output_dim=1,
        num_blocks=num_blocks,
        branch_scale=num_blocks**-0.5,
        learning_rate=1.0,
        moments=activation,
    )


def test_reference_numbers():
    """Note depth-mup 1.9, at 256 blocks: phi = sin + cos, which finite networks meet."""
    limit = train(256, sine_and_cosine)
    outputs = [0, 1.2665, -0.1705, 2.146, 1.621, -1.280]
    np.testing.assert_allclose(limit.outputs.ravel(), outputs, atol=6e-4)
    sizes = [1.317, 2.006, 1.539, 2.992, 2.671, 1.833]
    np.testing.assert_allclose(limit.rms[:, 0, -1], sizes, atol=6e-4)
    assert limit.backward[0, 1, 1] ** 0.5 == pytest.approx(1.04, abs=0.01)


def test_the_printed_form_gives_other_numbers(monkeypatch):
    """Note depth-mup 1.9: the same f_1, but f_5 = -1.473, and 1.79 in place of 1.04, which networks have."""
    kets = printed(lambda variances: np.exp(-variances / 2))
    monkeypatch.setattr(depth_recursion, "Kets", kets)
    limit = train(256, sine_and_cosine)
    outputs = limit.outputs.ravel()
    np.testing.assert_allclose(outputs[[1, 5]], [1.2665, -1.473], atol=6e-4)
    assert limit.rms[5, 0, -1] == pytest.approx(2.159, abs=6e-4)
    assert limit.backward[0, 1, 1] ** 0.5 == pytest.approx(1.79, abs=0.01)


def test_a_linear_activation_is_the_linear_recursion():
    """Prop. 4.4 as the case phi(h) = h, with batches, several inputs and outputs."""
    identity = Activation(lambda u: u, np.ones_like, np.zeros_like, np.zeros_like)
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(4, 3, 2)), rng.normal(size=(4, 3, 2))
    settings = {"output_dim": 2, "num_blocks": 6, "branch_scale": 0.4, "learning_rate": 0.3}
    linear, smoothed = (
        depth_recursion.train(x, lambda t, f: f - y[t], **settings, moments=given)
        for given in (None, partial(moments, identity))
    )
    for name in ("outputs", "forward", "backward", "across_layers"):
        np.testing.assert_allclose(getattr(smoothed, name), getattr(linear, name), atol=1e-11)


def test_a_batch_of_copies():
    """Copies of a sample in a batch change nothing."""
    x, y = (np.reshape(values, (-1, 1, 1)) for values in (INPUTS[:3], TARGETS[:3]))
    settings = {"output_dim": 1, "num_blocks": 5, "branch_scale": 0.4, "learning_rate": 0.7}
    one, two = (
        depth_recursion.train(
            x[:, copies], lambda t, f: f - y[t], **settings, moments=sine_and_cosine
        )
        for copies in ([0], [0, 0])
    )
    np.testing.assert_allclose(two.outputs, one.outputs[:, [0, 0]], atol=1e-12)
    np.testing.assert_allclose(two.forward[:, ::2, 1::2], one.forward, atol=1e-12)
    np.testing.assert_allclose(two.backward[:, ::2, 1::2], one.backward, atol=1e-12)


def finite_network(num_blocks, seed, width=512):
    """f_t, root mean squares of x_t^L and of n dx_t^0, t = 0, 1, of a network of erf as Sec. 6.3 defines it."""
    rng = np.random.default_rng(seed)
    first, last = rng.normal(size=width), rng.normal(size=width) / width
    weights = rng.normal(size=(num_blocks, width, width)).astype(np.float32) / np.float32(
        width**0.5
    )
    scale, found = num_blocks**-0.5, []
    for step in range(2):
        x, h = [first * INPUTS[step]], []
        for weight in weights:
            h.append(weight @ x[-1].astype(np.float32))
            x.append(x[-1] + scale * (erf(h[-1]) - erf(h[-1]).mean()))
        output = last @ x[-1]
        g = (output - TARGETS[step]) * last
        for block in reversed(range(num_blocks)):
            slope = scale * 2 / np.pi**0.5 * np.exp(-(h[block] ** 2)) * (g - g.mean())
            below = g + weights[block].T @ slope
            weights[block] -= np.outer(slope, x[block])
            g = below
        found.append([output, *(np.sqrt((z**2).mean()) for z in (x[-1], width * g))])
    return np.array(found)


def test_finite_networks(monkeypatch):
    """Networks of erf tend to the corrected form as they deepen, and differ from the printed one by half of it."""
    erf_moments = partial(moments, smooth("erf"))

    def predicted():
        limit = train(64, erf_moments, steps=2)
        sizes = (limit.rms[:, 0, -1], np.sqrt(np.diagonal(limit.backward[0])))
        return np.stack([limit.outputs.ravel(), *sizes], axis=1)

    corrected = predicted()
    shallow, deep = (
        np.mean([finite_network(num_blocks, seed) for seed in range(4)], axis=0)
        for num_blocks in (16, 64)
    )
    # f_0 and f_1 scatter with the width
    np.testing.assert_allclose(deep, corrected, rtol=0.05, atol=0.1)
    assert deep[1, 2] == pytest.approx(corrected[1, 2], rel=0.05)
    assert (abs(deep[1] - corrected[1]) < 0.7 * abs(shallow[1] - corrected[1]) + 0.01).all()
    kets = printed(lambda variances: 2 / np.sqrt(np.pi * (1 + 2 * variances)))
    monkeypatch.setattr(depth_recursion, "Kets", kets)
    assert predicted()[1, 2] > 1.5 * deep[1, 2]
