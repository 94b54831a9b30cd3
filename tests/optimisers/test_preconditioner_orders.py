"""Powers of the width of factors, dampings and directions, and of the rows: second-order's T1, T7, T8, T10."""

import functools
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest
from observed_networks import chosen, problem_of

from scaling_limits import optimisers
from scaling_limits.algorithms.backpropagation import computation as backpropagation
from scaling_limits.parameterisations.table import Exponents, find_row
from scaling_limits.parameterisations.theory import PRECONDITIONERS, SHAMPOO

WIDTHS = (128, 512)
ROLES = ("input", "hidden", "output")
POWERS = {"sgd": (0.0, 0.0), "shampoo": (SHAMPOO, SHAMPOO), **PRECONDITIONERS}
TABLE_1 = {
    "sgd": ((0, -1), (0.5, 0), (1, 1)),
    "shampoo": ((0, -0.5), (0.5, 0), (1, 0.5)),
    "kfac": ((0, 0), (0.5, 0), (1, 0)),
    "foof": ((0, -1), (0.5, -1), (1, 0)),
}
TABLE_S3 = {
    "sgd": ((0, 0), (0.5, 1), (0.5, 1)),
    "shampoo": ((0, 0), (0.5, 0.5), (0.5, 0.5)),
    "kfac": ((0, 0), (0.5, 0), (0.5, 0)),
    "foof": ((0, 0), (0.5, 0), (0.5, 0)),
}


def b_and_c(scheme: str, rule: str, output: float | None = None) -> tuple[Any, ...]:
    """(b, c) of input, hidden and output weights: powers of the standard deviation and the rate."""
    row = find_row(scheme, rule)
    e_a, e_b = POWERS[rule]
    given = {"input_preconditioner_exponent": e_a, "preconditioner_exponent": e_b}
    exponents = Exponents(**given, output_init_exponent=output)

    def power(role: str, quantity: str) -> float:
        return -exponents.value(row.exponent(role, quantity, "width", skip=False)) + 0.0

    return tuple((power(role, "init_std"), power(role, "learning_rate")) for role in ROLES)


def orders(rule: str, found: Any) -> tuple[float, ...]:
    """r of input, hidden and output weights: (11)-(13), and (S.52)-(S.54) for Shampoo."""
    (_, c_1), (_, c_l), (b_last, c_last) = found
    e_a, e_b = POWERS[rule]
    return (
        c_1 + e_b - (2 * e_b - 1) * b_last,
        c_l + e_a + e_b - 1 - (2 * e_b - 1) * b_last,
        c_last + e_a - 1,
    )


@pytest.mark.parametrize("rule", POWERS)
def test_rows_are_those_of_the_tables(rule: str) -> None:
    """T1: Tables 1 and S.3, (S.81); r = 0 at muP and 1/2 below the output where training is lazy."""
    feature, lazy = b_and_c("preconditioned_mup", rule), b_and_c("lazy", rule)
    assert feature == TABLE_1[rule]
    assert lazy == TABLE_S3[rule]
    assert orders(rule, feature) == (0, 0, 0)
    assert orders(rule, lazy) == (0.5, 0.5, 0)
    assert b_and_c("preconditioned_mup", rule, 64.0)[-1][0] == 64


@functools.cache
def observing(width: int) -> Any:
    problem = problem_of(chosen(**SETTINGS, width=width, optimiser="kfac", damping=1.0))

    @jax.jit
    def run(params: Any, scaling: Any) -> Any:
        given = replace(problem, params=params, scaling=scaling)
        gradients, _, _, operations = backpropagation.observed_update(given, ())
        return gradients.forward, operations

    return run(problem.params, problem.scaling)


SETTINGS: dict[str, Any] = {
    "depth": 2,
    "skip": False,
    "activation": "tanh",
    "base_width": 16,
    "parameterisation": "preconditioned_mup",
}


def measured(width: int, **settings: Any) -> dict[str, np.ndarray]:
    """Traces, dampings and their ratio, and the norm of the direction over the gradient's, by layer."""
    cell = chosen(**SETTINGS, width=width, **settings)
    gradients, operations = observing(width)
    numbers = cell.traced()["optimiser"]
    needed = {name: operations[name] for name in optimisers.needs(cell.optimiser.name)}
    found: dict[str, list[float]] = {}
    for index, role in enumerate(ROLES):
        build = optimisers.registry.get(cell.optimiser.name).build
        rule = build(numbers, cell.traced()["scaling"][role])
        gradient = gradients[index]
        given = {name: operation[index] for name, operation in needed.items()}
        direction, state = rule.update(gradient, rule.init(gradient), **given)
        seen = {name: jax.tree.leaves(v)[0][0] for name, v in state[0].seen.items()}
        for side in ("input", "output"):
            seen[f"{side}_ratio"] = seen[f"{side}_damping"] / seen[f"{side}_trace"]
        norms = [np.linalg.norm(jax.tree.leaves(v)[0]) for v in (direction, gradient)]
        for name, value in {**seen, "growth": norms[0] / norms[1]}.items():
            found.setdefault(name, []).append(float(value))
    return {name: np.array(values) for name, values in found.items()}


def slopes(**settings: Any) -> dict[str, np.ndarray]:
    small, large = (measured(width, **settings) for width in WIDTHS)
    return {
        name: np.log(large[name] / small[name]) / np.log(WIDTHS[1] / WIDTHS[0]) for name in small
    }


def test_factors_and_what_they_do_to_gradients() -> None:
    """T7 and T8: A grows as its layer's inputs, B falls; the direction's are the rates of SGD's muP."""
    found = slopes(optimiser="kfac", damping=1.0)
    np.testing.assert_allclose(found["input_trace"], [0, 1, 1], atol=0.1)
    np.testing.assert_allclose(found["output_trace"], [-1, -1, 0], atol=0.1)
    np.testing.assert_allclose(found["growth"], [1, 0, -1], atol=0.15)


@pytest.mark.parametrize(
    ("settings", "inputs", "outputs"),
    [
        ({"damping_rule": "rescaled"}, (0, 0, 0), (0, 0, 0)),
        ({"damping_rule": "fixed"}, (0, 0, 0), (0, 0, 0)),
        ({"damping_rule": "heuristic"}, (1, 0, -1), (0, 0, 0)),
        (
            {"exponent_changes": {"hidden": {"input_damping": {"width": -1.0}}}},
            (0, -1, 0),
            (0, 0, 0),
        ),
    ],
    ids=["rescaled", "fixed", "heuristic", "literal B.2"],
)
def test_damping_relative_to_its_factor(settings: Any, inputs: Any, outputs: Any) -> None:
    """T10: (15) and (7) with (8) keep to the factor; (14) does not where one size is fixed."""
    found = slopes(optimiser="kfac", damping=1.0, **settings)
    np.testing.assert_allclose(found["input_ratio"], inputs, atol=0.1)
    if settings.get("damping_rule") != "heuristic":
        np.testing.assert_allclose(found["output_ratio"], outputs, atol=0.1)


def test_shampoos_damping() -> None:
    """T7: its moments' largest eigenvalues go as -1, 0, 1; the damping is a part of them at any width."""
    found = slopes(optimiser="shampoo", damping=1e-3)
    np.testing.assert_allclose(found["input_damping"], [-1, 0, 1], atol=0.25)
    np.testing.assert_allclose(found["input_ratio"], 0, atol=0.1)
