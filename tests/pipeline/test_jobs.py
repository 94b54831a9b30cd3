"""Cells in packs, and packs turned into records."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from scaling_limits.cells import Cell, digest
from scaling_limits.costs.packing import pack, shards
from scaling_limits.costs.rates import shard_seconds
from scaling_limits.errors import DatasetError
from scaling_limits.locks import Locks
from scaling_limits.pipeline import jobs
from scaling_limits.pipeline.jobs import COLUMNS, OutOfMemoryError, run_job
from scaling_limits.pipeline.keys import cell_key, job_digest
from scaling_limits.store import Store
from scaling_limits.training.loop import compile_shard
from toys import BACKPROPAGATION, cell


def sweep(**axes: list) -> list[Cell]:
    points = itertools.product(*axes.values())
    return [cell(**dict(zip(axes, point, strict=True))) for point in points]


MANY = sweep(
    width=[8, 16, 32], learning_rate=[0.1, 0.01], seed=[0, 1], dtype=["float32", "float64"]
)


@pytest.mark.parametrize("seconds", [0.5, 5.0, 20.0, 1e6])
def test_packing_keeps_every_cell_once_and_one_dtype_a_job(seconds: float) -> None:
    packed = pack(shards(MANY), seconds)
    flat = [c for job in packed for c in job]
    assert sorted(map(cell_key, flat)) == sorted(map(cell_key, MANY))
    assert all(len({c.dtype for c in job}) == 1 for job in packed)
    assert all(packed)
    assert pack(shards(MANY), seconds) == packed


def test_small_shards_share_a_job() -> None:
    cells = [c for c in MANY if c.dtype == "float32"]
    assert len(pack(shards(cells), 1e6)) == 1
    one = shard_seconds(cells[:4])
    assert len(pack(shards(cells), 1.5 * one)) == 3


def test_a_big_shard_is_divided_evenly() -> None:
    cells = [cell(width=512, num_steps=2000, seed=seed) for seed in range(12)]
    packed = pack(shards(cells), shard_seconds(cells) / 4)
    assert [len(job) for job in packed] == [3, 3, 3, 3]
    assert [c for job in packed for c in job] == cells
    assert len(pack(shards(cells), 1e-3)) == len(cells)


def test_one_more_value_of_an_axis_leaves_the_other_keys() -> None:
    before = sweep(width=[8, 16], learning_rate=[0.1, 0.01])
    after = sweep(width=[8, 16], learning_rate=[0.1, 0.05, 0.01])
    old, new = set(map(cell_key, before)), set(map(cell_key, after))
    assert old < new
    assert len(new - old) == 2


def test_the_digest_of_a_job_does_not_depend_on_order() -> None:
    assert job_digest(MANY) == job_digest(MANY[::-1])
    assert job_digest(MANY) != job_digest(MANY[1:])


class Run:
    """Run jobs in one folder."""

    def __init__(self, folder: Path, datasets: Path):
        self.store = Store(folder / "cells")
        self.datasets = datasets
        self.records = folder / "job.parquet"
        self.meta = folder / "job.json"

    def __call__(
        self, cells: list[Cell], prepare: Callable[[], None] = lambda: None
    ) -> pd.DataFrame:
        run_job(
            cells,
            store=self.store,
            datasets_folder=self.datasets,
            records=self.records,
            meta=self.meta,
            prepare=prepare,
        )
        return pd.read_parquet(self.records)


@pytest.fixture
def run(tmp_path: Path, datasets_folder: Path) -> Run:
    return Run(tmp_path, datasets_folder)


def test_records_are_tidy_sorted_and_byte_identical(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = {"gradient_alignment": [4, 0]}
    cells = [cell(learning_rate=rate, measure=plan) for rate in (0.1, 0.01)]
    table = run(cells)
    assert "2 cells: 0 stored, 2 to compute in 1 shards" in capsys.readouterr().err
    assert list(table.columns) == COLUMNS
    assert list(dict.fromkeys(table["cell_id"])) == sorted(map(cell_key, cells))
    steps = table.groupby(["cell_id", "metric"])["step"].apply(list).unstack()
    assert list(steps.columns) == [
        "energy",
        "gradient_cosine",
        "gradient_relative_error",
        "inferred_loss",
        "train_loss",
    ]
    assert all(s == list(range(6)) for s in [*steps["energy"], *steps["train_loss"]])
    assert all(s == [0, 4] for s in steps["gradient_cosine"])
    meta = json.loads(run.meta.read_text())
    assert {k: digest(v["cell"]) for k, v in meta.items()} == {
        cell_key(c): digest(c.canonical()) for c in cells
    }
    content = run.records.read_bytes()
    run.records.unlink()
    run(cells[::-1])
    assert "2 cells: 2 stored, 0 to compute in 0 shards" in capsys.readouterr().err
    assert run.records.read_bytes() == content


def test_the_device_is_prepared_before_anything_is_computed_and_only_then(run: Run) -> None:
    def prepare() -> None:
        assert not run.store.folder.exists()
        prepared.append(1)

    prepared: list[int] = []
    first = cell(**BACKPROPAGATION)
    run([first], prepare)
    assert prepared == [1]
    run([first], prepare)
    assert prepared == [1]


def test_only_missing_cells_are_trained(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    first = cell(**BACKPROPAGATION)
    run([first])
    stamp = run.store.path(cell_key(first)).stat().st_mtime_ns
    run([first, cell(**BACKPROPAGATION, seed=1), cell(**BACKPROPAGATION, width=16)])
    assert "3 cells: 1 stored, 2 to compute in 2 shards" in capsys.readouterr().err
    assert run.store.path(cell_key(first)).stat().st_mtime_ns == stamp


def test_what_another_job_has_computed_meanwhile_is_not_computed_again(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [cell(**BACKPROPAGATION), cell(**BACKPROPAGATION, seed=1)]
    stamps = []

    def after_another(path: Path) -> Locks:
        monkeypatch.undo()
        run(cells)
        stamps.extend(run.store.path(cell_key(c)).stat().st_mtime_ns for c in cells)
        return Locks(path)

    monkeypatch.setattr(jobs, "Locks", after_another)
    table = run(cells)
    assert stamps == [run.store.path(cell_key(c)).stat().st_mtime_ns for c in cells]
    assert set(table["cell_id"]) == set(map(cell_key, cells))


def test_cells_stored_before_a_failure_are_kept(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = [cell(**BACKPROPAGATION, seed=seed) for seed in range(3)]
    save, saved = Store.save, []

    def fail_at_the_third(store: Store, key: str, stored: object) -> None:
        if len(saved) == 2:
            raise KeyboardInterrupt
        save(store, key, stored)
        saved.append(key)

    monkeypatch.setattr(Store, "save", fail_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        run(cells)
    assert not run.records.exists()
    monkeypatch.undo()
    run(cells)
    assert "3 cells: 2 stored, 1 to compute" in capsys.readouterr().err


def test_data_of_another_origin_are_refused(run: Run) -> None:
    other = cell().model_copy(
        update={"dataset": cell().dataset.model_copy(update={"checksum": "0" * 64})}
    )
    with pytest.raises(DatasetError, match="prepared from other data"):
        run([other])


class Exhausted:
    """Training of cells of which the second asks for more memory than there is."""

    def __init__(self, error: type[Exception]):
        self.error = error
        self.calls = 0

    def __call__(self, cell: Cell, arrays: object) -> object:
        train = compile_shard(cell, arrays)

        def compute(cells: list[Cell]) -> object:
            self.calls += 1
            if self.calls == 2:
                if self.error is MemoryError:
                    np.zeros(1 << 55)
                jnp.zeros(1 << 50).block_until_ready()
            return train(cells)

        return compute


@pytest.mark.parametrize("error", [MemoryError, RuntimeError])
def test_too_little_memory_is_said_and_stored_cells_are_kept(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: type[Exception],
) -> None:
    cells = [cell(**BACKPROPAGATION, seed=seed, cells_per_batch=2) for seed in range(4)]
    monkeypatch.setattr(jobs, "computation", Exhausted(error))
    with pytest.raises(
        OutOfMemoryError, match=r"width 8 with 2 hidden layers.*2 cells at once"
    ) as raised:
        run(cells)
    assert "stored so far are kept" in str(raised.value)
    assert "resources.cells_per_batch" in str(raised.value)
    monkeypatch.undo()
    capsys.readouterr()
    run(cells)
    assert "4 cells: 2 stored, 2 to compute" in capsys.readouterr().err


def test_other_errors_of_training_are_left_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("INTERNAL: something else")

    monkeypatch.setattr(jobs, "computation", fail)
    with pytest.raises(RuntimeError, match="something else"):
        run([cell(**BACKPROPAGATION)])
