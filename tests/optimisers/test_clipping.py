"""Updates by K-FAC that are bounded by what they change of the predictions, in float64."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from observed_networks import NETWORKS, chosen, problem_of

from scaling_limits.algorithms.backpropagation import computation as backpropagation
from scaling_limits.algorithms.problem import Problem
from scaling_limits.cells import Cell
from scaling_limits.datasets.loading import Arrays
from scaling_limits.optimisers.groups import rules
from scaling_limits.training.loop import compile_shard
from toys import BACKPROPAGATION, cell

KFAC: dict[str, Any] = {
    "optimiser": "kfac",
    "parameterisation": "preconditioned_mup",
    "base_width": 4,
    "damping": 0.3,
    "learning_rate": 0.5,
    "skip": False,
    "activation": "tanh",
}
MULTIPLIERS = {"input": 1.7, "hidden": 0.6, "output": 0.4}


def kfac(**changes: Any) -> Cell:
    """With multipliers that are not one, as rows of the user's own may have."""
    own = chosen(**KFAC | {"width": 8, "depth": 3} | changes)
    scaling = {
        name: numbers.model_copy(update={"multiplier": MULTIPLIERS[name.split("_")[0]]})
        for name, numbers in own.scaling.items()
    }
    return own.model_copy(update={"scaling": scaling})


def observed(problem: Problem) -> tuple[Any, Any]:
    """Gradients and operations."""

    @jax.jit
    def run(params: Any) -> tuple[Any, Any]:
        found = backpropagation.observed_update(replace(problem, params=params), ())
        return found[0].forward, found[3]

    return run(problem.params)


PROGRAMS: dict[tuple[str, int], Any] = {}


def updates(own: Cell, problem: Problem, seen: Any, count: int = 1) -> list[list[np.ndarray]]:
    """What is added to the kernels, layer by layer, by so many updates with the gradients and operations `seen`.

    Cells that differ in the bound alone share a program.
    """

    def run(numbers: Any, params: Any, gradients: Any, operations: Any) -> list[Any]:
        rule = rules(own, numbers["optimiser"], numbers["scaling"], problem.network)["forward"]
        state, found = rule.init(params), []
        for _ in range(count):
            update, state = rule.update(gradients, state, params, **operations)
            found.append(jax.tree.leaves(update))
        return found

    program = PROGRAMS.setdefault((own.shard(), count), jax.jit(run))
    found = program(own.traced(), problem.params, *seen)
    return [[w for stack in update for w in np.asarray(stack)] for update in jax.device_get(found)]


