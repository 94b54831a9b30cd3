"""What the store holds against what the configurations ask for; cells are written without being trained."""

import hashlib
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from scaling_limits.cells import Cell
from scaling_limits.commands import store_command, upkeep
from scaling_limits.commands.invocation import Invocation, overrides_of
from scaling_limits.commands.readable import size
from scaling_limits.commands.upkeep import Entry, State
from scaling_limits.configuration import load
from scaling_limits.errors import ConfigurationError, StoreError
from scaling_limits.measured import Measured
from scaling_limits.pipeline import keys
from scaling_limits.pipeline.keys import cell_key, cell_source, library_versions
from scaling_limits.store import Store, StoredCell
from toys import PAPER, STORE, as_yaml, merged, write_project

OLD = "0123456789abcdef"
SMALL = {"caps": {"width": 8, "seeds": 1}}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path, preset=SMALL)


def store_of(root: Path) -> Store:
    return Store(root / STORE)


def cells_of(root: Path, preset: str = "whole", **changes: Any) -> list[Cell]:
    return load(root, {"preset": preset, **changes}).cells("toy", "transfer")


def keep(
    root: Path, cell: Cell, source: str | None = None, changes: dict[str, Any] | None = None
) -> Path:
    """Store a cell as a job would, computed by `source`, with changes to what is known of it."""
    source = cell_source(cell) if source is None else source
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys, "cell_source", lambda cell: source)
        key = cell_key(cell)
    measured = {"train_loss": Measured(np.zeros(2, np.float32), ("step",), {"step": (0, 1)})}
    origin = {"cell": cell.canonical(), "source": source, "libraries": library_versions()}
    store_of(root).save(key, StoredCell(measured, {**origin, **(changes or {})}))
    return store_of(root).path(key)


def survey(root: Path, **changes: Any) -> list[Entry]:
    wanted = upkeep.used_keys(upkeep.configurations(root, changes))
    return upkeep.survey(root / STORE, wanted, time.time())


def states(root: Path, **changes: Any) -> Counter[State]:
    return Counter(entry.state for entry in survey(root, **changes))


def files(root: Path) -> set[Path]:
    return {path for path in (root / STORE).rglob("*") if path.is_file()}


def prune(root: Path, *changes: str, yes: bool = True) -> None:
    store_command.run(Invocation(root, overrides=overrides_of(changes)), prune=True, yes=yes)


