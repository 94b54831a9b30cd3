"""What goes wrong around a job: said clearly, nothing partial under its final name, stored cells kept."""

import contextlib
import errno
import json
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_jobs import Run

from scaling_limits.audit.index import INDEX, write_index
from scaling_limits.audit.register import Observation, Register
from scaling_limits.audit.table import Audit, summarise, write_audit
from scaling_limits.configuration import Configuration, load
from scaling_limits.errors import ConfigurationError, DatasetError
from scaling_limits.files import WriteError, require_writable, write_file
from scaling_limits.pipeline import figures
from scaling_limits.pipeline.keys import cell_key
from scaling_limits.pipeline.scripting import logged
from toys import BACKPROPAGATION, PAPER, cell, merged, write_project

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def names(folder: Path) -> list[str]:
    """Return the names of the files below a folder, without the file of locks that jobs leave."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(path.name for path in files if path.name != "lock")


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let a file whose name ends so meet a full disk, at the last moment: all of it is written under another name."""

    def fill(ending: str) -> None:
        def replace(source: Any, target: Any, original: Any = os.replace) -> None:
            if str(target).endswith(ending):
                raise FULL
            original(source, target)

        monkeypatch.setattr(os, "replace", replace)

    return fill


@contextlib.contextmanager
def bound_by_permissions() -> Iterator[None]:
    """As root, be nobody for a while."""
    root = os.geteuid() == 0
    if root:
        os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        if root:
            os.setresuid(0, 0, 0)


# writing a file


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    path = tmp_path / "new" / "file.json"
    write_file(path, "straße\n")
    assert path.read_bytes() == "straße\n".encode()

    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, call, refuse)
    for other in (path, path.with_name("other.json")):
        with pytest.raises(WriteError) as caught:
            write_file(other, b"half of it")
        assert str(caught.value) == (
            f"cannot write {other}: {os.strerror(code)}; cells stored so far are kept"
        )
    assert names(tmp_path) == ["file.json"]
    assert path.read_bytes() == "straße\n".encode()


def test_an_interrupted_write_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_file(tmp_path / "file.json", "x")
    assert names(tmp_path) == []


def test_results_that_may_not_be_written_to_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # pytest's folder is closed to others, but not what is below the working directory
    tmp_path.chmod(0o777)
    monkeypatch.chdir(tmp_path)
    results = Path("results")
    results.mkdir(mode=0o555)
    with bound_by_permissions():
        require_writable([Path("logs"), Path()])
        with pytest.raises(WriteError, match="cannot write to results/: no permission"):
            require_writable([Path("logs"), results])


# a script of the workflow


def run_script(log: Path, error: BaseException) -> None:
    with logged(log):
        print("working", file=sys.stderr)
        raise error


def test_a_script_ends_with_the_message_and_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "logs" / "job.log"
    with pytest.raises(SystemExit) as caught:
        run_script(log, WriteError("cannot write x: No space left on device"))
    assert caught.value.code == 1
    said = "working\nerror: cannot write x: No space left on device\n"
    assert capsys.readouterr().err == said
    assert log.read_text() == said


def test_an_interrupted_script_says_that_it_can_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        run_script(tmp_path / "job.log", KeyboardInterrupt())
    assert caught.value.code == 1
    said = "working\ninterrupted: what is stored is kept, and the same command goes on from there\n"
    assert capsys.readouterr().err == said


def test_what_the_system_refuses_has_its_traceback_in_the_log_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run_script(tmp_path / "job.log", FULL)
    assert capsys.readouterr().err == "working\nerror: [Errno 28] No space left on device\n"
    assert "Traceback" in (tmp_path / "job.log").read_text()
    with pytest.raises(ZeroDivisionError):
        run_script(tmp_path / "job.log", ZeroDivisionError())
    assert "ZeroDivisionError" in (tmp_path / "job.log").read_text()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this machine")
