"""Measurements of a network as a whole: performance on the test set, and the rescaling by the equilibrated energy."""

from dataclasses import replace
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scaling_limits import networks
from scaling_limits.algorithms.backpropagation import computation as backpropagation
from scaling_limits.algorithms.predictive_coding import Options as PredictiveCoding
from scaling_limits.algorithms.predictive_coding import computation as predictive_coding
from scaling_limits.algorithms.problem import Problem
from scaling_limits.cells import NetworkSpec
from scaling_limits.measurements import gradient_alignment, performance, rescaling
from scaling_limits.measurements.context import Context
from scaling_limits.networks.network import Weights
from scaling_limits.parameterisations.table import Exponents, Factors, resolve

WIDTH, HIDDEN = 16, 3
ENERGY_WEIGHTS = {"input": 0.25, "hidden": 0.25, "output": 3.0}
EXACT = PredictiveCoding(name="predictive_coding", inference="exact")


def context(
    *, skip=False, seed=0, output_dim=1, options=EXACT, mean_subtraction=False, weights=None
):
    """A linear network as muPC draws it; `weights` are energy weights by role, in place of ones."""
    network = networks.build(
        NetworkSpec(
            name="mlp",
            input_dim=4,
            output_dim=output_dim,
            width=WIDTH,
            num_hidden_layers=HIDDEN,
            activation="linear",
            activation_position="before_weight",
            skip=skip,
            mean_subtraction=mean_subtraction,
        )
    )
    row = resolve(
        "mupc",
        "adam",
        width=WIDTH,
        depth=HIDDEN + 1,
        input_dim=4,
        base_width=1,
        base_depth=1,
        skip=skip,
        factors=Factors(),
        exponents=Exponents(),
        exponent_changes={},
    )
    scaling = {role: numbers.model_dump() for role, numbers in row.scaling.items()}
    for role, weight in (weights or {}).items():
        scaling[role]["energy_weight"] = weight
    params = network.init(jax.random.key(seed), scaling, "normal", jnp.float64)
    x, y = jnp.ones((5, 4)), jnp.eye(5, output_dim)
    problem = Problem(network, params, scaling, x, y, options)
    return Context(problem, params, x, y, x, y, predictive_coding)


@pytest.mark.parametrize("output_dim", [1, 3])
@pytest.mark.parametrize("factor", [1.0, np.inf, np.nan])
def test_a_diverged_network_classifies_nothing(output_dim, factor):
    given = context(output_dim=output_dim)
    # samples one by one, so that one of them diverges
    x = given.x_test.at[2].multiply(factor)
    diverged = replace(given, x_test=x)
    measured = jax.jit(lambda: performance.measure(diverged))()
    assert bool(jnp.isfinite(measured["test_accuracy"])) == (factor == 1.0)
    assert bool(jnp.isfinite(measured["test_loss"])) == (factor == 1.0)


@pytest.mark.parametrize(
    ("factor", "cosine", "error"), [(1.0, 1, 0), (3.0, 1, 2), (0.25, 1, 0.75), (-0.5, -1, 1.5)]
)
def test_gradients_are_put_beside_those_of_backpropagation(factor, cosine, error):
    """Those of an algorithm that gives as much of them; the size of the difference is relative to theirs."""

    def update(problem, state):
        (gradients, _), state, metrics = backpropagation.update(problem, state)
        return Weights(jax.tree.map(lambda g: factor * g, gradients)), state, metrics

    given = replace(context(), algorithm=SimpleNamespace(update=update))
    found = gradient_alignment.measure(given)
    assert float(found["gradient_cosine"]) == pytest.approx(cosine, rel=1e-12)
    assert float(found["gradient_relative_error"]) == pytest.approx(error, rel=1e-12, abs=1e-12)


def mean_excess(seeds, **changes):
    """Over initialisations: measured, expected."""

    @jax.jit
    def one(seed):
        return rescaling.measure(context(seed=seed, **changes))

    found = jax.tree.map(lambda *v: np.mean(v), *[one(seed) for seed in range(seeds)])
    return found["rescaling_excess"], found["rescaling_excess_expected"]


@pytest.mark.parametrize("skip", [False, True])
def test_the_expected_excess_is_the_mean(skip):
    """Without skips the branch's multiplier, L^(-1/2) in muPC, does not act."""
    measured, expected = mean_excess(400, skip=skip, weights=ENERGY_WEIGHTS)
    if not skip:
        assert expected == pytest.approx(12 * HIDDEN / WIDTH, rel=1e-12)
    assert measured == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("output_dim", [1, 3])
def test_the_excess_has_the_output_s_energy_weight_above(output_dim):
    """S - I is the sum of gamma_L/gamma_l B_l B_l^T over the hidden activities."""
    given = context(weights=ENERGY_WEIGHTS, output_dim=output_dim)
    numbers = given.problem.scaling
    _, hidden, last = given.problem.params
    path = numbers["output"]["multiplier"] * np.asarray(last["linear"]["kernel"][0])
    total = (path**2).sum()
    for kernel in np.asarray(hidden["linear"]["kernel"])[::-1]:
        path = path @ (numbers["hidden"]["multiplier"] * kernel)
        total += (path**2).sum()
    found = float(rescaling.measure(given)["rescaling_excess"])
    assert found == pytest.approx(12 * total / output_dim, rel=1e-12)
