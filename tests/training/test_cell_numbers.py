"""A cell's numbers depend on the cell and on nothing else."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scaling_limits import networks
from scaling_limits.cells import Cell
from scaling_limits.datasets.loading import load
from scaling_limits.datasets.order import batch_indices
from scaling_limits.measured import Measured
from scaling_limits.training.loop import compile_shard
from scaling_limits.training.step import initial_weights
from toys import BACKPROPAGATION, EXACT, cell

Results = list[dict[str, Measured]]
Program = Callable[[list[Cell]], Results]


PROGRAMS: dict[tuple[str, Path], Program] = {}


def train(cells: list[Cell], folder: Path, *, anew: bool = False) -> Results:
    """Train cells of one shard in batches, as a job does; `anew` compiles its program again."""
    first, path = cells[0], folder / "digits.npz"
    key = (first.shard(), path)
    if anew or key not in PROGRAMS:
        data = load(first.dataset, path, first.dtype)
        PROGRAMS[key] = compile_shard(first, data)
    size = first.cells_per_batch
    return [r for i in range(0, len(cells), size) for r in PROGRAMS[key](cells[i : i + size])]


def assert_same_bits(a: dict[str, Measured], b: dict[str, Measured]) -> None:
    assert set(a) == set(b)
    for name in a:
        assert a[name].values.dtype == b[name].values.dtype
        assert a[name].values.tobytes() == b[name].values.tobytes(), name


def grid(**changes: Any) -> list[Cell]:
    """44 cells of one shard: 4 weight rates, 11 activity rates."""
    rates = itertools.product(2.0 ** np.arange(-8, 0, 2), 2.0 ** np.arange(-7, 4))
    return [
        cell(learning_rate=float(a), activity_learning_rate=float(b), seed=i % 3, **changes)
        for i, (a, b) in enumerate(rates)
    ]


@pytest.mark.parametrize("way", ["quickly", "partly"])
def test_alone_in_a_shard_of_44_and_in_a_split_one(datasets_folder: Path, way: str) -> None:
    short = grid(measure={"gradient_alignment": [0, 3]})
    cells = [c.model_copy(update={"compiled": way}) for c in short]
    assert len(cells) == 44
    assert len({c.shard() for c in cells}) == 1
    together = train(cells, datasets_folder, anew=True)
    (alone,) = train([cells[17]], datasets_folder, anew=True)
    assert_same_bits(alone, together[17])
    split = train(cells[:20], datasets_folder)
    split += train(cells[20:][::-1], datasets_folder)[::-1]
    for a, b in zip(together, split, strict=True):
        assert_same_bits(a, b)


@pytest.mark.parametrize(
    "accumulation", [{}, {"accumulation": "averaged"}], ids=["one", "averaged"]
)
def test_preconditioned_cells_depend_on_no_other(datasets_folder: Path, accumulation: Any) -> None:
    """Rules of damping, their numbers and those of averages are one shard."""
    given = {**BACKPROPAGATION, "optimiser": "kfac", "skip": False, "fisher": "sampled"}
    given |= {"parameterisation": "preconditioned_mup", "base_width": 4, **accumulation}
    weight = {"averaging_weight": 0.3} if accumulation else {}
    rules = itertools.product(("rescaled", "heuristic", "fixed"), (0.1, 2.0), (0, 1))
    cells = [
        cell(**given, **weight, damping_rule=rule, damping=damping, seed=seed)
        for rule, damping, seed in rules
    ]
    assert len({c.shard() for c in cells}) == 1
    together = train(cells, datasets_folder, anew=True)
    assert len({r["train_loss"].values.tobytes() for r in together}) == len(cells)
    (alone,) = train([cells[5]], datasets_folder, anew=True)
    assert_same_bits(alone, together[5])


def test_batches_of_cells_agree_with_single_cells(datasets_folder: Path) -> None:
    single = train(grid(measure={"gradient_alignment": [0, 3]})[:4], datasets_folder)
    batched = train(grid(cells_per_batch=4)[:4], datasets_folder)
    for a, b in zip(single, batched, strict=True):
        for name in b:
            np.testing.assert_allclose(b[name].values, a[name].values, rtol=2e-4, atol=1e-7)


def test_a_padded_batch_gives_the_numbers_of_a_full_one(datasets_folder: Path) -> None:
    cells = grid(cells_per_batch=4)
    full = train(cells[:4], datasets_folder)
    short = train(cells[:3], datasets_folder)
    for a, b in zip(short, full, strict=False):
        assert_same_bits(a, b)


def unit_draws(c: Cell) -> list[np.ndarray]:
    """Initial weights over their standard deviation, by role."""
    network = networks.build(c.network)
    scaling = {role: dict(s) for role, s in c.traced()["scaling"].items()}
    params = network.init(jax.random.key(c.seed), scaling, c.init_distribution, jnp.float64)
    return [
        np.asarray(jax.tree.leaves(p)[0]) / scaling[s.role]["init_std"]
        for p, s in zip(params, network.segments, strict=True)
    ]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(BACKPROPAGATION, id="backpropagation"),
        pytest.param({**EXACT, "activation": "linear"}, id="exact"),
        pytest.param({"parameterisation": "sp_gaussian"}, id="sp"),
        pytest.param({"parameterisation": "mup", "base_width": 4}, id="mup"),
        pytest.param({"parameterisation": "mup", "optimiser": "sgd"}, id="mup sgd"),
        pytest.param({"parameterisation": "mean_field", "depth_exponent": 0.5}, id="mean field"),
        pytest.param({"learning_rate": 3.0, "activity_learning_rate": 7.0}, id="rates"),
        pytest.param({"skip": False, "parameterisation": "sp_gaussian"}, id="no skips"),
        pytest.param({"batch_size": 4, "num_steps": 99}, id="batch size"),
    ],
)
def test_all_start_from_the_same_unit_draws(changes: Any) -> None:
    for a, b in zip(unit_draws(cell()), unit_draws(cell(**changes)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


@pytest.mark.parametrize("width", [16, 96])
def test_orthogonal_weights_keep_the_norm(width: int) -> None:
    """mupc Sec. 4: at every hidden layer; of the input's and output's the longer sides' rows, or columns, are."""
    c = cell(
        parameterisation="orthogonal",
        skip=False,
        activation="linear",
        depth=5,
        width=width,
        dtype="float64",
    )
    network = networks.build(c.network)
    weights = initial_weights(c, network, c.traced()).forward
    first, hidden, last = (np.asarray(stack["linear"]["kernel"]) for stack in weights)
    for kernel in (*first, *hidden, *last):
        product = kernel @ kernel.T if kernel.shape[0] < kernel.shape[1] else kernel.T @ kernel
        np.testing.assert_allclose(product, np.eye(len(product)), atol=1e-12)
    x = jax.random.normal(jax.random.key(0), (4, c.network.input_dim), jnp.float64)
    stacks = network.activities(weights, c.traced()["scaling"], x)
    norms = [jnp.linalg.norm(z, axis=-1) for stack in stacks[:-1] for z in stack]
    known = jnp.linalg.norm(x, axis=-1) if width > c.network.input_dim else norms[0]
    for norm in norms:
        np.testing.assert_allclose(norm, known, rtol=1e-12)


