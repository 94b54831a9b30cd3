"""Cells on disk: whole or not there, checked when read, never in the way."""

import concurrent.futures
import errno
import multiprocessing
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scaling_limits.errors import StoreError
from scaling_limits.files import WriteError
from scaling_limits.measured import Measured
from scaling_limits.store import Store, StoredCell

KEY = "0123456789abcdef"


def sample(seed: int = 0) -> StoredCell:
    values = np.random.default_rng(seed).standard_normal((5, 2))
    values[3, 1] = np.inf
    values[4, 1] = np.nan
    curve = Measured(np.arange(3, dtype=np.float32), ("step",), {"step": (0, 1, 2)})
    stack = Measured(values, ("step", "layer"), {"step": (0, 1, 2, 5, 9), "layer": (1, 4)})
    return StoredCell({"train_loss": curve, "norm": stack}, {"cell": {"seed": seed}, "seconds": 1})


def assert_equal(a: StoredCell | None, b: StoredCell) -> None:
    assert a is not None
    assert a.meta == b.meta
    assert set(a.measured) == set(b.measured)
    for name, measured in a.measured.items():
        other = b.measured[name]
        assert (measured.axes, measured.labels) == (other.axes, other.labels)
        assert measured.values.dtype == other.values.dtype
        np.testing.assert_array_equal(measured.values, other.values)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_round_trip(tmp_path: Path) -> None:
    store = Store(tmp_path / "cells")
    assert KEY not in store
    assert store.load(KEY) is None
    store.save(KEY, sample())
    assert KEY in store
    assert_equal(store.load(KEY), sample())
    assert files(tmp_path) == [f"{KEY}.cell"]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda content: content[:40], id="cut in the checksum"),
        pytest.param(lambda content: bytes([content[0] ^ 1]) + content[1:], id="bit of checksum"),
    ],
)
def test_a_damaged_cell_is_moved_aside_and_not_used(
    tmp_path: Path, damage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(tmp_path)
    store.save(KEY, sample())
    path = store.path(KEY)
    path.write_bytes(damage(path.read_bytes()))
    assert store.load(KEY) is None
    assert KEY not in store
    assert files(tmp_path) == [f"{KEY}.corrupt"]
    message = capsys.readouterr().err
    assert str(path) in message
    assert "damaged" in message
    assert f"{KEY}.corrupt" in message
    store.save(KEY, sample())
    assert_equal(store.load(KEY), sample())


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_is_said_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    store = Store(tmp_path)
    store.save(KEY, sample())

    def full(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, call, full)
    other = KEY[::-1]
    with pytest.raises(WriteError, match=os.strerror(code)) as caught:
        store.save(other, sample(1))
    assert str(store.path(other)) in str(caught.value)
    assert files(tmp_path) == [f"{KEY}.cell"]
    with pytest.raises(WriteError):
        store.save(KEY, sample(1))
    assert_equal(store.load(KEY), sample())


def test_no_permission_to_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    store = Store(tmp_path)
    store.save(KEY, sample())
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(WriteError, match="Permission denied"):
        store.save(KEY, sample())
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(StoreError, match="Permission denied"):
        store.load(KEY)


def test_a_damaged_cell_that_cannot_be_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    store.save(KEY, sample())
    store.path(KEY).write_bytes(b"")

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(StoreError, match="Read-only"):
        store.load(KEY)


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "cells").write_text("not a folder")
    with pytest.raises(WriteError, match="cannot write"):
        Store(tmp_path / "cells").save(KEY, sample())


def _write(folder: str, times: int) -> int:
    store = Store(folder)
    for _ in range(times):
        store.save(KEY, sample())
        assert store.load(KEY) is not None
    return times


def test_processes_may_write_the_same_cell(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        done = list(pool.map(_write, [str(tmp_path)] * 2, [20] * 2))
    assert done == [20, 20]
    assert files(tmp_path) == [f"{KEY}.cell"]
    assert_equal(Store(tmp_path).load(KEY), sample())
