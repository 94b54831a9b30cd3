"""Compiled programs that processes share."""

import hashlib
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from scaling_limits.pipeline import machine, programs
from scaling_limits.pipeline.programs import shared_programs

OPTIONS = [
    "jax_compilation_cache_dir",
    "jax_persistent_cache_enable_xla_caches",
    "jax_persistent_cache_min_compile_time_secs",
    "jax_persistent_cache_min_entry_size_bytes",
]


@pytest.fixture(autouse=True)
def _options_as_before() -> Iterator[None]:
    before = {name: getattr(jax.config, name) for name in OPTIONS}
    yield
    for name, value in before.items():
        jax.config.update(name, value)
    jax.experimental.compilation_cache.compilation_cache.reset_cache()


def compute(folder: Path, number: float) -> list[str]:
    """Compile a program of its own for each number; the names of the programs that are there before."""
    jax.clear_caches()
    jax.experimental.compilation_cache.compilation_cache.reset_cache()
    with shared_programs(folder):
        own = Path(jax.config.jax_compilation_cache_dir)
        there = sorted(path.name for path in own.iterdir())
        value = float(jax.jit(lambda x: jnp.sin(x) * number)(0.5))
    assert value == pytest.approx(number * math.sin(0.5))
    assert not own.exists()
    return there


def whole(folder: Path) -> dict[str, bytes]:
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name, content in found.items():
        assert name.rpartition(".")[2] == hashlib.sha256(content).hexdigest()[:16]
    return found


def cut_off(content: bytes) -> bytes:
    return content[:100]


def overwritten(content: bytes) -> bytes:
    return content[:100] + bytes(len(content) - 100)


def keys(names: Iterable[str]) -> list[str]:
    return sorted(name.rpartition(".")[0] for name in names)


@pytest.mark.parametrize("damage", [cut_off, overwritten])
def test_a_program_is_compiled_once_and_again_if_it_is_damaged(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    folder = tmp_path / "programs"
    assert compute(folder, 3.25) == []
    first = whole(folder)
    assert first
    assert compute(folder, 3.25) == keys(first)
    assert whole(folder) == first
    damaged = folder / max(first, key=lambda name: len(first[name]))
    damaged.write_bytes(damage(first[damaged.name]))
    assert compute(folder, 3.25) == sorted(
        name.rpartition(".")[0] for name in first.keys() - {damaged.name}
    )
    again = whole(folder)
    assert keys(again) == keys(first)
    # a second copy, from a process that compiled it at the same time
    damaged.write_bytes(first[damaged.name])
    assert compute(folder, 3.25) == keys(first)
    assert whole(folder) == again | {damaged.name: first[damaged.name]}
    compute(folder, 7.75)
    assert set(keys(whole(folder))) > set(keys(first))


def test_what_a_killed_process_left_is_removed_after_a_while(tmp_path: Path) -> None:
    for name, age in (("old", 31 * 86400), ("new", 86400)):
        left = tmp_path / f".process-{name}"
        left.mkdir()
        (left / "program").touch()
        seconds = os.stat(left).st_mtime - age
        os.utime(left, (seconds, seconds))
    for name, age in (("old", 3700), ("new", 60)):
        written = tmp_path / f"key.5.{name}.tmp"
        written.touch()
        seconds = os.stat(written).st_mtime - age
        os.utime(written, (seconds, seconds))
    with shared_programs(tmp_path):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [".process-new", "key.5.new.tmp"]


def test_kinds_of_machine_have_folders_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def folder(described: str) -> str:
        monkeypatch.setattr(machine, "machine_kind", lambda: machine._processor(described))
        return machine.programs_folder()

    one = "processor\t: 0\nmodel name\t: Some CPU @ 2.00GHz\nflags\t\t: fpu avx\n"
    names = [
        folder(text)
        for text in (one, one.replace("avx", "avx avx512f"), one.replace("Some", "Other"))
    ]
    assert len(set(names)) == 3
    assert folder(one.replace("fpu avx", "avx fpu")) == names[0]
    assert re.fullmatch(r"some-cpu-2-00ghz-[0-9a-f]{8}-jaxlib-[0-9.]+", names[0])
    assert folder("") != names[0]


def test_without_hard_links_programs_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute(tmp_path, 3.25)

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(programs.os, "link", refuse)
    first = whole(tmp_path)
    assert compute(tmp_path, 3.25) == keys(first)
    assert whole(tmp_path) == first