def test_another_seed_draws_anew_and_draws_have_unit_variance() -> None:
    a, b = (unit_draws(cell(width=64, depth=4, seed=seed)) for seed in (0, 1))
    for one, other in zip(a, b, strict=True):
        assert not np.any(one == other)
        error = 4 * np.sqrt(2 / one.size)
        assert abs(np.var(one) - 1) < error
    layers = a[1]
    assert np.abs(np.corrcoef(layers.reshape(len(layers), -1)) - np.eye(len(layers))).max() < 0.1


def test_deeper_networks_share_the_first_layers_draws() -> None:
    shallow, deep = unit_draws(cell(depth=3)), unit_draws(cell(depth=5))
    np.testing.assert_array_equal(shallow[0], deep[0])
    np.testing.assert_array_equal(shallow[1], deep[1][:2])


ORDER = {"seed": 0, "dataset": "digits", "num_samples": 64, "batch_size": 16, "num_steps": 9}


def test_data_order_depends_on_seed_dataset_and_batch_size() -> None:
    order = batch_indices(**ORDER)
    np.testing.assert_array_equal(order, batch_indices(**ORDER))
    for change in ({"seed": 1}, {"dataset": "mnist"}):
        assert not np.array_equal(order, batch_indices(**ORDER | change))
    halves = batch_indices(**ORDER | {"batch_size": 8, "num_steps": 18})
    assert not np.array_equal(order.reshape(-1), halves.reshape(-1))
    np.testing.assert_array_equal(order[:5], batch_indices(**ORDER | {"num_steps": 5}))


def test_data_order_is_of_whole_epochs() -> None:
    order = batch_indices(**ORDER | {"num_samples": 70})
    assert order.shape == (9, 16)
    for epoch in (order[:4], order[4:8]):
        assert len(np.unique(epoch)) == 64
        assert epoch.max() < 70
    assert not np.array_equal(order[:4], order[4:8])
    full = batch_indices(**ORDER | {"batch_size": 64, "num_steps": 2})
    np.testing.assert_array_equal(full, [np.arange(64)] * 2)


def test_data_order_is_that_of_older_results() -> None:
    assert batch_indices(**ORDER | {"batch_size": 4, "num_steps": 1}).tolist() == PINNED


PINNED = [[12, 52, 58, 10]]
