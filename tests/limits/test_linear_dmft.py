"""The solution forward in time against wide networks, a fixed point over all times, and closed forms."""

import functools
from itertools import pairwise

import numpy as np
import pytest

from scaling_limits.limits import linear_dmft

SETTINGS = {"num_steps": 7, "learning_rate": 0.2, "output_scale": 1.5, "hidden_scale": 0.7}


@functools.cache
def problem(samples=3, input_dim=5, output_dim=1, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(samples, input_dim)), rng.normal(size=(samples, output_dim))


@functools.cache
def toy(samples):
    """pcn-limits T14: standard normal inputs in 40 dimensions, labels +-1; note 1.12 has P = 6."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, samples)).T
    return x, np.sign(rng.standard_normal((samples, 1)))


def wide_networks(
    x,
    y,
    *,
    width,
    seeds,
    num_weight_layers,
    num_steps,
    learning_rate,
    output_scale=1.0,
    hidden_scale=1.0,
    skip=False,
):
    """Outputs `[seeds, steps, P, C]` of networks of finite width; every second has the output
    weights of the one before with the other sign, so that f(0) is zero on average.
    """
    rng = np.random.default_rng(width)
    sizes = [x.shape[1], *[width] * (num_weight_layers - 1), y.shape[1]]
    weights = [rng.normal(size=(seeds, out, fan_in)) for fan_in, out in pairwise(sizes)]
    for w in weights[:-1]:
        w[1::2] = w[::2]
    weights[-1][1::2] = -weights[-1][::2]
    hidden = [hidden_scale * width**-0.5] * (num_weight_layers - 2)
    multipliers = [x.shape[1] ** -0.5, *hidden]
    multipliers.append(1 / (output_scale * width))
    rate = learning_rate * output_scale**2 * width
    carried = [0, *[int(skip)] * (num_weight_layers - 2), 0]
    layers = list(zip(weights, multipliers, carried, strict=True))
    outputs = []
    for _ in range(num_steps):
        inputs = [np.broadcast_to(x, (seeds, *x.shape))]
        for w, c, keep in layers:
            z = inputs[-1]
            inputs.append(c * z @ w.swapaxes(1, 2) + (z if keep else 0.0))
        outputs.append(inputs.pop())
        g = (outputs[-1] - y) / len(x)
        for (w, c, keep), z in zip(reversed(layers), reversed(inputs), strict=True):
            below = c * g @ w + (g if keep else 0.0)
            w -= rate * c * g.swapaxes(1, 2) @ z
            g = below
    return np.stack(outputs, axis=1)


def fixed_point(x, y, *, num_weight_layers, num_steps, learning_rate, output_scale):
    """Outputs `[steps, P]` by the recipe of note 1.12: matrices over all pairs of (step, sample).

    Everything is strictly causal, so sweeps settle one more step each.
    """
    samples, hidden = len(x), num_weight_layers - 1
    size, g2 = num_steps * samples, output_scale**2
    step = np.arange(size) // samples
    causal, one = step[:, None] > step, np.eye(size)
    h0 = np.kron(np.ones((num_steps, num_steps)), x @ x.T / x.shape[1])
    h = [h0, *[np.zeros((size, size))] * hidden]
    g = [*[np.zeros((size, size))] * (hidden + 1), np.ones((size, size))]
    a, b = [np.zeros((size, size))] * (hidden + 1), [np.zeros((size, size))] * (hidden + 1)
    f = np.zeros(size)
    for _ in range(num_steps * (2 * hidden + 1)):
        d = learning_rate / samples * (np.tile(y[:, 0], num_steps) - f)
        for i in range(1, hidden + 1):
            above = g[i + 1] if i < hidden else g[-1]
            c, e = a[i - 1] + causal * h[i - 1] * d, b[i] + causal * above * d
            m1, m2 = np.linalg.inv(one - g2 * c @ e), np.linalg.inv(one - g2 * e @ c)
            mixed = m1 @ (h[i - 1] @ e.T + c @ above) @ m2.T
            h[i] = m1 @ (h[i - 1] + g2 * c @ above @ c.T) @ m1.T
            g[i] = m2 @ (above + g2 * e @ h[i - 1] @ e.T) @ m2.T
            a[i], b[i - 1] = m1 @ c, m2 @ e
        f = np.diag(mixed)
    return f.reshape(num_steps, samples)


def test_reference_values():
    """Note 1.12, L = 2, gamma_0 = 1, P = 6, D = 40, eta_0 = 0.05."""
    x, y = toy(6)
    losses = linear_dmft.gradient_descent(
        x, y, num_weight_layers=2, num_steps=40, learning_rate=0.05
    ).losses
    expected = [0.5, 0.3924, 0.3059, 0.2351, 0.1774, 0.0958, 0.0526]
    np.testing.assert_allclose(losses[[0, 5, 10, 15, 20, 30, 39]], expected, atol=6e-5)


@pytest.mark.parametrize(("num_weight_layers", "output_scale"), [(2, 1.0), (3, 2.0), (5, 0.7)])
def test_fixed_point_over_all_times(num_weight_layers, output_scale):
    x, y = problem()
    settings = {
        "num_weight_layers": num_weight_layers,
        "num_steps": 5,
        "learning_rate": 0.3,
        "output_scale": output_scale,
    }
    outputs = linear_dmft.gradient_descent(x, y, **settings).outputs[..., 0]
    assert abs(outputs[-1]).max() > 0.1
    np.testing.assert_allclose(outputs, fixed_point(x, y, **settings), atol=1e-12)


def kernel_descent(x, y, factor, num_steps, learning_rate):
    kernel = factor * x @ x.T / x.shape[1]
    outputs = [np.zeros_like(y)]
    for _ in range(num_steps - 1):
        outputs.append(outputs[-1] + learning_rate / len(x) * kernel @ (y - outputs[-1]))
    return np.stack(outputs)


@pytest.mark.parametrize("skip", [False, True])
def test_lazy_limit(skip):
    """gamma_0 -> 0: descent in the tangent kernel at initialisation (pcn-limits Eq. 64)."""
    x, y = problem(output_dim=2)
    layers, hidden_scale = 5, 0.6
    branch = hidden_scale**2
    growth = skip + branch
    kernel = 2 * growth ** (layers - 2) + (layers - 2) * branch * growth ** (layers - 3)
    expected = kernel_descent(x, y, kernel, 6, 0.1)

    def error(output_scale):
        trained = linear_dmft.gradient_descent(
            x,
            y,
            num_weight_layers=layers,
            num_steps=6,
            learning_rate=0.1,
            output_scale=output_scale,
            hidden_scale=hidden_scale,
            skip=skip,
        )
        return abs(trained.outputs - expected).max()

    assert error(0.0) < 1e-12
    assert error(1e-3) < 1e-5
    assert error(1e-2) / error(1e-3) == pytest.approx(100, rel=0.05)


def test_starts_at_zero_and_reports_the_loss():
    x, y = problem(output_dim=2)
    trained = linear_dmft.gradient_descent(
        x, y, num_weight_layers=4, num_steps=3, learning_rate=0.1, hidden_scale=0.5, skip=True
    )
    assert trained.outputs.shape == (3, 3, 2)
    np.testing.assert_array_equal(trained.outputs[0], np.zeros_like(y))
    expected = [((y - f) ** 2).sum() / (2 * len(y)) for f in trained.outputs]
    np.testing.assert_allclose(trained.losses, expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("num_weight_layers", "output_dim", "skip"), [(2, 1, False), (4, 2, False), (4, 2, True)]
)
def test_single_wide_networks(num_weight_layers, output_dim, skip):
    """They meet the limit as N^-1/2."""
    x, y = problem(output_dim=output_dim)
    settings = {**SETTINGS, "num_weight_layers": num_weight_layers, "skip": skip}
    limit = linear_dmft.gradient_descent(x, y, **settings).outputs
    widths = (32, 128, 512)
    errors = []
    for width in widths:
        outputs = wide_networks(x, y, width=width, seeds=2048 // width, **settings)
        errors.append(((outputs - limit) ** 2).mean() ** 0.5)
    assert np.polyfit(np.log(widths), np.log(errors), 1)[0] == pytest.approx(-0.5, abs=0.15)
    assert errors[-1] < 0.2 * limit.std()


@pytest.mark.parametrize("skip", [False, True])
def test_mean_over_networks(skip):
    """Its distance to the limit is proportional to 1/N, so nothing is left over at N = inf."""
    x, y = problem()
    settings = {**SETTINGS, "num_weight_layers": 4, "skip": skip}
    limit = linear_dmft.gradient_descent(x, y, **settings).outputs

    def bias(width):
        outputs = wide_networks(x, y, width=width, seeds=2048, **settings)
        return (outputs.mean(axis=0) - limit).ravel()

    narrow, wide = bias(16), bias(64)
    assert narrow @ wide / (narrow @ narrow) == pytest.approx(1 / 4, abs=0.06)


def test_deep_and_rich():
    """L = 5, gamma_0 = 2, 100 steps: finite, descending, and at first as wide networks do."""
    x, y = toy(20)
    settings = {"num_weight_layers": 5, "learning_rate": 0.025, "output_scale": 2.0}
    limit = linear_dmft.gradient_descent(x, y, num_steps=100, **settings)
    assert np.isfinite(limit.outputs).all()
    assert (np.diff(limit.losses) < 0).all()
    errors = []
    for width, seeds in ((64, 128), (256, 64)):
        outputs = wide_networks(x, y, width=width, seeds=seeds, num_steps=15, **settings)
        errors.append(abs(outputs.mean(axis=0) - limit.outputs[:15]).max())
    assert abs(limit.outputs[14]).max() > 0.3
    assert errors[1] < 0.7 * errors[0]
    assert errors[1] < 0.03


def test_richer_networks_learn_faster():
    """pcn-limits T14, Fig. A.3 and A.23: the loss after 100 steps falls with gamma_0."""
    x, y = toy(20)
    for skip in (False, True):
        last = [
            linear_dmft.gradient_descent(
                x,
                y,
                num_weight_layers=5,
                num_steps=50,
                learning_rate=0.05,
                output_scale=output_scale,
                hidden_scale=5**-0.5 if skip else 1.0,
                skip=skip,
            ).losses[-1]
            for output_scale in (0.1, 0.5, 1.0, 2.0, 4.0)
        ]
        assert (np.diff(last) < 0).all()


def test_divergence_is_a_result():
    x, y = problem()
    trained = linear_dmft.gradient_descent(
        x, y, num_weight_layers=3, num_steps=40, learning_rate=100.0
    )
    assert not np.isfinite(trained.losses[-1])


def test_refusals():
    x, y = problem()
    with pytest.raises(ValueError, match="num_weight_layers must be at least 2, not 1"):
        linear_dmft.gradient_descent(x, y, num_weight_layers=1, num_steps=2, learning_rate=0.1)
    with pytest.raises(ValueError, match=r"x and y must be \[P, D\] and \[P, C\]"):
        linear_dmft.gradient_descent(
            x, y[:, 0], num_weight_layers=2, num_steps=2, learning_rate=0.1
        )
