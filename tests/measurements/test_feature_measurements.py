"""Sizes and increments of features against a forward pass block by block."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scaling_limits import networks
from scaling_limits.algorithms.backpropagation import computation as backpropagation
from scaling_limits.algorithms.problem import Problem
from scaling_limits.cells import AlgorithmSpec, NetworkSpec
from scaling_limits.measurements import feature_increments, feature_sizes
from scaling_limits.measurements.context import Context
from scaling_limits.networks import blocks

SCALING = {
    "input": {"init_std": 0.5, "multiplier": 0.9, "branch": 1.0},
    "hidden": {"init_std": 0.3, "multiplier": 1.3, "branch": 0.7},
    "output": {"init_std": 0.2, "multiplier": 0.8, "branch": 1.0},
}


def spec(num_blocks, *, skip=True):
    return NetworkSpec(
        name="mlp",
        input_dim=4,
        output_dim=3,
        width=6,
        num_hidden_layers=num_blocks + 1,
        activation="relu",
        activation_position="after_weight",
        skip=skip,
        mean_subtraction=skip,
    )


def context(described):
    """A drawn network and a batch of five."""
    network = networks.build(described)
    key = jax.random.key(1)
    params = network.init(key, SCALING, "normal", jnp.float64)
    x = jax.random.normal(key, (5, described.input_dim), jnp.float64)
    y = jnp.zeros((5, described.output_dim))
    problem = Problem(network, params, SCALING, x, y, AlgorithmSpec(name="backpropagation"))
    return Context(problem, params, x, y, x, y, backpropagation)


def features(params, x, *, skip):
    """x^0..x^L and the output, by the definition (depth-mup Sec. 6.3; without skips an MLP)."""
    first, *hidden, last = [
        np.asarray(kernel) for segment in params for kernel in segment["linear"]["kernel"]
    ]
    z = 0.9 * np.asarray(x) @ first.T
    kept = [z if skip else np.maximum(z, 0)]
    for kernel in hidden:
        branch = np.maximum(1.3 * kept[-1] @ kernel.T, 0)
        if skip:
            branch = kept[-1] + 0.7 * (branch - branch.mean(axis=1, keepdims=True))
        kept.append(branch)
    return kept, 0.8 * kept[-1] @ last.T


def rms(values):
    return np.sqrt((values**2).mean())


@pytest.mark.parametrize(
    ("num_blocks", "skip", "chosen"),
    [
        (8, True, (0, 2, 4, 6, 8)),
        (6, True, (0, 1, 3, 4, 6)),
        (5, False, (0, 1, 2, 3, 5)),
        (0, False, (0,) * 5),
    ],
)
def test_sizes(num_blocks, skip, chosen):
    given = context(spec(num_blocks, skip=skip))
    kept, output = features(given.problem.params, given.problem.x, skip=skip)
    found = feature_sizes.measure(given)
    expected = [rms(kept[layer]) for layer in chosen]
    np.testing.assert_allclose(found["activity_rms"], expected, rtol=1e-12)
    np.testing.assert_allclose(found["output_rms"], rms(output), rtol=1e-12)
    assert ("block_rms" in found) == skip
    if skip:
        added = [rms(kept[max(n, 1)] - kept[max(n, 1) - 1]) / 0.7 for n in chosen]
        np.testing.assert_allclose(found["block_rms"], added, rtol=1e-12)


@pytest.mark.parametrize(
    ("num_blocks", "first", "distances"),
    [(8, 2, (1, 2, 4)), (6, 1, (1, 2, 4)), (1, 0, (1,)), (0, 0, ())],
)
def test_increments(num_blocks, first, distances):
    described = spec(num_blocks)
    given = context(described)
    kept, _ = features(given.problem.params, given.problem.x, skip=True)
    found = feature_increments.measure(given)["feature_increment"]
    expected = [rms(kept[first + distance] - kept[first]) for distance in distances]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert feature_increments.labels(described) == {"index": distances}


def test_distances_of_deep_networks():
    """Up to half of the depth, if it is a power of two."""
    assert blocks.distances(256) == (1, 2, 4, 8, 16, 32, 64, 128)
    assert blocks.quarters(256) == (0, 64, 128, 192, 256)