def test_an_empty_store(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert survey(project) == []
    prune(project, yes=False)
    output = capsys.readouterr().out
    assert output.splitlines()[1].split() == ["all", "0", "0", "B", "-", "-"]
    assert "Nothing to remove" in output
    assert not (project / "results").exists()


def test_cells_of_every_preset_are_current(project: Path) -> None:
    whole, small = cells_of(project), cells_of(project, "small")
    assert {cell_key(cell) for cell in small} != {cell_key(cell) for cell in whole}
    kept = {keep(project, cell) for cell in [*whole, *small]}
    entries = survey(project)
    assert {entry.path for entry in entries} == kept
    assert {(entry.state, entry.experiment) for entry in entries} == {
        (State.CURRENT, "toy/transfer")
    }
    assert {entry.path: entry.size for entry in entries} == {p: p.stat().st_size for p in kept}
    prune(project)
    assert files(project) == kept


def test_what_a_preset_alone_asks_for_goes_with_the_preset(tmp_path: Path) -> None:
    root = write_project(tmp_path, preset={"caps": {"num_steps": 3}})
    paths = {keep(root, cell) for cell in cells_of(root, "small")}
    assert states(root) == {State.CURRENT: len(paths)}
    (root / "config" / "presets" / "small.yaml").unlink()
    assert states(root) == {State.STALE: len(paths)}


def test_stale_cells_are_told_apart_and_removed(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, third, fourth = cells_of(project)[:4]
    current = keep(project, first)
    source = keep(project, second, OLD)
    unconfigured = keep(project, third.model_copy(update={"seed": 99}))
    with pytest.MonkeyPatch.context() as patch:
        versions = {**library_versions(), "jax": "0.0.0"}
        patch.setattr("scaling_limits.pipeline.keys.library_versions", lambda: versions)
        libraries = keep(project, fourth, changes={"libraries": versions})
    found = {entry.path: (entry.state, entry.experiment) for entry in survey(project)}
    assert found == {
        current: (State.CURRENT, "toy/transfer"),
        source: (State.STALE, "toy/transfer"),
        libraries: (State.STALE, "toy/transfer"),
        unconfigured: (State.STALE, ""),
    }
    prune(project)
    assert files(project) == {current}
    assert "Removed 3 files" in capsys.readouterr().out


def test_edited_source_makes_cells_stale_and_the_undone_edit_current(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(project, cells_of(project)[0])
    with monkeypatch.context() as patch:
        patch.setattr(keys, "source_digest", lambda modules: OLD)
        assert states(project) == {State.STALE: 1}
    assert states(project) == {State.CURRENT: 1}


def test_a_configuration_edited(project: Path) -> None:
    paths = {keep(project, cell) for cell in cells_of(project)}
    paper = merged(PAPER, {"transfer": {"learning_rate": [0.1], "seed": [0, 1]}})
    write_project(project, preset=SMALL, paper=paper)
    remaining = {store_of(project).path(cell_key(cell)) for cell in cells_of(project)}
    assert remaining < paths
    prune(project)
    assert files(project) == remaining


def test_overrides_add_to_what_is_asked_for(project: Path) -> None:
    changes: dict[str, Any] = {"resources": {"device": "gpu", "cells_per_batch": 2}}
    plain = {keep(project, cell) for cell in cells_of(project)}
    batched = {keep(project, cell) for cell in cells_of(project, **changes)}
    assert not plain & batched
    assert states(project, **changes) == {State.CURRENT: len(plain) + len(batched)}
    assert states(project) == {State.CURRENT: len(plain), State.STALE: len(batched)}


def test_leftovers_are_counted_and_removed(project: Path) -> None:
    path = keep(project, cells_of(project)[0])
    corrupt = path.with_suffix(".corrupt")
    killed = path.with_name(f"{path.name}.123.tmp")
    writing = path.with_name(f"{path.name}.124.tmp")
    for leftover in (corrupt, killed, writing):
        leftover.write_bytes(b"half")
    long_ago = time.time() - 2 * upkeep.SECONDS_OF_WRITING
    os.utime(killed, (long_ago, long_ago))
    assert states(project) == {State.CURRENT: 1, State.DAMAGED: 2}
    prune(project)
    assert files(project) == {path, writing}


def test_unfinished_datasets_of_killed_processes_are_removed(project: Path) -> None:
    folder = project / load(project, {"preset": "whole"}).main.paths.datasets
    folder.mkdir(parents=True)
    names = ("mnist.npz", "mnist.npz.0123abcd.tmp", "digits.npz.0123abcd.tmp", "notes.tmp")
    long_ago = time.time() - 2 * upkeep.SECONDS_OF_WRITING
    for name in names:
        (folder / name).write_bytes(b"half")
        os.utime(folder / name, (long_ago, long_ago))
    os.utime(folder / names[2])
    prune(project)
    assert {path.name for path in folder.iterdir()} == {names[0], *names[2:]}


@pytest.mark.parametrize("configured", [True, False])
@pytest.mark.parametrize("content", [b"", b"no checksum", b"0" * 64 + b"\nwrong"])
def test_a_damaged_cell_is_removed(project: Path, content: bytes, configured: bool) -> None:
    cell = cells_of(project)[0]
    path = keep(project, cell if configured else cell.model_copy(update={"seed": 99}))
    path.write_bytes(content)
    assert states(project) == {State.DAMAGED: 1}
    assert files(project) == {path}
    prune(project)
    assert files(project) == set()


def test_a_copy_of_another_cell_is_removed(project: Path) -> None:
    one, other = (keep(project, cell) for cell in cells_of(project)[:2])
    other.write_bytes(one.read_bytes())
    assert states(project) == {State.CURRENT: 1, State.DAMAGED: 1}
    prune(project)
    assert files(project) == {one}


@pytest.mark.parametrize(
    "meta",
    [{"cell": {"x": float("nan")}}, {"libraries": 3}, {"cell": [], "source": {}, "libraries": {}}],
)
def test_meta_that_is_no_job_s_does_no_harm(project: Path, meta: dict[str, Any]) -> None:
    keep(project, cells_of(project)[0], OLD, meta)
    (state,) = states(project)
    assert state in (State.DAMAGED, State.STALE)


def test_a_payload_that_is_no_archive_does_no_harm(project: Path) -> None:
    path = store_of(project).path(OLD)
    path.parent.mkdir(parents=True)
    for payload in (b"", b"text", b"PK\x03\x04 not really", b"\x93NUMPY"):
        path.write_bytes(hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload)
        assert states(project) == {State.DAMAGED: 1}


def test_foreign_files_are_kept(project: Path, tmp_path: Path) -> None:
    folder = project / STORE
    path = keep(project, cells_of(project)[0])
    outside = tmp_path / "outside.cell"
    outside.write_bytes(b"mine")
    foreign = [
        folder / "notes.txt",
        folder / "notes.tmp",
        folder / path.name,
        folder / "ab" / path.name,
        folder / "deep" / "er" / "x.cell",
        folder / "01" / f"{OLD.upper()}.cell",
    ]
    for file in foreign:
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_bytes(b"\xff")
    link = folder / "01" / f"{OLD}.cell"
    link.symlink_to(outside)
    assert states(project) == {State.CURRENT: 1}
    prune(project)
    assert files(project) == {path, *foreign, link}


def test_a_cell_that_cannot_be_read_is_kept(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = keep(project, cells_of(project)[0], OLD)

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert states(project) == {}
    prune(project)
    assert path.exists()


@pytest.mark.parametrize("answer", ["", "n", "no", "what", EOFError, KeyboardInterrupt])
def test_a_refused_prune_removes_nothing(
    project: Path, monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    def reply(_: str) -> str:
        if isinstance(answer, str):
            return answer
        raise answer

    path = keep(project, cells_of(project)[0], OLD)
    monkeypatch.setattr("builtins.input", reply)
    prune(project, yes=False)
    assert files(project) == {path}


def test_an_agreed_prune_removes(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(project, cells_of(project)[0], OLD)
    questions: list[str] = []

    def reply(question: str) -> str:
        questions.append(question)
        return "y"

    monkeypatch.setattr("builtins.input", reply)
    prune(project, yes=False)
    assert files(project) == set()
    assert len(questions) == 1
    assert "1 file," in questions[0]


def test_listing_removes_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cell = cells_of(project)[0]
    paths = {keep(project, cell), keep(project, cell, OLD)}
    hour_ago = time.time() - 3600
    for path in paths:
        os.utime(path, (hour_ago, hour_ago))
    store_command.run(Invocation(project))
    assert files(project) == paths
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:4]] == [
        ["toy/transfer", "current"],
        ["toy/transfer", "stale"],
        ["all", "2"],
    ]
    assert all(line.endswith("1 h") for line in lines[1:4])
    assert lines[-1].startswith("Nothing asks for 1 file,")


def test_an_invalid_configuration_removes_nothing(project: Path) -> None:
    path = keep(project, cells_of(project)[0], OLD)
    broken = project / "config" / "presets" / "broken.yaml"
    broken.write_text(yaml.safe_dump({"description": "x", "capz": {}}), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="capz"):
        prune(project)
    assert files(project) == {path}


def test_while_an_own_experiment_is_wrong_its_cells_are_kept(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = project / "config/experiments/mine.yaml"
    own.parent.mkdir()
    content = {
        **PAPER["transfer"],
        "quantities": PAPER["paper"]["quantities"],
        "grids": {"main": {"width": 4}},
    }
    own.write_text(as_yaml(content), encoding="utf-8")
    mine = keep(project, load(project).cells("own", "mine")[0])
    stale = keep(project, cells_of(project)[0], OLD)
    sound = own.read_text(encoding="utf-8")
    own.write_text(sound.replace("depth:", "dept:"), encoding="utf-8")
    prune(project)
    printed = capsys.readouterr()
    assert printed.err.count("warning: left out: config/experiments/mine.yaml") == 1
    assert "kept until that is mended" in printed.out
    assert (mine.exists(), stale.exists()) == (True, False)
    own.unlink()
    prune(project)
    assert not mine.exists()


def test_a_file_that_cannot_be_removed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = keep(project, cells_of(project)[0], OLD)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(StoreError, match=f"{path.name}: Permission denied"):
        prune(project)


def test_cells_that_changes_ask_for_are_kept_with_these_only(project: Path) -> None:
    content = {"papers": {"toy": {"experiments": {"transfer": {"num_steps": 2}}}}}
    path = keep(project, cells_of(project, **content)[0])
    file = project / "more.yaml"
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    store_command.run(Invocation(project, (file,)), prune=True, yes=True)
    prune(project, "papers.toy.experiments.transfer.num_steps=2")
    assert files(project) == {path}
    prune(project)
    assert files(project) == set()


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (9_960, "10 kB"), (999_600, "1.0 MB")],
)
def test_sizes(count: int, text: str) -> None:
    assert size(count) == text
