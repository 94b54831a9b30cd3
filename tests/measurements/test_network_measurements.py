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
from scaling_limits.measurements import (
    gradient_alignment,
    loss_over_energy,
    mean_activities,
    performance,
    rescaling,
)
from scaling_limits.measurements.context import Context
from scaling_limits.networks.network import Weights
from scaling_limits.parameterisations.table import Exponents, Factors, resolve
from toys import gradients

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


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("weights", [None, ENERGY_WEIGHTS])
def test_the_loss_is_put_over_the_energy_at_equilibrium(skip, weights):
    """mupc Eq. 30, at the analytic activities that training infers."""
    given = context(skip=skip, output_dim=3, weights=weights)
    found = jax.jit(lambda: loss_over_energy.measure(given))()["loss_over_energy"]
    _, known = jax.jit(lambda: gradients(predictive_coding, given.problem))()
    assert float(found) == pytest.approx(float(known["train_loss"] / known["energy"]), rel=1e-12)


def test_the_energy_is_known_where_the_rescaling_hides_the_identity():
    """Width one: S = I + c v v^T, with c = 1e20, is singular in float64, its inverse in closed form is not."""
    given = context(output_dim=3)
    v, large = np.array([2.0, -1.0, 0.5]), 1e10
    kernels = [np.full((1, 1, 4), 0.1), np.full((2, 1, 1), large**0.5), v[None, :, None]]
    unit = {"multiplier": 1.0, "branch": 1.0, "energy_weight": 1.0}
    spec = NetworkSpec(
        name="mlp",
        input_dim=4,
        output_dim=3,
        width=1,
        num_hidden_layers=HIDDEN,
        activation="linear",
        activation_position="before_weight",
        skip=False,
        mean_subtraction=False,
    )
    problem = replace(
        given.problem,
        network=networks.build(spec),
        params=tuple({"linear": {"kernel": jnp.asarray(kernel)}} for kernel in kernels),
        scaling=dict.fromkeys(("input", "hidden", "output"), unit),
    )
    residuals = np.asarray(problem.y) - 0.4 * large * v
    c = 1 + large + large**2
    along = residuals @ v
    # of S^{-1}, written so that nothing large is subtracted
    across = residuals - along[:, None] * v / (v @ v)
    energy = (across**2).sum() + (along**2 / (v @ v) / (1 + c * (v @ v))).sum()
    found = loss_over_energy.measure(replace(given, problem=problem))["loss_over_energy"]
    # the part along v is 1e10 times as large, and rounds the other one off by a millionth
    assert float(found) == pytest.approx((residuals**2).sum() / energy, rel=1e-4)


def test_mean_absolute_activities_are_those_of_the_forward_pass():
    given = context(skip=True, output_dim=3)
    z, known = np.asarray(given.problem.x), []
    for segment, stacked in zip(given.problem.network.segments, given.problem.params, strict=True):
        numbers = given.problem.scaling[segment.role]
        for kernel in np.asarray(stacked["linear"]["kernel"]):
            out = numbers["multiplier"] * z @ kernel.T
            z = z + numbers["branch"] * out if segment.role == "hidden" else out
            known.append(np.abs(z).mean())
    found = mean_activities.measure(given)["mean_absolute_activity"]
    np.testing.assert_allclose(found, known, rtol=1e-12)
    assert len(found) == HIDDEN + 1
