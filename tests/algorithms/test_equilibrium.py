"""The equilibrium of networks of any nodes, beside its definition, closed forms and long gradient descent."""

import functools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from toy_networks import EXACT, UNEQUAL, build, data, descent, unstacked

from scaling_limits.algorithms.predictive_coding import (
    KINKED,
    Options,
    computation,
    equilibrium,
    exact,
)
from scaling_limits.algorithms.predictive_coding import descent as stepwise
from scaling_limits.algorithms.problem import Problem

TOLERANCE = 1e-12
HIDDEN = 5


def options(loss="mean_squared_error", smooth=True):
    fields = {"inference": "equilibrium", "inference_tolerance": TOLERANCE, "smooth": smooth}
    return Options(name="predictive_coding", loss=loss, **fields)


@functools.cache
def problem(activation="tanh", loss="mean_squared_error", skip=True, scheme="sp_gaussian"):
    network, params, scaling = build(
        scheme=scheme,
        activation=activation,
        skip=skip,
        num_hidden_layers=HIDDEN,
        output_dim=3,
        energy_weights=UNEQUAL,
    )
    x, y = data(output_dim=3, one_hot=loss == "cross_entropy")
    numbers = {"inference_tolerance": TOLERANCE, "seed": 3}
    return Problem(network, params, scaling, x, y, options(loss, activation not in KINKED), numbers)


def solve(of):
    run = jax.jit(
        lambda params, x, y: _infer(replace(of, params=params, x=x, y=y)),
    )
    return run(of.params, of.x, of.y)


def _infer(cell):
    return equilibrium.infer(cell, cell.activities())


def energy(of, hidden):
    """F summed over samples, from its definition: a loop over the nodes."""
    nodes = [
        (segment, jax.tree.map(lambda leaf, i=i: leaf[i], stacked))
        for segment, stacked in zip(of.network.segments, of.params, strict=True)
        for i in range(segment.count)
    ]
    z, total = of.x, 0.0
    for (segment, params), own in zip(nodes[:-1], hidden, strict=True):
        error = own - segment.apply(params, of.scaling, z)
        total = total + 0.5 * of.scaling[segment.role]["energy_weight"] * (error**2).sum()
        z = own
    segment, params = nodes[-1]
    output = segment.apply(params, of.scaling, z)
    return total + of.scaling[segment.role]["energy_weight"] * len(of.x) * of.loss(output)


@pytest.mark.parametrize("skip", [False, True])
def test_in_linear_networks_it_is_the_closed_form(skip):
    of = problem("linear", skip=skip)
    found = solve(of)
    expected = exact.infer(replace(of, options=EXACT), of.activities())
    for ours, theirs in zip(
        (*found.errors, *found.inputs), (*expected.errors, *expected.inputs), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.output, expected.output, rtol=1e-10)


@pytest.mark.parametrize(
    ("activation", "loss", "skip"),
    [
        ("tanh", "mean_squared_error", False),
        ("gelu", "mean_squared_error", True),
        ("tanh", "cross_entropy", True),
    ],
)
def test_the_energy_has_no_slope_there(activation, loss, skip):
    """By derivatives of the energy as it is defined; the errors and the residual are those of these activities."""
    of = problem(activation, loss, skip)
    found = solve(of)
    assert float(found.metrics["inference_residual"]) <= TOLERANCE
    assert float(found.metrics["inference_unreached"]) == 0.0
    hidden = unstacked(found.inputs)[1:]
    gradients = jax.grad(lambda z: energy(of, z))(hidden)
    assert max(float(jnp.abs(slope).max()) for slope in gradients) < 2 * TOLERANCE
    assert max(float(jnp.abs(error).max()) for error in unstacked(found.errors)) > 1e-2


