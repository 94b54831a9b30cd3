"""Distances from equilibrium, of linear networks beside the closed form."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scaling_limits import networks
from scaling_limits.algorithms.layerwise import rollout, weight_gradients
from scaling_limits.algorithms.predictive_coding import computation, descent, exact, kinks
from scaling_limits.algorithms.problem import Problem
from scaling_limits.cells import Cell
from scaling_limits.errors import ConfigurationError
from scaling_limits.measurements import equilibrium_distance
from scaling_limits.measurements.context import Context
from toys import EXACT, cell

METRICS = tuple(equilibrium_distance.AXES)


def context(own: Cell) -> Context:
    rng = np.random.default_rng(0)
    network, scaling = networks.build(own.network), own.traced()["scaling"]
    params = jax.jit(lambda: network.init(jax.random.key(0), scaling, "normal", jnp.float64))()
    x, y = (jnp.asarray(rng.normal(size=(6, size))) for size in (own.network.input_dim, 10))
    numbers = {**own.traced()["algorithm"], "seed": 0, "step": 0}
    problem = Problem(network, params, scaling, x, y, own.algorithm, numbers)
    return Context(problem, params, x, y, x, y, algorithm=computation)


def spec(**changes: Any) -> Cell:
    return cell(
        parameterisation="sp_gaussian",
        dtype="float64",
        depth=3,
        activity_gradient="per_sample",
        activity_learning_rate=0.05,
        **changes,
    )


def test_it_is_the_distance_from_the_closed_form() -> None:
    of = context(spec(activation="linear", num_inference_steps=4))
    problem = of.problem

    @jax.jit
    def inferred() -> Any:
        forward = problem.activities()
        known = exact.infer(problem, forward)
        wanted = weight_gradients(problem, known.inputs, known.errors)
        own, z = (rollout(problem, errors) for errors in (of.errors(problem), known.errors))
        return own, forward, z, jax.tree.leaves(wanted), jax.tree.leaves(of.gradients(problem))

    own, forward, z, wanted, found = jax.device_get(inferred())

    def norm(one: Any, other: Any) -> float:
        return float(sum(((a - b) ** 2).sum() for a, b in zip(one, other, strict=True)) ** 0.5)

    measured = jax.jit(lambda: equilibrium_distance.measure(of))()
    np.testing.assert_allclose(
        [measured[metric] for metric in METRICS[:3]],
        [
            norm(own[:-1], z[:-1]) / norm(forward[:-1], z[:-1]),
            norm(found, wanted) / norm(wanted, [0 * each for each in wanted]),
            0.0,
        ],
        rtol=1e-6,
    )
    assert measured["equilibrium_residual"] < 1e-10
    assert measured["activity_distance"] > 0.1


def test_it_falls_with_the_steps_and_tells_equilibria_apart() -> None:
    """Energies of tanh networks with large weights have several minima."""

    def measured(steps: int, **changes: Any) -> Any:
        of = context(spec(activation="tanh", num_inference_steps=steps, **changes))
        return jax.jit(lambda: equilibrium_distance.measure(of))()

    few, many = measured(4), measured(1000)
    assert many["activity_distance"] < 0.1 * few["activity_distance"]
    assert many["gradient_distance"] < 0.1 * few["gradient_distance"]
    assert many["other_equilibria"] == 0
    elsewhere = measured(1000, init_scale=3.0, activity_initialisation="normal")
    assert elsewhere["other_equilibria"] > 0.3


def test_relu_networks_have_minima_at_corners_and_descent_may_end_in_others() -> None:
    """The share beside one by hand, of long gradient descent and the solver from the forward pass."""
    of = context(spec(activation="relu", num_inference_steps=2000, init_scale=2.0))
    problem = of.problem
    tolerance = jnp.asarray(1e-10)

    @jax.jit
    def ends() -> Any:
        forward = problem.activities()
        start = tuple(jnp.zeros_like(stack) for stack in forward[:-1])
        solved = kinks.solve(problem, start, tolerance)
        descended = descent.infer(problem, forward).inputs[1:]
        return forward[:-1], solved.hidden, solved.residual, descended

    forward, solved, residual, descended = jax.device_get(ends())
    assert residual.max() < 1e-10

    def by_sample(stacks: Any) -> np.ndarray:
        return np.concatenate([np.moveaxis(stack, 1, 0).reshape(6, -1) for stack in stacks], axis=1)

    z, start, end = (by_sample(stacks) for stacks in (solved, forward, descended))
    # less is left of steps that go to and fro at a kink
    others = np.linalg.norm(end - z, axis=1) > 0.05 * np.linalg.norm(start - z, axis=1)
    measured = jax.jit(lambda: equilibrium_distance.measure(of))()
    assert measured["equilibrium_residual"] < 1e-10
    assert 0 < measured["other_equilibria"] < 1
    assert measured["other_equilibria"] == pytest.approx(others.mean())


def test_activities_that_are_not_numbers_end_in_no_equilibrium() -> None:
    of = context(spec(activation="tanh", num_inference_steps=4))
    lost = replace(of, problem=replace(of.problem, x=of.problem.x.at[0, 0].set(jnp.nan)))
    measured = jax.jit(lambda: equilibrium_distance.measure(lost))()
    assert all(np.isnan(measured[metric]) for metric in METRICS)


def test_other_inference_is_refused() -> None:
    with pytest.raises(
        ConfigurationError, match=r"^measurements.equilibrium_distance: requires algo"
    ):
        cell(**EXACT, activation="linear", measure={"equilibrium_distance": [0]})
