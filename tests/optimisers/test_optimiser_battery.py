"""What every optimiser of the registry does, on a small network with a batch."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from observed_networks import chosen, problem_of

from scaling_limits import optimisers
from scaling_limits.algorithms.backpropagation import computation as backpropagation
from scaling_limits.algorithms.problem import Problem
from scaling_limits.optimisers import groups

PLAIN: dict[str, Any] = {"skip": None, "depth_kind": "weight_layers", "depth": 3, "width": 4}
SETTINGS: dict[str, dict[str, Any]] = {
    "adam": {},
    "sgd": {"momentum": 0.9},
    "kfac": {"damping": 0.1, "fisher": "exact"},
    "foof": {"damping": 0.1},
    "shampoo": {"damping": 0.1},
}
"""Settings besides those that all of them share."""
EVERY = pytest.mark.parametrize("name", optimisers.registry.own)


def cell_of(name: str, **changes: Any) -> Any:
    scheme = "sp_gaussian"
    return chosen(optimiser=name, parameterisation=scheme, **PLAIN | SETTINGS[name] | changes)


def observed(problem: Problem, name: str) -> tuple[Any, Any]:
    """Gradients, and what the optimiser needs of the linear operations."""
    gradients, _, _, operations = backpropagation.observed_update(problem, ())
    return gradients.forward, {key: operations[key] for key in optimisers.needs(name)}


def rule_of(name: str, learning_rate: float = 1e-2, dtype: Any = jnp.float64) -> Any:
    own = cell_of(name)
    traced = own.traced()
    scaling = {
        role: {**factors, "learning_rate": learning_rate}
        for role, factors in traced["scaling"].items()
    }
    numbers = {**traced["optimiser"]}
    cast = partial(jax.tree.map, lambda number: jnp.asarray(number, dtype))
    return groups.rules(own, cast(numbers), cast(scaling), problem_of(own).network)["forward"]


def test_the_battery_has_settings_of_every_optimiser() -> None:
    assert SETTINGS.keys() == set(optimisers.registry.own)


@EVERY
def test_small_steps_descend(name: str) -> None:
    """The loss of one batch falls at every one of ten steps."""
    problem = problem_of(cell_of(name))
    rule = rule_of(name, learning_rate=1e-3)
    params, state = problem.params, rule.init(problem.params)
    losses = [float(problem.loss(problem.forward()))]
    for _ in range(10):
        now = Problem(**{**vars(problem), "params": params})
        gradients, needed = observed(now, name)
        updates, state = rule.update(gradients, state, params, **needed)
        params = optax.apply_updates(params, updates)
        moved = Problem(**{**vars(problem), "params": params})
        losses.append(float(moved.loss(moved.forward())))
    assert (np.diff(losses) < 0).all()


@EVERY
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_updates_and_state_keep_the_dtype(name: str, dtype: Any) -> None:
    problem = problem_of(cell_of(name))
    given = jax.tree.map(
        lambda part: part.astype(dtype), (problem.params, *observed(problem, name))
    )
    params, gradients, needed = given
    rule = rule_of(name, dtype=dtype)
    updates, state = rule.update(gradients, rule.init(params), params, **needed)
    assert {leaf.dtype for leaf in jax.tree.leaves(updates)} == {jnp.dtype(dtype)}
    kept = [
        leaf.dtype for leaf in jax.tree.leaves(state) if jnp.issubdtype(leaf.dtype, jnp.floating)
    ]
    assert set(kept) == {jnp.dtype(dtype)}


@EVERY
def test_compiled_updates_are_those_of_single_operations(name: str) -> None:
    problem = problem_of(cell_of(name))
    gradients, needed = observed(problem, name)
    rule = rule_of(name)

    def update(gradients: Any, needed: Any) -> Any:
        return rule.update(gradients, rule.init(problem.params), problem.params, **needed)[0]

    eager, compiled = update(gradients, needed), jax.jit(update)(gradients, needed)
    for one, other in zip(jax.tree.leaves(eager), jax.tree.leaves(compiled), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-15)


@EVERY
def test_a_gradient_of_zero_moves_nothing(name: str) -> None:
    """From the start, as momentum is zero there."""
    problem = problem_of(cell_of(name))
    gradients, needed = jax.tree.map(jnp.zeros_like, observed(problem, name))
    rule = rule_of(name)
    updates, _ = rule.update(gradients, rule.init(problem.params), problem.params, **needed)
    assert all((np.asarray(leaf) == 0).all() for leaf in jax.tree.leaves(updates))
