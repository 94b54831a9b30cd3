"""Results moved between projects as archives."""

import json
import os
import shutil
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from scaling_limits.audit.register import Register
from scaling_limits.cells import Cell
from scaling_limits.commands import archive, upkeep
from scaling_limits.commands.archive import FIGURE_FILES, MANIFEST
from scaling_limits.commands.import_command import OLD
from scaling_limits.commands.main import main
from scaling_limits.commands.workload import workload
from scaling_limits.configuration import load
from scaling_limits.errors import StoreError
from scaling_limits.pipeline import figures, keys
from scaling_limits.pipeline.jobs import run_job
from scaling_limits.pipeline.keys import cell_key
from scaling_limits.runtime import library_versions
from scaling_limits.store import Store
from toys import BACKPROPAGATION, PAPER, STORE, merged, write_project

TINY = merged(PAPER, {"transfer": {**BACKPROPAGATION, "num_steps": 2, "measurements": {}}})
CELLS = 8
FIGURE = Path("results", "whole", "toy", "fig1")


@pytest.fixture(scope="module", name="computed")
def _computed(tmp_path_factory: pytest.TempPathFactory, datasets_folder: Path) -> Path:
    """A project with all cells and the figure of the preset `whole`; not to be changed."""
    root = write_project(tmp_path_factory.mktemp("computed"), paper=TINY)
    compute(root, datasets_folder)
    return root


@pytest.fixture(name="here")
def _here(tmp_path: Path) -> Path:
    """A project without results."""
    return write_project(tmp_path / "here", paper=TINY)


def cells_of(root: Path) -> list[Cell]:
    return load(root).cells("toy", "transfer")


def compute(root: Path, datasets: Path) -> None:
    """Run the job of the figure, and collect its files."""
    records, meta = root / "job.parquet", root / "job.json"
    run_job(
        cells_of(root),
        store=Store(root / STORE),
        datasets_folder=datasets,
        records=records,
        meta=meta,
    )
    figures.collect(
        load(root),
        "toy",
        "fig1",
        job_records=[records],
        job_meta=[meta],
        folder=root / FIGURE,
        register=Register(),
    )


def say(root: Path, *words: Any, code: int = 0) -> str:
    """The output of a command in a project, with a user's error."""
    done = CliRunner().invoke(main, [*map(str, words), "--directory", str(root)])
    assert done.exit_code == code, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return " ".join(done.output.split())


def files(root: Path) -> dict[str, bytes]:
    """The results by their paths in a project."""
    found = (path for path in (root / "results").rglob("*") if path.is_file())
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in found
        if path != root / STORE / "lock"
    }


def half(root: Path, target: Path, part: slice) -> Path:
    """A project with some of the cells of `root` and no figure."""
    write_project(target, paper=TINY)
    for cell in cells_of(root)[part]:
        path = Store(root / STORE).path(cell_key(cell))
        copied = target / path.relative_to(root)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copied)
    return target


def rewritten(path: Path, changes: dict[str, bytes | None], *, listed: bool = True) -> Path:
    """A copy of an archive with members replaced, added or (None) removed; if `listed`, the manifest knows."""
    with zipfile.ZipFile(path) as source:
        contents = {name: source.read(name) for name in source.namelist()}
    manifest = json.loads(contents.pop(MANIFEST))
    for name, content in changes.items():
        contents.pop(name, None)
        if content is not None:
            contents[name] = content
    if listed:
        manifest["members"] = {name: archive.checksum(each) for name, each in contents.items()}
    target = path.with_name("rewritten.zip")
    with zipfile.ZipFile(target, "w") as file:
        file.writestr(MANIFEST, json.dumps(manifest))
        for name, content in contents.items():
            file.writestr(name, content)
    return target


@pytest.fixture(name="exported")
def _exported(computed: Path, tmp_path: Path) -> Path:
    path = tmp_path / "whole.zip"
    say(computed, "export", "whole", path)
    return path


def refused(here: Path, *paths: Path) -> str:
    """The error of an import that writes nothing."""
    said = say(here, "import", *paths, code=1)
    assert files(here) == {}
    return said