def curvatures(own: Cell, problem: Problem, seen: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of each layer `multiplier^2 (B + rho_B)` and A + rho_A, from the matrices themselves (second-order 2, 15)."""
    operations, found = seen[1], []
    leaves = zip(
        jax.tree.leaves(operations["inputs"]), jax.tree.leaves(operations["fisher"]), strict=True
    )
    for segment, (xs, ds) in zip(problem.network.segments, leaves, strict=True):
        factors, optimiser = own.scaling[segment.role], own.traced()["optimiser"]
        for x, d in zip(np.asarray(xs), np.asarray(ds), strict=True):
            rows = x.reshape(-1, x.shape[-1])
            a = rows.T @ rows / len(rows)
            signals = d.reshape(-1, d.shape[-1]) / factors.multiplier
            b = signals.T @ signals / len(x)
            rho_a = optimiser["input_damping"] * factors.input_damping * np.trace(a) / len(a)
            rho_b = optimiser["output_damping"] * factors.output_damping * np.trace(b) / len(b)
            left = factors.multiplier**2 * (b + rho_b * np.eye(len(b)))
            found.append((left, a + rho_a * np.eye(len(a))))
    return found


def length(update: list[np.ndarray], matrices: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """The quadratic form of the damped curvature, all layers together."""
    pairs = zip(update, matrices, strict=True)
    return sum(float(np.trace(u.T @ left @ u @ right)) for u, (left, right) in pairs)


@pytest.mark.parametrize(
    "changes", [{}, {"width": 20}, {**NETWORKS["cnn"], "parameterisation": "sp_gaussian"}]
)
def test_updates_are_as_long_as_they_may_be(changes: Any) -> None:
    """All layers' are shortened by one number, to the length of the bound, and not if they are below it."""
    own = kfac(**changes)
    problem = problem_of(own)
    seen = observed(problem)
    (free,), matrices = updates(own, problem, seen), curvatures(own, problem, seen)
    unbounded = length(free, matrices)
    for share in (0.01, 0.7):
        (bounded,) = updates(kfac(**changes, kl_clip=share * unbounded), problem, seen)
        assert length(bounded, matrices) == pytest.approx(share * unbounded, rel=1e-10)
        for a, b in zip(bounded, free, strict=True):
            np.testing.assert_allclose(a, share**0.5 * b, rtol=1e-9, atol=1e-14)
    (within,) = updates(kfac(**changes, kl_clip=1.01 * unbounded), problem, seen)
    for a, b in zip(within, free, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15)


def test_the_bound_is_that_of_the_change_of_predictions() -> None:
    """Where only the output is trained and nothing damps, the mean square of what predictions change by: twice their
    divergence under N(f, I).
    """
    own = kfac(damping=1e-10, frozen=["input", "hidden"], width=4, kl_clip=1e-3)
    problem = problem_of(own)
    (update,) = updates(own, problem, observed(problem))
    assert not any(update[layer].any() for layer in range(3))
    params = list(problem.params)
    params[-1] = {"linear": {"kernel": params[-1]["linear"]["kernel"] + update[-1][None]}}
    moved = problem.network.forward(tuple(params), problem.scaling, problem.x) - problem.forward()
    assert float((moved**2).sum(axis=1).mean()) == pytest.approx(1e-3, rel=1e-5)


def test_momentum_sums_what_was_shortened() -> None:
    own = kfac()
    problem = problem_of(own)
    seen = observed(problem)
    (free,), matrices = updates(own, problem, seen), curvatures(own, problem, seen)
    bound = 0.25 * length(free, matrices)
    first, second = updates(kfac(kl_clip=bound, momentum=0.9), problem, seen, 2)
    for a, b, u in zip(first, second, free, strict=True):
        np.testing.assert_allclose(a, 0.5 * u, rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(b, 1.9 * 0.5 * u, rtol=1e-9, atol=1e-14)


def test_without_a_gradient_nothing_moves() -> None:
    own = kfac(kl_clip=1e-3)
    problem = problem_of(own)
    still = Problem(
        problem.network, problem.params, problem.scaling, problem.x, problem.forward(),
        problem.options, problem.numbers,
    )  # fmt: skip
    (update,) = updates(own, still, observed(still))
    assert all(np.all(np.abs(u) < 1e-12) for u in update)


def trained(*alike: dict[str, Any], **changes: Any) -> list[dict[str, np.ndarray]]:
    """Cells of one program, one after another."""
    given = {
        **BACKPROPAGATION,
        **KFAC,
        "depth": 3,
        "dtype": "float64",
        "num_steps": 4,
        "batch_size": 64,
    }
    measure = {"preconditioning": [0], "curvature": [0, 2]}
    cells = [cell(**given | changes | own, measure=measure) for own in alike]
    own = cells[0]
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(64, n)) for n in (own.network.input_dim, own.network.output_dim))
    labels = y.argmax(axis=1).astype(np.int32)
    program = compile_shard(own, Arrays(x, y, labels, x, y, labels))
    found = [program([each])[0] for each in cells]
    return [{name: measured.values for name, measured in run.items()} for run in found]


def test_training_with_a_bound() -> None:
    """One that is never reached changes nothing; what is measured of directions is before any."""
    schedule = {"momentum": 0.9, "learning_rate_schedule": "cosine"}
    (free,) = trained({}, **schedule)
    wide, narrow = trained({"kl_clip": 1e9}, {"kl_clip": 1e-4}, **schedule)
    for metric, values in free.items():
        np.testing.assert_allclose(wide[metric], values, rtol=1e-9)
    np.testing.assert_allclose(narrow["preconditioned_ratio"], free["preconditioned_ratio"], 1e-9)
    assert narrow["train_loss"][0] == free["train_loss"][0]
    moved, least = (np.abs(np.diff(run["train_loss"])[0]) for run in (free, narrow))
    assert 0 < least < moved / 2


def test_without_it_a_cell_is_as_it_was() -> None:
    assert "kl_clip" not in chosen(**KFAC).canonical()["optimiser"]
    bounds = [chosen(**KFAC, kl_clip=k) for k in (0.1, 0.2)]
    assert bounds[0].shard() == bounds[1].shard() != chosen(**KFAC).shard()
    assert bounds[0].traced()["optimiser"]["kl_clip"] == 0.1


def test_the_shortening_of_nothing_is_one() -> None:
    from scaling_limits.optimisers.clipping import shortening

    assert float(shortening(jnp.float64(0.0), 1e-3)) == 1.0
    assert float(shortening(jnp.float64(4e-3), 1e-3)) == pytest.approx(0.5)
    assert float(shortening(jnp.float64(4e-3), jnp.inf)) == 1.0
