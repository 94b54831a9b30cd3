"""Preconditioners that are recomputed every few steps only, against plain loops in NumPy."""

import re
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from observed_networks import chosen

from scaling_limits import networks, optimisers
from scaling_limits.datasets.loading import Arrays
from scaling_limits.errors import ConfigurationError
from scaling_limits.training import loop

STEPS, INTERVAL = 23, 10
ONE = {"multiplier": 1.0, "input_damping": 1.0, "output_damping": 1.0}
KRONECKER = {
    "input_damping": 0.3,
    "output_damping": 0.7,
    "own_power": 1.0,
    "other_power": 0.0,
    "smallest_damping": 1e-6,
}
NUMBERS = {
    "kfac": KRONECKER,
    "foof": KRONECKER,
    "shampoo": {"damping": 1e-2, "preconditioner_exponent": 0.5},
}
ACCUMULATION = {
    "none": {},
    "averaged": {"factor_decay": 0.8, "factor_weight": 0.2},
    "summed": {"factor_decay": 1.0, "factor_weight": 1.0},
}
MOMENTUM = 0.5
DAMPED = {"damping": 0.1, "parameterisation": "sp_gaussian"}


def batches(rows: int, inputs: int, outputs: int) -> dict[str, np.ndarray]:
    """Draw the operations of one layer at all steps; their size changes from step to step."""
    rng = np.random.default_rng(0)
    sizes = np.exp(rng.normal(size=(STEPS, 1, 1)))
    return {
        "inputs": sizes * rng.normal(size=(STEPS, rows, inputs)),
        "cotangents": rng.normal(size=(STEPS, rows, outputs)) / rows,
        "fisher": sizes * rng.normal(size=(STEPS, rows, outputs)),
    }


def trained(name: str, own: Any, drawn: dict[str, np.ndarray]) -> np.ndarray:
    """Return the directions of all steps by the project's optimiser, in one compiled loop."""
    rule = optimisers.registry.get(name).build(own, ONE)
    gradients = np.einsum("tro,tri->toi", drawn["cotangents"], drawn["inputs"])

    def step(state: Any, given: Any) -> tuple[Any, jax.Array]:
        gradient, operations = given
        layered = {key: value[None] for key, value in operations.items()}
        layered["fisher"] = layered["fisher"][None]
        needed = {key: (layered[key],) for key in optimisers.needs(name)}
        direction, state = rule.update((gradient[None],), state, **needed)
        return state, direction[0][0]

    start = rule.init((jnp.asarray(gradients[0])[None],))
    operations = jax.tree.map(jnp.asarray, drawn)
    return np.asarray(
        jax.jit(lambda: jax.lax.scan(step, start, (jnp.asarray(gradients), operations))[1])()
    )


def inverse(factor: np.ndarray, damping: float) -> np.ndarray:
    rho = damping * np.trace(factor) / len(factor)
    return np.linalg.inv(factor + rho * np.eye(len(factor)))


def root(moment: np.ndarray) -> np.ndarray:
    own = NUMBERS["shampoo"]
    values, vectors = np.linalg.eigh(moment)
    damped = values.clip(0) + own["damping"] * values[-1]
    return (vectors * damped ** (-own["preconditioner_exponent"] / 2)) @ vectors.T


def expected(
    name: str, accumulation: str, drawn: dict[str, np.ndarray], renewed_at: set[int]
) -> np.ndarray:
    """Compute the same with a loop over steps, inverting at the steps `renewed_at` only."""
    factors: list[np.ndarray] = []
    left, right, velocity, found = np.eye(1), np.eye(1), 0.0, []
    rule = ACCUMULATION[accumulation]
    for step in range(STEPS):
        x, c, d = (drawn[key][step] for key in ("inputs", "cotangents", "fisher"))
        g = c.T @ x
        batch = [x.T @ x / len(x), d.T @ d / len(x)]
        if name == "shampoo":
            batch = [g.T @ g, g @ g.T]
        if rule and step:
            decay, weight = rule["factor_decay"], rule["factor_weight"]
            batch = [decay * old + weight * new for old, new in zip(factors, batch, strict=True)]
        factors = batch
        if step in renewed_at:
            if name == "shampoo":
                right, left = map(root, factors)
            else:
                right = inverse(factors[0], KRONECKER["input_damping"])
                left = inverse(factors[1], KRONECKER["output_damping"])
        direction = g @ right if name == "foof" else left @ g @ right
        velocity = MOMENTUM * velocity + direction
        found.append(velocity)
    return np.stack(found)


