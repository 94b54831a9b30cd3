"""The recursion against closed forms, tabulated values, its rate in depth, and finite networks."""

import functools

import numpy as np
import pytest

from scaling_limits.limits import depth_recursion

# a, alpha, gamma
EXPONENTS = [(1.0, 0.5, 0.5), (0.7, 0.75, 0.25), (1.3, 1.0, 0.0), (0.8, 0.6, 0.7)]


def squared_error(targets):
    return lambda step, outputs: outputs - targets[step]


def scalar(inputs, targets, num_blocks, learning_rate, a=1.0, alpha=0.5, gamma=0.5):
    """One input, one output, one sample a step."""
    return depth_recursion.train(
        np.reshape(inputs, (-1, 1, 1)),
        squared_error(targets),
        output_dim=1,
        num_blocks=num_blocks,
        branch_scale=a * num_blocks**-alpha,
        learning_rate=learning_rate * num_blocks ** (alpha - gamma),
    )


@functools.cache
def ones(num_blocks, learning_rate, alpha, gamma):
    """The task of note depth-mup (L2)."""
    return scalar(np.ones(10), np.ones(10), num_blocks, learning_rate, 1.0, alpha, gamma)


@pytest.mark.parametrize(("a", "alpha", "gamma"), EXPONENTS)
def test_first_step(a, alpha, gamma):
    """Note 1.7 (App. D.1): moments at initialisation, f_0 and f_1, exact at any depth."""
    depth, eta, inputs, targets = 9, 0.6, (0.9, -1.4), (0.5, 0.3)
    limit = scalar(inputs, targets, depth, eta, a, alpha, gamma)
    growth = 1 + a**2 * depth ** (-2 * alpha)
    layers = np.arange(depth + 1)
    chi = -targets[0]
    assert limit.outputs[0] == 0
    np.testing.assert_allclose(limit.forward[:, 0, 0], inputs[0] ** 2 * growth**layers, rtol=1e-12)
    np.testing.assert_allclose(limit.rms[0, 0] ** 2, limit.forward[:, 0, 0], rtol=1e-12)
    expected = chi**2 * growth ** (depth - layers)
    np.testing.assert_allclose(limit.backward[:, 0, 0], expected, rtol=1e-12)
    lower = np.minimum.outer(layers, layers)
    np.testing.assert_allclose(limit.across_layers[0], inputs[0] ** 2 * growth**lower, rtol=1e-12)
    expected = -eta * a**2 * chi * inputs[0] * inputs[1] * growth ** (depth - 1)
    expected *= depth ** (1 - alpha - gamma)
    np.testing.assert_allclose(limit.outputs[1], expected, rtol=1e-12)


@pytest.mark.parametrize(("alpha", "gamma"), [(0.5, 0.5), (1.0, 0.0), (0.6, 0.7)])
def test_features_after_one_step(alpha, gamma):
    """Eq. 11 (App. D.2, eta = a = 1): four independent groups of fields."""
    depth, inputs, targets = 7, (0.9, -1.4), (0.5, 0.3)
    limit = scalar(inputs, targets, depth, 1.0, 1.0, alpha, gamma)
    branch, chi = depth ** (-2 * alpha), -targets[0]
    c = -inputs[0] * inputs[1] * (1 + branch) ** np.arange(depth)
    b = np.zeros(depth)
    for m in range(1, depth):
        b[m] = branch * (b[:m] + c[:m]).sum()
    sums = np.concatenate([[0.0], np.cumsum(depth ** (-alpha - gamma) * (b + c))])
    backward = chi**2 * (1 + branch) ** (depth - np.arange(1, depth + 1))
    moments = [inputs[1] ** 2]
    for layer in range(1, depth + 1):
        second_step = branch * sum(moments)
        output = (sums[layer] * chi) ** 2
        first_step = sum(
            sums[min(m - 1, layer)] ** 2 * branch * backward[m - 1] for m in range(2, depth + 1)
        )
        moments.append(inputs[1] ** 2 + second_step + output + first_step)
    np.testing.assert_allclose(limit.forward[:, 1, 1], moments, rtol=1e-12)
    np.testing.assert_allclose(limit.outputs[1], sums[-1] * chi, rtol=1e-12)