def test_a_round_trip_leaves_nothing_to_compute(
    computed: Path,
    here: Path,
    tmp_path: Path,
    datasets_folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "new" / "whole.zip"
    said = say(computed, "export", "whole", path)
    assert said.startswith(f"Exported 8 of 8 cells and 1 figure of the preset whole to {path} (")
    assert say(here, "import", path) == (
        "8 cells: 8 new, 0 already there. Figures: 1 new, 0 already there."
    )
    assert files(here) == files(computed)
    assert {path.stat().st_mtime for path in (here / FIGURE).iterdir()} == {OLD}
    work = workload(load(here), [("toy", "fig1")], Store(here / STORE))
    assert work.cells == CELLS
    assert not any(work.missing.values())
    capsys.readouterr()
    compute(here, datasets_folder)
    assert "8 cells: 8 stored, 0 to compute" in capsys.readouterr().err
    assert files(here) == files(computed)
    assert say(here, "import", path) == (
        "8 cells: 0 new, 8 already there. Figures: 0 new, 1 already there."
    )


def test_the_manifest_is_first_and_says_what_computed_the_cells(
    computed: Path, exported: Path
) -> None:
    with zipfile.ZipFile(exported) as file:
        names = file.namelist()
        manifest = json.loads(file.read(MANIFEST))
    assert names == [MANIFEST, *sorted(manifest["members"])]
    assert len(names) == 1 + CELLS + len(FIGURE_FILES)
    provenance = json.loads((computed / FIGURE / "provenance.json").read_bytes())["compared"]
    assert manifest["sources"] == provenance["sources"]
    assert manifest["libraries"] == provenance["libraries"] == library_versions()
    assert (manifest["format"], manifest["preset"]) == (1, "whole")


def test_halves_are_merged(computed: Path, here: Path, tmp_path: Path) -> None:
    paths = [tmp_path / "a.zip", tmp_path / "b.zip"]
    for path, part in zip(paths, (slice(5), slice(3, None)), strict=True):
        said = say(half(computed, tmp_path / path.stem, part), "export", "whole", path)
        assert f"Exported 5 of 8 cells and 0 figures of the preset whole to {path}" in said
    assert say(here, "import", paths[0]).startswith("5 cells: 5 new, 0 already there.")
    assert say(here, "import", *paths).startswith("8 cells: 3 new, 5 already there.")
    stored = {name: each for name, each in files(computed).items() if name.endswith(".cell")}
    assert files(here) == stored


def test_exports_of_the_same_cells_are_equal(
    computed: Path, exported: Path, here: Path, tmp_path: Path
) -> None:
    say(here, "import", exported)
    for path in (here / "results").rglob("*"):
        os.utime(path, (1e9, 1e9))
    again = tmp_path / "again.zip"
    say(here, "export", "whole", again)
    assert again.read_bytes() == exported.read_bytes()


def test_only_current_cells_are_exported(computed: Path, tmp_path: Path) -> None:
    root = tmp_path / "project"
    shutil.copytree(computed, root)
    damaged, *_ = sorted((root / STORE).glob("*/*.cell"))
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys, "source_digest", lambda modules: "0123456789abcdef")
        said = say(root, "export", "whole", tmp_path / "old.zip")
    assert "Exported 0 of 8 cells and 0 figures" in said
    assert f"left out: {root / FIGURE}: computed with another configuration" in said
    (root / FIGURE / "verdicts.json").unlink()
    said = say(root, "export", "whole", tmp_path / "new.zip")
    assert "Exported 7 of 8 cells and 0 figures" in said
    assert f"left out: {root / FIGURE / 'verdicts.json'}: missing" in said


def test_a_flipped_byte_of_any_member_is_refused(exported: Path, here: Path) -> None:
    content = exported.read_bytes()
    with zipfile.ZipFile(exported) as file:
        entries = {entry.filename: entry.header_offset for entry in file.infolist()}
    for name, offset in entries.items():
        damaged = bytearray(content)
        damaged[offset + 30 + len(name)] ^= 1
        path = exported.with_name("damaged.zip")
        path.write_bytes(damaged)
        assert f"error: {path}: member {name} is damaged" in refused(here, exported, path)