def test_a_log_on_a_full_disk_does_not_hide_the_message(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with logged("/dev/full"):
        print("goes on")
    with pytest.raises(SystemExit):
        run_script(Path("/dev/full"), WriteError("cannot write x"))
    assert capsys.readouterr().err == "goes on\nworking\nerror: cannot write x\n"


def test_a_log_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("no folder")
    with (
        pytest.raises(SystemExit, match=r"error: cannot write .*job\.log"),
        logged(tmp_path / "logs" / "job.log"),
    ):
        pass


# a job


@pytest.fixture
def run(tmp_path: Path, datasets_folder: Path) -> Run:
    return Run(tmp_path, datasets_folder)


def seeds(count: int) -> list[Any]:
    return [cell(**BACKPROPAGATION, seed=seed) for seed in range(count)]


def test_a_full_disk_keeps_the_cells_stored_before(
    run: Run,
    full_disk: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cells = seeds(3)
    for ending, stored in ((f"{cell_key(cells[1])}.cell", 1), (".parquet", 3), ("job.json", 3)):
        full_disk(ending)
        with pytest.raises(WriteError) as caught:
            run(cells)
        assert f"{ending}: No space left on device; cells stored so far are kept" in str(
            caught.value
        )
        written = {"job.parquet"} if ending == "job.json" else set()
        assert {name for name in names(run.records.parent) if ".cell" not in name} == written
        assert len([name for name in names(run.store.folder) if name.endswith(".cell")]) == stored
        assert not [name for name in names(run.records.parent) if name.endswith(".tmp")]
        monkeypatch.undo()
    capsys.readouterr()
    run(cells)
    assert "3 cells: 3 stored, 0 to compute" in capsys.readouterr().err


def test_a_flipped_byte_costs_its_cell_only(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    cells = seeds(3)
    run(cells)
    before = run.records.read_bytes()
    path = run.store.path(cell_key(cells[1]))
    content = bytearray(path.read_bytes())
    content[-20] ^= 0xFF
    path.write_bytes(content)
    capsys.readouterr()
    run(cells)
    said = capsys.readouterr().err
    assert f"cell {path} is damaged" in said
    assert "3 cells: 2 stored, 1 to compute" in said
    assert run.records.read_bytes() == before
    assert path.with_suffix(".corrupt").read_bytes() == content


def _job(folder: Path, datasets: Path, first: int, barrier: Any) -> None:
    run = Run(folder, datasets)
    run.records, run.meta = folder / f"job-{first}.parquet", folder / f"job-{first}.json"
    cells = seeds(first + 6)[first:]
    barrier.wait(timeout=120)
    run(cells)


def test_two_jobs_at_once_share_a_store(tmp_path: Path, datasets_folder: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    jobs = [
        context.Process(target=_job, args=(tmp_path, datasets_folder, first, barrier))
        for first in (0, 3)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(timeout=300)
    assert [job.exitcode for job in jobs] == [0, 0]
    cells = seeds(9)
    assert names(tmp_path / "cells") == sorted(f"{cell_key(c)}.cell" for c in cells)
    first, second = (pd.read_parquet(tmp_path / f"job-{k}.parquet") for k in (0, 3))
    shared = [set(table["cell_id"]) for table in (first, second)]
    both = sorted(shared[0] & shared[1])
    assert both == sorted(cell_key(c) for c in cells[3:6])
    rows = [t[t["cell_id"].isin(both)].reset_index(drop=True) for t in (first, second)]
    pd.testing.assert_frame_equal(*rows)


@pytest.mark.parametrize(
    ("changes", "finite"),
    [
        pytest.param({"learning_rate": 1e30}, 1, id="after the first update"),
        pytest.param(
            {"branch_multiplier": 1e30, "activation": "linear"}, 0, id="before any update"
        ),
    ],
)
def test_divergence_from_the_first_step_on_is_recorded_and_stored(
    run: Run, changes: Any, finite: int, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = [
        cell(**BACKPROPAGATION | changes, measure={"gradient_alignment": [0, 3]}),
        cell(**BACKPROPAGATION),
    ]
    table = run(cells)
    losses = table[table["metric"] == "train_loss"].set_index("cell_id")["value"]
    diverged = losses[cell_key(cells[0])].to_numpy()
    assert len(diverged) == cells[0].num_steps
    assert np.isfinite(diverged[:finite]).all()
    assert not np.isfinite(diverged[finite:]).any()
    assert np.isfinite(losses[cell_key(cells[1])]).all()
    content = run.records.read_bytes()
    capsys.readouterr()
    run(cells)
    assert "2 stored, 0 to compute" in capsys.readouterr().err
    assert run.records.read_bytes() == content


# a figure, the audit


def with_table(folder: Path) -> Configuration:
    """A project whose paper has a table without cells."""
    entry = {"title": "SP", "scheme": "sp_gaussian"}
    plot = {"kind": "parameterisation_table", "form": "init_and_rate", "entries": [entry]}
    table = {"title": "A table", "caption": "What it shows.", "plot": plot}
    return load(
        write_project(folder, paper=merged(PAPER, {"paper": {"figures": {"table1": table}}}))
    )


def collected(configuration: Configuration, folder: Path, register: Register) -> None:
    """Collect the table."""
    named = {"paper": "toy", "name": "table1"}
    figures.collect(
        configuration, **named, job_records=[], job_meta=[], folder=folder, register=register
    )


def test_a_full_disk_while_a_figure_is_collected(
    tmp_path: Path, full_disk: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = with_table(tmp_path)
    folder = tmp_path / "figure"
    for number, name in enumerate(
        ("cells.parquet", "records.parquet", "verdicts.json", "figure.json", "provenance.json")
    ):
        full_disk(name)
        with pytest.raises(WriteError, match=f"{name}: No space left on device"):
            collected(configuration, folder, Register())
        monkeypatch.undo()
        assert len(names(folder)) == number
        assert name not in names(folder)


def test_what_a_figure_shows_beyond_its_claims_is_among_its_notes(tmp_path: Path) -> None:
    configuration = with_table(tmp_path)
    own = configuration.main.preset
    seen = Observation(paper="toy", figure="table1", presets=(own,), text="it rises")
    notes = []
    for preset in (own, "another"):
        collected(
            configuration,
            tmp_path / preset,
            Register(observations={("toy", "table1", preset): seen}),
        )
        notes.append(json.loads((tmp_path / preset / "figure.json").read_text())["notes"])
    assert notes == [["Seen here: it rises."], []]


def test_a_full_disk_while_the_page_of_all_figures_is_written(
    tmp_path: Path, full_disk: Callable[[str], None]
) -> None:
    audit = Audit(preset="smoke", summary=summarise([]), verdicts=())
    full_disk(INDEX)
    with pytest.raises(WriteError, match=f"{INDEX}: No space left on device"):
        write_index(audit, [("mupc", "fig5")], tmp_path)
    assert INDEX not in names(tmp_path)


def test_a_full_disk_while_the_audit_is_written(
    tmp_path: Path, full_disk: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = Audit(preset="smoke", summary=summarise([]), verdicts=())
    for name in ("audit.json", "audit.md", "audit.xml"):
        full_disk(name)
        with pytest.raises(WriteError, match=f"{name}: No space left on device"):
            write_audit(audit, tmp_path)
        assert name not in names(tmp_path)
        monkeypatch.undo()


# the configuration


BOMB = "a0: &a0 {x: 1}\n" + "".join(
    f"a{n}: &a{n} {{{', '.join(f'k{k}: *a{n - 1}' for k in range(10))}}}\n" for n in range(1, 30)
)


@pytest.mark.parametrize("file", ["config.yaml", "presets/whole.yaml"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"", ["should be a mapping"], id="empty"),
        pytest.param(bytes(range(256)), ["cannot be read", "utf-8"], id="binary"),
        pytest.param(b"\x00\x01\x02", ["cannot be read", "not allowed"], id="control characters"),
        pytest.param("größe: 1\n".encode("latin-1"), ["cannot be read", "utf-8"], id="Latin-1"),
        pytest.param(b"title: a\ntitle: b\n", ["line 2", "'title' occurs twice"], id="key twice"),
        pytest.param(BOMB.encode(), ["line 2", "aliases are not allowed"], id="bomb"),
        pytest.param(b"a: " + b"[" * 99999 + b"]" * 99999, ["line 1", "50 levels"], id="deep"),
        pytest.param(b"a: !!timestamp 1\n", ["cannot be read", "timestamp"], id="tag"),
        pytest.param(b"a: " + b"1" * 5000 + b"\n", ["cannot be read", "digits"], id="long number"),
        pytest.param(b"a: !!bool perhaps\n", ["cannot be read"], id="tag"),
    ],
)
def test_an_unreadable_configuration_is_named(
    tmp_path: Path, file: str, content: bytes, words: list[str]
) -> None:
    root = write_project(tmp_path)
    (root / "config" / file).write_bytes(content)
    with pytest.raises(ConfigurationError) as caught:
        load(root).cells("toy", "transfer")
    for word in (file, *words):
        assert word in str(caught.value)


def test_a_folder_in_place_of_the_configuration(tmp_path: Path) -> None:
    root = write_project(tmp_path)
    (root / "config/config.yaml").unlink()
    (root / "config/config.yaml").mkdir()
    with pytest.raises(ConfigurationError, match=r"config\.yaml: cannot be read: .*directory"):
        load(root)


def test_a_configuration_that_may_not_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_project(tmp_path)

    def refuse(path: Path, *_: object, **__: object) -> str:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    # permissions do not bind root, as whom tests may run
    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(ConfigurationError, match=r"config\.yaml: cannot be read: .*Permission"):
        load(root)


# places


def test_a_user_dataset_with_a_fault_is_refused_when_the_configuration_is_read(
    tmp_path: Path,
) -> None:
    root = write_project(tmp_path / "Räume & Maße")
    x, y = np.zeros((20, 4)), np.arange(20) % 2
    x[7, 2] = np.nan
    np.savez(root / "mein Satz é.npz", x_train=x, y_train=y, x_test=x[:5], y_test=y[:5])
    settings = {"dataset": "mine", "num_train": 20, "num_test": 5}
    overrides = {
        "data": {"datasets": {"mine": "mein Satz é.npz"}},
        "papers": {"toy": {"experiments": {"transfer": settings}}},
    }
    with pytest.raises(DatasetError) as caught:
        load(root, overrides).cells("toy", "transfer")
    assert f"{root / 'mein Satz é.npz'}: 'x_train' is nan at index (7, 2)" in str(caught.value)
    np.savez(root / "mein Satz é.npz", x_train=x[:7], y_train=y[:7], x_test=x[:5], y_test=y[:5])
    settings["num_train"] = 7
    assert load(root, overrides).cells("toy", "transfer")[0].network.input_dim == 4