OUTPUTS = {
    (16, 1.0, 0.5, 0.5): "2.48276 .02416 .25227 .60152 1.06527 .93320 1.05496 .94462 1.04654",
    (64, 1.0, 0.5, 0.5): "2.65585 .05203 .33351 .74489 1.13912 .82865 1.12217 .85342 1.11037",
    (128, 1.0, 0.5, 0.5): "2.68675 .05412 .34557 .76768 1.14297 .81974 1.12846 .84198 1.11795",
    (64, 0.25, 0.5, 0.5): ".66396 .93532 .99724 .99999 1 1 1 1 1",
    (64, 0.25, 1.0, 0.0): ".25387 .45735 .62943 .76763 .86712 .92994 .96515 .98327 .99212",
    (64, 0.25, 0.75, 0.25): ".28270 .50283 .68273 .81829 .90670 .95607 .98040 .99150 .99637",
}


@pytest.mark.parametrize("setting", OUTPUTS)
def test_reference_outputs(setting):
    """Note (L2): f_1..f_9 for inputs and targets 1."""
    expected = [float(value) for value in OUTPUTS[setting].split()]
    np.testing.assert_allclose(ones(*setting).outputs[1:, 0, 0], expected, atol=1e-5)


def test_reference_moments():
    """Note (L2): root mean squares at L = 64."""
    rms = ones(64, 1.0, 0.5, 0.5).rms[:, 0]
    expected = "1.64236 3.77335 .83732 1.14928 1.88089 2.58297 2.02167 2.54424 2.05956 2.51689"
    np.testing.assert_allclose(rms[:, -1], [float(v) for v in expected.split()], atol=1e-5)
    quarters = [0.80739, 1.15646, 1.71663, 2.51689]
    np.testing.assert_allclose(rms[9, 16::16], quarters, atol=1e-5)
    assert ones(64, 0.25, 0.5, 0.5).rms[9, 0, -1] == pytest.approx(2.15462, abs=1e-5)
    assert ones(64, 0.25, 1.0, 0.0).rms[9, 0, -1] == pytest.approx(1.53160, abs=1e-5)


def at_quarters(limit):
    every = (len(limit.forward) - 1) // 4
    return np.concatenate([limit.outputs[..., 0], limit.rms[:, 0, ::every]], axis=1)


def test_rate_in_depth():
    """Theorem C.3, note (L4): differences halve with every doubling; Prop. 4.4's limits at step 1."""
    values = {depth: at_quarters(ones(depth, 0.25, 0.5, 0.5)) for depth in (16, 32, 64, 128)}
    coarse, middle, fine = (abs(values[2 * d] - values[d]).max() for d in (16, 32, 64))
    assert middle / coarse == pytest.approx(0.5, abs=0.03)
    assert fine / middle == pytest.approx(0.5, abs=0.02)
    richardson = 2 * values[128] - values[64]
    assert richardson[1, 0] == pytest.approx(0.25 * np.e, abs=2e-4)
    np.testing.assert_allclose(richardson[0, 1:], np.exp(np.arange(5) / 8), atol=2e-4)
    # note (L2), L = 512, itself 1e-3 from the limit
    assert richardson[9, -1] == pytest.approx(2.16464, abs=2e-3)


def test_depth_changes_little_in_the_end():
    """Note (L4): from 2^8 to 2^9 blocks root mean squares change by less than 1%, after 1 and 5 steps."""
    coarse, fine = (
        at_quarters(scalar(np.ones(6), np.ones(6), depth, 0.25))[[1, 5]] for depth in (256, 512)
    )
    assert abs(fine / coarse - 1).max() < 0.01


def test_rates_of_other_exponents():
    """App. D.3: alpha + gamma = 1 has one limit for all alpha > 1/2, off by L^{1 - 2 alpha}."""
    for alpha, ratio in ((1.0, 0.5), (0.75, 0.5**0.5)):
        f = [scalar([1, 1], [1, 1], d, 0.25, 1, alpha, 1 - alpha).outputs[1] for d in (32, 64)]
        errors = [value.item() - 0.25 for value in f]
        assert errors[1] / errors[0] == pytest.approx(ratio, abs=0.02)


DEPTHS = (16, 32, 64, 128, 256)


def power_of_depth(values):
    return np.polyfit(np.log(DEPTHS), np.log(values), 1)[0]


def two_steps(alpha, gamma):
    return [scalar([1, 1], [1, 1], depth, 1.0, 1.0, alpha, gamma) for depth in DEPTHS]