def test_a_flipped_byte_anywhere_changes_no_content(exported: Path) -> None:
    """Only times and attributes, which are not used, have no checksum."""
    sound = archive.verify(exported)
    names = [*sound.manifest.members]
    contents = list(sound.contents(names))
    damaged = exported.read_bytes()
    path = exported.with_name("damaged.zip")
    for position in range(0, len(damaged), 397):
        path.write_bytes(
            damaged[:position] + bytes([damaged[position] ^ 1]) + damaged[position + 1 :]
        )
        try:
            found = archive.verify(path)
        except StoreError:
            continue
        assert (found.manifest, list(found.contents(names))) == (sound.manifest, contents)


def test_a_truncated_archive_is_refused(exported: Path, here: Path) -> None:
    exported.write_bytes(exported.read_bytes()[:-1000])
    assert f"error: {exported}: damaged, or not an archive" in refused(here, exported)


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "/tmp/outside",
        "whole/../../cells.parquet",
        "whole/toy/../cells.parquet",
        "whole/toy/fig1/../../../../outside",
        "whole\\toy\\fig1\\cells.parquet",
        "other/toy/fig1/cells.parquet",
        "whole/toy/fig1/figure.png",
        "cells/01/../../../outside.cell",
        "cells/01/23456789abcdef01.cell",
        "datasets/digits.npz",
    ],
)
def test_a_name_of_no_stored_result_is_refused(exported: Path, here: Path, name: str) -> None:
    path = rewritten(exported, {name: b"content"})
    said = refused(here, path)
    assert f"error: {path}: member {name!r} is not a stored result; valid: cells/" in said
    assert sorted(each.name for each in here.parent.iterdir()) == [
        *("here", "rewritten.zip", "whole.zip")
    ]


def test_members_and_manifest_agree(exported: Path, here: Path) -> None:
    with zipfile.ZipFile(exported) as file:
        one, other = [name for name in file.namelist() if name.endswith(".cell")][:2]
        content = file.read(other)
    path = rewritten(exported, {one: None}, listed=False)
    assert f"{path}: member {one} is missing" in refused(here, path)
    path = rewritten(exported, {one: content}, listed=False)
    assert f"{path}: member {one} is damaged (its checksum" in refused(here, path)
    path = rewritten(exported, {one: content})
    assert f"{path}: member {one} is not the cell that its name says" in refused(here, path)
    path = rewritten(exported, {"more": b""}, listed=False)
    assert f"{path}: member 'more' is not in the manifest" in refused(here, path)
    with warnings.catch_warnings(), zipfile.ZipFile(exported, "a") as file:
        warnings.simplefilter("ignore")
        file.writestr(one, content)
    assert f"{exported}: member {one} is there more than once" in refused(here, exported)


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [
        ({"format": 2, "files": []}, "format 2 is not supported by this version; valid: 1"),
        ({"format": 1}, "member manifest.json is not a manifest"),
        ([], "member manifest.json is not a manifest"),
    ],
)
def test_another_format_is_refused(tmp_path: Path, here: Path, manifest: Any, problem: str) -> None:
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(MANIFEST, json.dumps(manifest))
    assert f"error: {path}: {problem}" in refused(here, path)


def test_what_is_no_archive_is_refused(tmp_path: Path, exported: Path, here: Path) -> None:
    missing, text, other = (tmp_path / name for name in ("none.zip", "text.zip", "other.zip"))
    text.write_text("no archive")
    with zipfile.ZipFile(other, "w") as file:
        file.writestr("notes.txt", "mine")
    assert f"error: cannot read {missing}: No such file" in refused(here, exported, missing)
    assert f"error: {text}: damaged, or not an archive" in refused(here, text)
    assert f"error: {other}: damaged, or not an archive" in refused(here, other)
    assert f"error: cannot read {tmp_path}: Is a directory" in refused(here, tmp_path)


