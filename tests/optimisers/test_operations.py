"""Inputs and cotangents of every linear operation, and an optimiser that takes them."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest
import toy_momentum
from observed_networks import NETWORKS, chosen, problem_of

from scaling_limits import optimisers
from scaling_limits.algorithms.backpropagation import computation as backpropagation
from scaling_limits.cells import Cell
from scaling_limits.datasets.loading import Arrays
from scaling_limits.registry import Registry
from scaling_limits.training.loop import compile_shard


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_are_cotangents_times_inputs(name: str) -> None:
    problem = problem_of(chosen(**NETWORKS[name]))

    @jax.jit
    def run(params: Any, x: Any) -> Any:
        given = replace(problem, params=params, x=x)
        return backpropagation.update(given, ()), backpropagation.observed_update(given, ())

    (known, _, expected), (own, _, metrics, operations) = run(problem.params, problem.x)
    made = toy_momentum.products(operations["inputs"], operations["cotangents"])
    np.testing.assert_allclose(metrics["train_loss"], expected["train_loss"], rtol=1e-13)
    assert jax.tree.structure(made) == jax.tree.structure(known.forward)
    trees = (known.forward, own.forward, made)
    for a, b, c in zip(*map(jax.tree.leaves, trees), strict=True):
        assert np.abs(a).max() > 0
        np.testing.assert_allclose(b, a, rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(c, a, rtol=1e-9, atol=1e-13)


def test_runs_of_equal_layers_stay_stacked() -> None:
    def size(depth: int) -> int:
        problem = problem_of(chosen(depth=depth))
        program = jax.make_jaxpr(lambda: backpropagation.observed_update(problem, ()))()
        return str(program).count(" = ")

    assert size(4) == size(12)


def losses(own: Cell) -> np.ndarray:
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(64, n)) for n in (own.network.input_dim, own.network.output_dim))
    labels = y.argmax(axis=1).astype(np.int32)
    values = compile_shard(own, Arrays(x, y, labels, x, y, labels))([own])[0]["train_loss"].values
    return values


@pytest.mark.parametrize("frozen", [[], ["input"]])
def test_an_optimiser_keeps_its_state_and_gets_what_it_needs(
    frozen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no gradients, and trains as gradient descent with momentum does."""
    sgd = {"optimiser": "sgd", "momentum": 0.9, "parameterisation": "mup", "base_width": 4}
    own = chosen(**sgd, learning_rate=0.02, num_steps=8, depth=3, frozen=frozen)
    known = losses(own)
    assert known[-1] != known[0]
    monkeypatch.setattr(optimisers, "registry", Registry("optimiser", {"sgd": "toy_momentum"}))
    np.testing.assert_allclose(losses(own), known, rtol=1e-10)