@pytest.mark.parametrize(
    ("name", "accumulation"),
    [
        *((name, kind) for name in ("kfac", "foof") for kind in ("none", "averaged")),
        *(("shampoo", kind) for kind in ACCUMULATION),
    ],
)
@pytest.mark.parametrize("rows", [4, 40], ids=["sample space", "weight space"])
def test_preconditioners_are_recomputed_at_multiples_alone(
    name: str, accumulation: str, rows: int
) -> None:
    """Steps 0, 10 and 20 of 23; accumulated factors contain the batches between."""
    drawn = batches(rows, 9, 7)
    own = {"momentum": MOMENTUM, **NUMBERS[name], **ACCUMULATION[accumulation]}
    found = trained(name, {**own, "preconditioner_interval": INTERVAL}, drawn)
    wanted = expected(name, accumulation, drawn, {0, 10, 20})
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9 * scale)
    others = expected(name, accumulation, drawn, {0, 9, 20})
    assert np.abs(found - others).max() > 1e-3 * scale
    every = expected(name, accumulation, drawn, set(range(STEPS)))
    np.testing.assert_allclose(trained(name, own, drawn), every, rtol=0, atol=1e-9 * scale)


def decompositions(jaxpr: Any, conditional: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield each decomposition of a program, and whether it is computed under a condition."""
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        if name in ("eigh", "cholesky"):
            yield name, conditional
        for value in equation.params.values():
            for inner in value if isinstance(value, tuple | list) else [value]:
                inner = getattr(inner, "jaxpr", inner)
                if hasattr(inner, "eqns"):
                    yield from decompositions(inner, conditional or name == "cond")


def arrays_of(cell: Any) -> Arrays:
    rng = np.random.default_rng(0)
    sizes = cell.dataset.num_train, cell.dataset.num_test
    x = [rng.normal(size=(n, cell.network.input_dim)) for n in sizes]
    labels = [rng.integers(0, 10, n).astype(np.int32) for n in sizes]
    y = [np.eye(cell.network.output_dim)[label] for label in labels]
    return Arrays(x[0], y[0], labels[0], x[1], y[1], labels[1])


@pytest.mark.parametrize("name", ["kfac", "foof", "shampoo"])
@pytest.mark.parametrize("accumulation", ["none", "averaged"])
def test_batches_of_cells_skip_decompositions(name: str, accumulation: str) -> None:
    """The condition is the same for all cells, so `vmap` does not replace it by a selection.

    Layers 2 and 3 are a stack, which is one loop in the program.
    """
    averaged = {"averaging_weight": 0.5} if accumulation == "averaged" else {}
    own = {"optimiser": name, "accumulation": accumulation, **averaged, **DAMPED}
    own |= {"skip": None, "depth_kind": "weight_layers", "depth": 4, "momentum": 0.9}

    def conditional(**changes: Any) -> set[bool]:
        cell = chosen(**own, **changes).model_copy(update={"cells_per_batch": 3})
        numbers, orders = loop._arguments([cell], 3)
        draw = jax.vmap(lambda n: loop.initial_weights(cell, networks.build(cell.network), n))
        run = jax.vmap(loop.cell_function(cell), in_axes=(0, 0, 0, None))
        data = loop.data_of(cell, arrays_of(cell))
        jaxpr = jax.make_jaxpr(run)(numbers, orders, jax.eval_shape(draw, numbers), data)
        return {inside for _, inside in decompositions(jaxpr.jaxpr)}

    assert conditional(preconditioner_interval=INTERVAL) == {True}
    assert conditional() == {False}


@pytest.mark.parametrize("name", ["kfac", "foof", "shampoo"])
def test_an_interval_of_one_is_not_part_of_a_cell(name: str) -> None:
    """Such a cell is the cell without the setting: it has the same key and the same program."""
    plain = chosen(optimiser=name, **DAMPED)
    one = chosen(optimiser=name, **DAMPED, preconditioner_interval=1)
    ten = chosen(optimiser=name, **DAMPED, preconditioner_interval=10)
    assert one == plain
    assert "preconditioner_interval" not in plain.canonical()["optimiser"]
    assert ten.static()["optimiser"]["preconditioner_interval"] == 10
    assert ten.shard() != plain.shard()


@pytest.mark.parametrize("value", [0, -1, 2.5, "often", True])
def test_bad_intervals_are_rejected(value: object) -> None:
    with pytest.raises(ConfigurationError) as error:
        chosen(optimiser="kfac", **DAMPED, preconditioner_interval=value)
    assert error.value.key == "preconditioner_interval"
    assert re.search("greater than or equal to 1|integer|number", str(error.value))


def test_optimisers_without_preconditioner_reject_an_interval() -> None:
    with pytest.raises(ConfigurationError, match="foof or kfac or shampoo"):
        chosen(optimiser="sgd", parameterisation="sp_gaussian", preconditioner_interval=10)