def test_an_unknown_preset_is_refused(computed: Path, tmp_path: Path) -> None:
    path = tmp_path / "new.zip"
    said = say(computed, "export", "whol", path, code=1)
    assert "unknown preset 'whol'; did you mean 'whole'? Valid: small, whole" in said
    assert f"error: {tmp_path}: is a folder" in say(computed, "export", "whole", tmp_path, code=1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_an_interrupted_export_leaves_nothing(
    computed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "whole.zip"
    monkeypatch.setattr(os, call, interrupt)
    CliRunner().invoke(main, ["export", "whole", str(path), "--directory", str(computed)])
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_changes_during_an_export_leaves_nothing(
    computed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "read_file", lambda path: os.urandom(8))
    path = tmp_path / "whole.zip"
    with pytest.raises(StoreError, match="changed during the export"):
        archive.write(
            path,
            archive.Manifest(
                preset="whole",
                sources=(),
                libraries={},
                members={"a": "0"},
            ),
            {"a": computed / FIGURE / "cells.parquet"},
        )
    assert list(tmp_path.iterdir()) == []


def test_a_figure_that_differs_is_kept(exported: Path, here: Path) -> None:
    (here / FIGURE).mkdir(parents=True)
    mine = here / FIGURE / "verdicts.json"
    mine.write_text("[]")
    said = say(here, "import", exported)
    assert "Figures: 0 new, 0 already there." in said
    assert f"{here / FIGURE}: kept, it differs from the figure in {exported}" in said
    assert [path.name for path in (here / FIGURE).iterdir()] == ["verdicts.json"]
    assert mine.read_text() == "[]"


def test_an_interrupted_import_is_completed(computed: Path, exported: Path, here: Path) -> None:
    say(here, "import", exported)
    (here / FIGURE / "records.parquet").unlink()
    damaged, missing, *_ = sorted((here / STORE).glob("*/*.cell"))
    damaged.write_bytes(b"half")
    missing.unlink()
    assert say(here, "import", exported) == (
        "8 cells: 2 new, 6 already there. Figures: 1 new, 0 already there."
    )
    assert files(here) == files(computed)


def test_cells_that_nothing_asks_for_are_counted(
    exported: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate = "papers.toy.experiments.transfer.learning_rate=[0.1]"
    paper = merged(TINY, {"transfer": {"learning_rate": [0.1]}})
    write_project(here, paper=paper)
    said = say(here, "import", exported)
    assert "8 cells: 8 new" in said
    assert "No figure configured here asks for 4 of these cells" in said
    assert "was computed with" not in said
    # the preset of the archive does not ask for them, but another one does
    write_project(here, paper=TINY, preset={})
    (here / "config/presets/whole.yaml").write_text(
        yaml.safe_dump({"description": "less", "caps": {"seeds": 1}})
    )
    assert "asks for" not in say(here, "import", exported)
    write_project(here, paper=paper)
    assert "asks for" not in say(
        here, "import", exported, "--set", rate.replace("[0.1]", "[0.1, 0.01]")
    )
    other = {**library_versions(), "jax": "0.0.0"}
    for module in ("pipeline.keys", "commands.import_command"):
        monkeypatch.setattr(f"scaling_limits.{module}.library_versions", lambda: other)
    said = say(here, "import", exported)
    assert "asks for 8 of these cells" in said
    assert f"{exported} was computed with jax {library_versions()['jax']} (here 0.0.0)." in said


def test_cells_of_changes_are_exported_with_these(computed: Path, tmp_path: Path) -> None:
    path = tmp_path / "whole.zip"
    rate = "papers.toy.experiments.transfer.learning_rate=[0.1]"
    said = say(computed, "export", "whole", path, "--set", rate)
    assert "Exported 4 of 4 cells and 0 figures" in said
    assert len(archive.verify(path).cells) == 4


def test_the_origin_of_a_file_is_read_only_where_it_is_a_cell() -> None:
    for content in (b"", b"text", b"0" * 64 + b"\ntext"):
        assert upkeep.origin_of(content) is None
