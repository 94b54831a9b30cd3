"""Processes that share a store: each computes what no other one is computing."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd
import pytest

from scaling_limits.locks import Locks
from scaling_limits.store import Store
from toys import BACKPROPAGATION, cell

PROGRAM = Path(__file__).with_name("sharing.py")
SEEDS = list(range(12))


class Processes:
    """Processes that compute side by side: each is at its first cell before any goes on."""

    def __init__(self, folder: Path, datasets: Path):
        self.folder = folder
        self.datasets = datasets
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        folder.mkdir(exist_ok=True)

    def begin(self, parts: Mapping[str, Sequence[int]], before: Sequence[str] = ()) -> None:
        paths = [str(PROGRAM.parents[1]), os.environ.get("PYTHONPATH", "")]
        for name, seeds in parts.items():
            program = [sys.executable, PROGRAM, self.folder, self.datasets, name]
            self.running[name] = subprocess.Popen(
                [*before, *program, *map(str, seeds)],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
            )
        deadline = time.monotonic() + 120
        while not all(self.seeds(name, "+") for name in parts):
            assert time.monotonic() < deadline, "they wait for each other"
            time.sleep(0.01)

    def end(self) -> dict[str, int]:
        (self.folder / "go").touch()
        return {name: process.wait(60) for name, process in self.running.items()}

    def seeds(self, name: str, what: str) -> list[int]:
        path = self.folder / f"{name}.log"
        lines = path.read_text().splitlines() if path.exists() else []
        return [int(line[2:]) for line in lines if line[0] == what]

    def all_computed(self) -> list[int]:
        return sorted(seed for name in self.running for seed in self.seeds(name, "-"))

    def stored(self) -> dict[str, bytes]:
        """The measured arrays of each stored cell; the rest of its file contains times."""
        store = Store(self.folder / "cells")
        keys = [path.stem for path in store.folder.glob("*/*.cell")]
        cells = {key: store.load(key) for key in keys}
        return {
            key: cell.measured["train_loss"].values.tobytes() for key, cell in cells.items() if cell
        }

    def records(self, name: str) -> bytes:
        return (self.folder / f"{name}.parquet").read_bytes()


@pytest.fixture
def processes(tmp_path: Path, datasets_folder: Path) -> Iterator[Processes]:
    processes = Processes(tmp_path, datasets_folder)
    yield processes
    for process in processes.running.values():
        process.kill()
        process.wait()


def test_jobs_of_one_shard_compute_side_by_side_and_store_the_bytes_of_one_job(
    processes: Processes, tmp_path: Path, datasets_folder: Path
) -> None:
    assert len({cell(**BACKPROPAGATION, seed=seed).shard() for seed in SEEDS}) == 1
    parts = {"a": SEEDS[:4], "b": SEEDS[4:8], "c": SEEDS[8:]}
    processes.begin(parts)
    assert set(processes.end().values()) == {0}
    for name, seeds in parts.items():
        assert processes.seeds(name, "-") == seeds
    unsplit = Processes(tmp_path / "unsplit", datasets_folder)
    unsplit.begin({"whole": SEEDS})
    assert unsplit.end() == {"whole": 0}
    assert processes.stored() == unsplit.stored()
    assert len(unsplit.stored()) == len(SEEDS)
    records = [pd.read_parquet(processes.folder / f"{name}.parquet") for name in parts]
    together = pd.concat(records).sort_values("cell_id", ignore_index=True)
    pd.testing.assert_frame_equal(together, pd.read_parquet(unsplit.folder / "whole.parquet"))


def test_equal_jobs_share_the_work_and_take_over_from_one_that_is_killed(
    processes: Processes,
) -> None:
    processes.begin(dict.fromkeys("abc", SEEDS))
    processes.running["a"].kill()
    assert processes.end() == {"a": -signal.SIGKILL, "b": 0, "c": 0}
    assert processes.all_computed() == SEEDS
    assert not processes.seeds("a", "-")
    assert all(len(processes.seeds(name, "-")) > 1 for name in "bc")
    assert processes.records("b") == processes.records("c")
    assert sorted(pd.read_parquet(processes.folder / "b.parquet")["value"]) == SEEDS


IN_CONTAINER = ("unshare", "--pid", "--fork", "--mount-proc")
"""The program has number 1 in a namespace of its own."""


@pytest.fixture
def containers() -> None:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root and unshare")
    if subprocess.run([*IN_CONTAINER, "true"], capture_output=True).returncode:
        pytest.skip("no namespace of process numbers can be made here")


@pytest.mark.usefixtures("containers")
def test_processes_of_two_containers_share_a_store(processes: Processes) -> None:
    processes.begin(dict.fromkeys("ab", SEEDS), before=IN_CONTAINER)
    assert set(processes.end().values()) == {0}
    assert processes.all_computed() == SEEDS
    assert processes.records("a") == processes.records("b")


@pytest.mark.usefixtures("containers")
def test_processes_of_two_containers_write_one_file(tmp_path: Path) -> None:
    program = (
        "import sys, os; from pathlib import Path; from scaling_limits.files import write_file\n"
        "assert os.getpid() == 1\n"
        "for number in range(300): write_file(Path(sys.argv[1]), sys.argv[2] * 10_000)"
    )
    path = tmp_path / "file"
    writers = [
        subprocess.Popen([*IN_CONTAINER, sys.executable, "-c", program, path, letter])
        for letter in "ab"
    ]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    assert path.read_text() in ("a" * 10_000, "b" * 10_000)
    assert list(tmp_path.iterdir()) == [path]


def test_a_store_without_locks_is_computed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.lockf", refuse)
    with Locks(tmp_path / "lock") as locks:
        assert locks.take("0" * 16)
        locks.wait("0" * 16)


def test_a_lock_belongs_to_a_process_until_it_ends(tmp_path: Path) -> None:
    key, other = "f" * 16, "e" * 16
    program = (
        "import sys; from pathlib import Path; from scaling_limits.locks import Locks\n"
        "locks = Locks(Path(sys.argv[1])); print(locks.take(sys.argv[2]), flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, tmp_path / "lock", key],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"True\n"
        with Locks(tmp_path / "lock") as locks:
            assert not locks.take(key)
            assert locks.take(other)
            locks.release(other)
            process.kill()
            locks.wait(key)
            assert locks.take(key)