@pytest.mark.parametrize(
    ("alpha", "gamma"),
    [(0.75, 0.25), (0.75, 0.0), (0.75, 0.75), (1.0, 0.0), (1.0, -0.5), (1.0, 0.5), (1.25, -0.25)],
)
def test_stability_plane(alpha, gamma):
    """Note (C1), Claim 7.2: the output moves as L^{1 - alpha - gamma}."""
    outputs = [abs(limit.outputs[1].item()) for limit in two_steps(alpha, gamma)]
    assert power_of_depth(outputs) == pytest.approx(1 - alpha - gamma, abs=0.1)


def test_instability_at_initialisation():
    """Claim 7.1: for alpha < 1/2 log RMS(x_0^L) grows as L^{1 - 2 alpha} / 2."""
    sizes = [scalar([1], [1], depth, 1.0, 1.0, 0.25, 0.75).rms[0, 0, -1] for depth in DEPTHS]
    assert power_of_depth(np.log(sizes)) == pytest.approx(0.5, abs=0.05)


def preactivations(limit, alpha, gamma):
    """Largest root mean squares over the blocks of h_1^l and of its part (W_1 - W_0) x_1 (eta = a = 1)."""
    depth, kernel = limit.num_blocks, limit.across_layers[1]
    squares = np.diagonal(kernel)
    moved = squares[1:] + squares[:-1] - 2 * np.diagonal(kernel, 1)
    updates = depth**-gamma * limit.forward[:-1, 0, 1] * np.sqrt(limit.backward[1:, 0, 0])
    return np.sqrt(moved).max() * depth**alpha, abs(updates).max()


@pytest.mark.parametrize(("alpha", "gamma"), [(0.5, 0.5), (0.75, 0.25), (1.0, 0.0), (1.25, -0.25)])
def test_faithfulness(alpha, gamma):
    """Note (C2), App. D.2: h_1 = Theta(1 + L^-gamma), of which L^-gamma by the update."""
    sizes, updates = zip(
        *[preactivations(limit, alpha, gamma) for limit in two_steps(alpha, gamma)], strict=True
    )
    assert power_of_depth(sizes) == pytest.approx(max(0.0, -gamma), abs=0.15)
    assert power_of_depth(updates) == pytest.approx(-gamma, abs=0.1)


@pytest.mark.parametrize(("alpha", "gamma"), [(0.5, 0.5), (1.25, -0.25)])
def test_preactivations_of_finite_networks(alpha, gamma):
    """Those of the recursion, in networks of width 512; output weights of both signs, as then f_0 is 0 on average."""
    depth, width = 32, 512
    scale, rate = depth**-alpha, depth ** (alpha - gamma)
    found = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        first, last = rng.normal(size=(2, width))
        weights = rng.normal(size=(depth, width, width)) / np.sqrt(width)
        z = [first]
        for w in weights:
            z.append(z[-1] + scale * w @ z[-1])
        for v in (last / width, -last / width):
            g = [(v @ z[-1] - 1) * v]
            for w in weights[:0:-1]:
                g.append(g[-1] + scale * w.T @ g[-1])
            x, sizes = first, []
            for w, before, cotangent in zip(weights, z, reversed(g), strict=False):
                update = -rate * scale * cotangent * (before @ x)
                h = w @ x + update
                x = x + scale * h
                sizes.append([np.sqrt((part**2).mean()) for part in (h, update)])
            found.append(np.max(sizes, axis=0))
    limit = scalar([1, 1], [1, 1], depth, 1.0, 1.0, alpha, gamma)
    np.testing.assert_allclose(
        np.mean(found, axis=0), preactivations(limit, alpha, gamma), rtol=0.1
    )


def increments(limit, token, first, distances):
    kernel = limit.across_layers[token]
    last = first + np.asarray(distances)
    return np.sqrt(kernel[last, last] - 2 * kernel[first, last] + kernel[first, first])


INCREMENTS = {
    (256, 0.5, 0.5): {
        0: ".502 .508 .523 .546 .596",
        1: ".503 .514 .539 .582 .679",
        4: ".505 .522 .560 .623 .757",
    },
    (256, 1.0, 0.0): {
        0: ".5 .5 .5 .5 .5",
        1: ".559 .670 .793 .869 .925",
        4: ".746 .896 .966 .996 1.029",
    },
    (512, 1.0, 0.0): {
        0: ".5 .5 .5 .5 .5",
        1: ".604 .750 .869 .924 .959",
        4: ".826 .942 .986 1.007 1.034",
    },
}


