"""Notebooks hold no logic, and come out of their execution the same each time."""

import ast
import contextlib
import json
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.figures.plots import DRAWN_BY
from scaling_limits.files import WriteError
from scaling_limits.plotting.notebook import execute

NOTEBOOKS = Path(__file__).parents[2] / "workflow" / "notebooks"


def test_there_is_a_notebook_for_each_kind_of_plot() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(DRAWN_BY.modules)


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_holds_no_logic(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.nbformat_minor == 5
    assert notebook.metadata.kernelspec.name == "python3"
    assert [cell.id for cell in notebook.cells] == [
        f"cell-{n:02d}" for n in range(len(notebook.cells))
    ]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.source for cell in code if "parameters" in cell.metadata.get("tags", [])]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    for cell in code:
        for node in ast.walk(ast.parse(cell.source)):
            assert not isinstance(
                node,
                ast.FunctionDef
                | ast.ClassDef
                | ast.For
                | ast.While
                | ast.If
                | ast.Lambda
                | ast.comprehension,
            )
            assert not isinstance(node, ast.Import)
            if isinstance(node, ast.ImportFrom):
                assert node.module
                assert node.module.startswith("scaling_limits.plotting")


@pytest.mark.parametrize(("folder", "kind"), [("transfer", "maps"), ("rates", "transfer")])
def test_execution_gives_the_same_bytes_in_another_place(
    folder: str,
    kind: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source, written = request.getfixturevalue(folder), []
    for place in ("a", "Größe und Länge"):
        root = tmp_path / place
        shutil.copytree(source, root / "results" / "fig5")
        monkeypatch.chdir(root)
        execute(
            NOTEBOOKS / f"{kind}.ipynb",
            "results/fig5",
            "results/fig5/notebook.ipynb",
            "logs/fig5.ipynb",
        )
        written.append({path.name: path.read_bytes() for path in Path("results/fig5").iterdir()})
        assert not Path("logs/fig5.ipynb").exists()
    assert written[0] == written[1]
    text = written[0]["notebook.ipynb"].decode()
    assert str(tmp_path) not in text
    assert len(text) < 500_000
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    shown = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    assert any("image/png" in out.get("data", {}) for out in shown)
    assert any(
        "**holds**" in "".join(out.get("data", {}).get("text/markdown", "")) for out in shown
    )
    assert "papermill" not in json.dumps(notebook.metadata)


@contextlib.contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """No process begun here may write a longer file: to a program this is a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    ("size", "error", "file"),
    [(40_000, ScalingLimitsError, "figure.png"), (1_000, WriteError, "failed.ipynb")],
)
def test_a_full_disk_is_said_and_leaves_no_partial_file(
    tmp_path: Path,
    transfer: Path,
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    error: type[Exception],
    file: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    before = {path: path.read_bytes() for path in transfer.iterdir()}
    output, failed = transfer / "notebook.ipynb", tmp_path / "logs" / "failed.ipynb"
    with files_up_to(size), pytest.raises(error) as caught:
        execute(NOTEBOOKS / "maps.ipynb", transfer, output, failed)
    assert "cannot write" in str(caught.value)
    assert f"{file}: File too large; cells stored so far are kept" in str(caught.value)
    assert {path: path.read_bytes() for path in transfer.iterdir()} == before


def test_a_failed_execution_is_kept_in_the_logs_and_explained(
    tmp_path: Path, transfer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (transfer / "records.parquet").unlink()
    output, failed = tmp_path / "out.ipynb", tmp_path / "logs" / "fig5.ipynb"
    output.write_text("older")
    with pytest.raises(ScalingLimitsError, match=r"records\.parquet") as caught:
        execute(NOTEBOOKS / "maps.ipynb", transfer, output, failed)
    assert str(failed) in str(caught.value)
    assert "Traceback" in failed.read_text() or "traceback" in failed.read_text()
    assert not output.exists()


def test_a_cell_leaves_what_it_prints_and_what_its_last_line_comes_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cells = [
        'folder = ""',
        "import sys\nprint('said')\nprint('warned', file=sys.stderr)\n[folder]",
        "other = 1",
    ]
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "", "language": "python"}
    notebook.cells[0].metadata.tags = ["parameters"]
    nbformat.write(notebook, "source.ipynb")
    execute("source.ipynb", "there", "out.ipynb", "logs/failed.ipynb")
    assert capsys.readouterr().err == "warned\n"
    done = [cell.get("outputs") for cell in nbformat.read("out.ipynb", as_version=4).cells]
    assert done[:2] == [[], []]
    assert done[3] == []
    printed, value = done[2]
    assert (printed.name, printed.text) == ("stdout", "said\n")
    assert (value.output_type, value.data) == ("execute_result", {"text/plain": "['there']"})