def test_long_gradient_descent_ends_there():
    of = problem("tanh", scheme="mean_field")
    found = solve(of)
    numbers = {"activity_learning_rate": 0.3, "seed": 3}
    slow = replace(of, options=descent(4000), numbers=numbers)
    ended = jax.jit(lambda params: stepwise.infer(replace(slow, params=params), slow.activities()))(
        of.params
    )
    for ours, theirs in zip(unstacked(found.errors), unstacked(ended.errors), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    ("activation", "skip", "scheme"),
    [("relu", False, "sp_gaussian"), ("relu", True, "mean_field"), ("abs", True, "sp_gaussian")],
)
def test_at_corners_no_way_leads_down(activation, skip, scheme):
    """By the energy as it is defined, along every activity in both directions and along some of all at once: its slopes
    at smooth points are zero, and at kinks, where some activities rest, no slope leads down on either side.
    """
    of = problem(activation, skip=skip, scheme=scheme)
    found = solve(of)
    assert float(found.metrics["inference_residual"]) <= TOLERANCE
    assert float(found.metrics["inference_unreached"]) == 0.0
    hidden = jnp.stack(unstacked(found.inputs)[1:])
    rng = np.random.default_rng(0)
    along = jnp.concatenate(
        [jnp.eye(hidden.size), jnp.asarray(rng.normal(size=(100, hidden.size)))]
    ).reshape(-1, *hidden.shape)
    step = 1e-6
    total = jax.jit(jax.vmap(lambda way: energy(of, hidden + step * way)))
    here = energy(of, hidden)
    rises = jnp.concatenate([total(along), total(-along)]) - here
    # a slope of 1e-7 would be seen beside the curvature and round-off
    assert float(rises.min()) > -1e-13
    assert (hidden == 0).any()


def test_at_corners_its_energy_is_not_above_that_of_gradient_descent():
    """In a mean-field network; where the energy has many valleys (SP), either may end in the lower one."""
    of = problem("relu", scheme="mean_field")
    found = solve(of)
    assert float(found.metrics["inference_unreached"]) == 0.0
    numbers = {"activity_learning_rate": 0.05, "seed": 3}
    slow = replace(of, options=descent(4000), numbers=numbers)
    ended = jax.jit(lambda params: stepwise.infer(replace(slow, params=params), slow.activities()))(
        of.params
    )
    ours, theirs = (float(energy(of, unstacked(r.inputs)[1:])) for r in (found, ended))
    assert ours <= theirs * (1 + 1e-3)


def test_samples_do_not_see_each_other():
    of = problem()
    together = solve(of)
    alone = solve(replace(of, x=of.x[2:3], y=of.y[2:3]))
    for ours, theirs in zip(together.errors, alone.errors, strict=True):
        np.testing.assert_allclose(ours[:, 2], theirs[:, 0], rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("loss", ["mean_squared_error", "cross_entropy"])
def test_weights_learn_by_the_derivative_of_the_least_energy(loss):
    """Without weights of the energy the rule of the nodes is dF*/dW (envelope theorem); by differences of F*."""
    unit = {role: numbers | {"energy_weight": 1.0} for role, numbers in problem().scaling.items()}
    of = replace(problem("tanh", loss), scaling=unit)
    flat, unravel = ravel_pytree(of.params)
    along = np.random.default_rng(0).normal(size=flat.shape)

    @jax.jit
    def least(weights):
        weights, _, metrics = computation.update(replace(of, params=unravel(weights)), ())
        return metrics["energy"], ravel_pytree(weights.forward)[0], metrics

    step = 1e-5
    ends = [least(flat + sign * step * along)[0] for sign in (1, -1)]
    _, gradient, metrics = least(flat)
    assert float(gradient @ along) == pytest.approx(float(ends[0] - ends[1]) / (2 * step), rel=1e-6)
    assert float(metrics["inference_unreached"]) == 0.0
    assert 0 < float(metrics["inference_residual"]) <= TOLERANCE


def test_a_tolerance_that_round_off_prevents_is_not_reached():
    of = replace(problem(), numbers={"inference_tolerance": 0.0, "seed": 3})
    _, _, metrics = jax.jit(lambda p: computation.update(replace(of, params=p), ()))(of.params)
    assert float(metrics["inference_unreached"]) == 1.0
    assert 0 < float(metrics["inference_steps"]) < 100


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_activities_that_are_not_numbers_are_no_equilibrium(activation):
    """Comparisons with NaN are false: a sample whose residual is not a number counts as not reached."""
    of = problem(activation)
    found = solve(replace(of, x=of.x.at[0, 0].set(jnp.nan)))
    assert np.isnan(found.metrics["inference_residual"])
    assert float(found.metrics["inference_unreached"]) == 1 / len(of.x)