@pytest.mark.parametrize("setting", INCREMENTS)
def test_feature_diversity(setting):
    """Note (D1), Def. 7.6: slopes of the increments from depth 1/4; without 1/sqrt(L) features are redundant."""
    depth, alpha, gamma = setting
    limit = scalar(np.ones(5), np.ones(5), depth, 0.25, 1.0, alpha, gamma)
    distances = np.array([1, 4, 16, 32, 64, 128]) * depth // 256
    for step, expected in INCREMENTS[setting].items():
        moved = increments(limit, step, depth // 4, distances)
        slopes = np.diff(np.log(moved)) / np.diff(np.log(distances))
        np.testing.assert_allclose(slopes, [float(v) for v in expected.split()], atol=2e-3)


STEPS, BATCH, INPUT_DIM, OUTPUT_DIM, BLOCKS = 4, 3, 2, 2, 6
# a, alpha, gamma = 1.2, 0.7, 0.4, eta = 0.3
SETTINGS = {"branch_scale": 1.2 * BLOCKS**-0.7, "learning_rate": 0.3 * BLOCKS**0.3}


def batches():
    rng = np.random.default_rng(5)
    return rng.normal(size=(STEPS, BATCH, INPUT_DIM)), rng.normal(size=(STEPS, BATCH, OUTPUT_DIM))


def finite_network(x, loss_derivative, *, width, seed, branch_scale, learning_rate):
    """Outputs, root mean squares `[T, B, L + 1]` and x^L `[T, B, n]` of a network as Sec. 6.3 defines it (phi = id)."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(width, INPUT_DIM))
    last = rng.normal(size=(width, OUTPUT_DIM)) / width
    weights = rng.normal(size=(BLOCKS, width, width)) / np.sqrt(width)
    outputs, rms, features = [], [], []
    for step, inputs in enumerate(x):
        z = [inputs @ first.T]
        for w in weights:
            z.append(z[-1] + branch_scale * z[-1] @ w.T)
        outputs.append(z[-1] @ last)
        rms.append(np.sqrt((np.array(z) ** 2).mean(axis=2)).T)
        features.append(z[-1])
        g = loss_derivative(step, outputs[-1]) @ last.T / len(inputs)
        for block in reversed(range(BLOCKS)):
            below = g + branch_scale * g @ weights[block]
            weights[block] -= learning_rate * branch_scale * g.T @ z[block]
            g = below
    return np.array(outputs), np.array(rms), np.array(features)


def test_finite_networks():
    """Batches, several inputs and outputs: networks meet the limit as n^-1/2."""
    x, y = batches()
    limit = depth_recursion.train(
        x, squared_error(y), output_dim=OUTPUT_DIM, num_blocks=BLOCKS, **SETTINGS
    )
    assert abs(limit.outputs).max() > 0.5
    widths = (32, 128, 512)
    errors = []
    for width in widths:
        runs = [
            finite_network(x, squared_error(y), width=width, seed=seed, **SETTINGS)
            for seed in range(2048 // width)
        ]
        pairs = [(outputs - limit.outputs, rms - limit.rms) for outputs, rms, _ in runs]
        errors.append([np.sqrt(np.square(error).mean()) for error in zip(*pairs, strict=True)])
    for index in range(2):
        slope = np.polyfit(np.log(widths), np.log([error[index] for error in errors]), 1)[0]
        assert slope == pytest.approx(-0.5, abs=0.15)
    assert max(errors[-1]) < 0.1


def test_gaussian_process():
    """Theorem 4.1, note (L5): the coordinates of x^L are Gaussian over the tokens, with the kernel `forward`."""
    x, y = batches()
    limit = depth_recursion.train(
        x, squared_error(y), output_dim=OUTPUT_DIM, num_blocks=BLOCKS, **SETTINGS
    )
    *_, features = finite_network(x, squared_error(y), width=2048, seed=0, **SETTINGS)
    tokens = features.reshape(STEPS * BATCH, -1)
    kernel = limit.forward[-1]
    size = np.sqrt(np.diagonal(kernel))
    correlation = abs(kernel / np.outer(size, size))
    assert correlation[np.triu_indices_from(kernel, 1)].min() < 0.5
    error = tokens @ tokens.T / tokens.shape[1] - kernel
    assert abs(error / np.outer(size, size)).max() < 0.1
    excess = (tokens**4).mean(axis=1) / (tokens**2).mean(axis=1) ** 2 - 3
    assert abs(excess).max() < 0.2


def excess_kurtosis(width, num_blocks, branch_scale):
    """Exact excess kurtosis of a coordinate of x^L at initialisation, over networks of this width.

    With Q = |x|^2 / n, one block maps E[x_i^4] to E[x_i^4] + (6 c^2 + 3 c^4) E[Q^2], and multiplies E[Q^2] by
    (1 + c^2)^2 + (4 c^2 + 2 c^4) / n, E[x_i^2] by 1 + c^2.
    """
    square = branch_scale**2
    fourth, norm = 3.0, 1 + 2 / width
    for _ in range(num_blocks):
        fourth += (6 * square + 3 * square**2) * norm
        norm *= (1 + square) ** 2 + (4 * square + 2 * square**2) / width
    return fourth / (1 + square) ** (2 * num_blocks) - 3


@pytest.mark.parametrize(("width", "num_networks"), [(4, 8192), (128, 512)])
def test_excess_kurtosis_at_initialisation(width, num_networks):
    """Note (L5): coordinates of x^L approach Gaussians of variance `forward` as 1/n, within five standard errors."""
    x, y = (values[:1, :1] for values in batches())
    limit = depth_recursion.train(
        x, squared_error(y), output_dim=OUTPUT_DIM, num_blocks=BLOCKS, **SETTINGS
    )
    variance = limit.forward[-1, 0, 0]
    fourth_moments = []
    for seed in range(num_networks):
        *_, features = finite_network(x, squared_error(y), width=width, seed=seed, **SETTINGS)
        fourth_moments.append((features**4).mean() / variance**2)
    error = np.std(fourth_moments, ddof=1) / np.sqrt(num_networks)
    expected = excess_kurtosis(width, BLOCKS, SETTINGS["branch_scale"])
    assert np.mean(fourth_moments) - 3 == pytest.approx(expected, abs=5 * error)
    # the narrow networks are measurably not Gaussian; the wide ones are within the note's bound
    assert expected > 5 * error if width == 4 else expected < 0.2


def test_batch_of_copies():
    """Copies of one sample in a batch change nothing; the moments are those of one."""
    x, y = batches()
    settings = {**SETTINGS, "output_dim": OUTPUT_DIM, "num_blocks": BLOCKS}
    one = depth_recursion.train(x[:, :1], squared_error(y[:, :1]), **settings)
    two = depth_recursion.train(x[:, [0, 0]], squared_error(y[:, [0, 0]]), **settings)
    np.testing.assert_allclose(two.outputs, one.outputs[:, [0, 0]], atol=1e-12)
    np.testing.assert_allclose(two.forward[:, ::2, 1::2], one.forward, atol=1e-12)
    np.testing.assert_allclose(two.backward[:, ::2, 1::2], one.backward, atol=1e-12)
    np.testing.assert_allclose(two.across_layers[1::2], one.across_layers, atol=1e-12)


def test_boundary_moments():
    """<x^0 x^0> is the inputs' Gram matrix, <dx^L dx^L> that of the loss derivatives: Theorem 4.1's
    kernel is that of x.
    """
    x, y = batches()
    limit = depth_recursion.train(
        x, squared_error(y), output_dim=OUTPUT_DIM, num_blocks=BLOCKS, **SETTINGS
    )
    tokens = x.reshape(-1, INPUT_DIM)
    np.testing.assert_allclose(limit.forward[0], tokens @ tokens.T, atol=1e-12)
    chi = (limit.outputs - y).reshape(-1, OUTPUT_DIM)
    np.testing.assert_allclose(limit.backward[-1], chi @ chi.T, atol=1e-12)
    diagonals = np.diagonal(limit.across_layers, axis1=1, axis2=2)
    np.testing.assert_allclose(diagonals.reshape(limit.rms.shape), limit.rms**2, atol=1e-12)


def test_divergence_is_a_result():
    limit = scalar(np.ones(12), np.ones(12), 4, 1e3)
    assert not np.isfinite(limit.outputs[-1])


def test_refusals():
    with pytest.raises(ValueError, match=r"x must be \[T, B, D\], not \(3,\)"):
        depth_recursion.train(
            np.ones(3),
            squared_error(np.ones(3)),
            output_dim=1,
            num_blocks=2,
            branch_scale=1.0,
            learning_rate=0.1,
        )
    with pytest.raises(ValueError, match="num_blocks must be at least 1, not 0"):
        scalar([1.0], [1.0], 0, 0.1, alpha=0.0, gamma=0.0)
