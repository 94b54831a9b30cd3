"""Notebooks hold little logic, and come out of their execution the same each time."""

import ast
import contextlib
import importlib
import json
import resource
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import nbformat
import pytest
from plotting_records import NOTEBOOK

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.files import WriteError
from scaling_limits.plots import registry
from scaling_limits.plots.notebook import drawing_cells, execute, filled
from scaling_limits.plots.options import PlotOptions
from scaling_limits.registry import Registry

QUANTITY = {"metric": "train_loss"}
LINES = {
    "title": "",
    "x": "width",
    "label": "",
    "hue": "depth",
    "lines": [{"grid": "a", "quantity": QUANTITY}],
}
REGION = ("activity", "initial_change", "preactivation", "output_change")
ALONG = {"panels": [{"grid": "a", "along": "width"}]}
PLOTS: dict[str, dict[str, Any]] = {
    "composite": {"plots": [{"kind": "lines", "panels": [LINES]}, {"kind": "landscapes", **ALONG}]},
    "definitions": {"columns": ["A", "B"], "rows": [["a", "b"]]},
    "exponent_plane": {"points": ["a"], "quantities": dict.fromkeys(REGION, QUANTITY)},
    "histograms": {
        "quantity": {**QUANTITY, "per": "index"},
        "hue": "width",
        "panels": [{"grid": "a"}],
    },
    "landscapes": ALONG,
    "lines": {"panels": [LINES]},
    "maps": {"quantity": QUANTITY, "x": "width", "y": "depth", **ALONG},
    "nested_sets": {"outermost": {"label": "all"}},
    "parameterisation_table": {
        "form": "init_and_rate",
        "entries": [{"title": "SP", "scheme": "sp"}],
    },
    "results_table": {
        "quantity": QUANTITY,
        "entries": [{"grid": "a", "title": "A"}],
        "rows": ["width"],
        "columns": ["entry"],
    },
}
"""A plot of each kind."""


def test_every_kind_is_shown_by_the_one_notebook() -> None:
    assert set(PLOTS) == set(registry.own)
    assert [path.name for path in NOTEBOOK.parent.iterdir()] == [NOTEBOOK.name]


@pytest.fixture
def folder(rates_folder: Path, tmp_path: Path) -> Path:
    return shutil.copytree(rates_folder, tmp_path / "f")


@pytest.mark.parametrize("kind", [None, *PLOTS])
def test_a_notebook_is_short_and_has_no_outputs(kind: str | None, tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    if kind is not None:
        content = {"kind": kind, "plot": PLOTS[kind]}
        (tmp_path / "figure.json").write_text(json.dumps(content))
        notebook = filled(notebook, tmp_path)
        assert notebook.cells[0].source.startswith(f"# {kind.replace('_', ' ').capitalize()}\n")
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    assert [cell.id for cell in notebook.cells] == [
        f"cell-{n:02d}" for n in range(len(notebook.cells))
    ]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    (parameters,) = [c for c in code if "parameters" in c.metadata.get("tags", [])]
    assert parameters.source.endswith("record = False")
    trees = [ast.parse(cell.source) for cell in code]
    defined = (ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.If, ast.While)
    assert not any(isinstance(node, defined) for tree in trees for node in ast.walk(tree))
    assert max(len(cell.source.splitlines()) for cell in code) <= 18


@pytest.fixture(scope="module")
def executed(rates_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The figure's folder, after its notebook ran in two places."""
    root, folders = tmp_path_factory.mktemp("executed"), []
    for place in ("a", "Größe und Länge"):
        folder = root / place / "results" / "fig5"
        shutil.copytree(rates_folder, folder)
        with contextlib.chdir(root / place):
            execute(
                NOTEBOOK,
                "results/fig5",
                "results/fig5/notebook.ipynb",
                "logs/fig5.ipynb",
            )
            assert not Path("logs/fig5.ipynb").exists()
        folders.append(folder)
    return folders


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_execution_gives_the_same_bytes_in_another_place(executed: list[Path]) -> None:
    first, second = map(contents, executed)
    assert first == second
    assert {"figure.png", "figure.pdf", "figure.svg", "notebook.ipynb"} <= set(first)
    assert not any(name.startswith("edited") for name in first)
    text = first["notebook.ipynb"].decode()
    assert str(executed[0].parents[2]) not in text
    assert len(text) < 500_000
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    shown = [out.get("data", {}) for c in notebook.cells for out in c.get("outputs", [])]
    assert any("image/png" in data for data in shown)
    assert any("**holds**" in "".join(data.get("text/markdown", "")) for data in shown)
    assert any("<th>diverged</th>" in data.get("text/html", "") for data in shown)
    assert "papermill" not in json.dumps(notebook.metadata)


def test_an_executed_notebook_is_the_readers(executed: list[Path]) -> None:
    """It has no injected parameters, and run again in its own folder it leaves the record alone."""
    folder, before = executed[0], contents(executed[0])
    notebook = nbformat.read(folder / "notebook.ipynb", as_version=4)
    source = filled(nbformat.read(NOTEBOOK, as_version=4), folder)
    assert [cell.source for cell in notebook.cells] == [cell.source for cell in source.cells]
    # the lines that draw it are there, for a reader to change
    assert any("sns.lineplot(" in cell.source for cell in notebook.cells)
    names: dict[str, Any] = {}
    with mpl.rc_context(), contextlib.chdir(folder):
        for cell in notebook.cells:
            if cell.cell_type == "code":
                exec(cell.source, names)
    after = contents(folder)
    assert set(after) - set(before) == {"edited.png", "edited.pdf", "edited.svg"}
    assert {name: after[name] for name in before} == before
    # drawn in another process it is the same picture
    assert after["edited.png"] == before["figure.png"]


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
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    error: type[Exception],
    file: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    output, failed = folder / "notebook.ipynb", tmp_path / "logs" / "failed.ipynb"
    with files_up_to(size), pytest.raises(error) as caught:
        execute(NOTEBOOK, folder, output, failed)
    assert "cannot write" in str(caught.value)
    assert f"{file}: File too large; cells stored so far are kept" in str(caught.value)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_failed_execution_is_kept_in_the_logs_and_explained(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (folder / "records.parquet").unlink()
    output, failed = tmp_path / "out.ipynb", tmp_path / "logs" / "fig5.ipynb"
    output.write_text("older")
    with pytest.raises(ScalingLimitsError, match=r"records\.parquet") as caught:
        execute(NOTEBOOK, folder, output, failed)
    assert str(failed) in str(caught.value)
    assert "Traceback" in failed.read_text() or "traceback" in failed.read_text()
    assert not output.exists()


KIND = """
from os.path import join

from scaling_limits.plots.options import PlotOptions


class Options(PlotOptions):
    kind: str = "toy"


def draw(page, rows):
    {body}
"""


@pytest.mark.parametrize(
    ("body", "cell"),
    [
        (
            "# a comment\n    size = join(page, 'x')\n    return [size]",
            "from {kind} import join\npage, rows = figure, table\nsize = join(page, 'x')\npicture = [size]",
        ),
        ("return page", "page, rows = figure, table\npicture = page"),
        ("if rows:\n        return 1\n    return 2", "statements with one return, at their end"),
        ("page.show()", "draw should end with a return"),
    ],
)
def test_what_a_kind_draws_with_becomes_a_cell_or_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, cell: str
) -> None:
    # a module is read once in a process
    kind = f"toy_{zlib.crc32(body.encode())}"
    (tmp_path / f"{kind}.py").write_text(KIND.replace("{body}", body))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(vars(registry), "modules", {"toy": kind})
    monkeypatch.setattr(Registry, "part", lambda *_: importlib.import_module(kind))
    plot = PlotOptions.model_validate({"kind": "toy"})
    if "return" in cell:
        with pytest.raises(ScalingLimitsError, match=cell):
            drawing_cells(plot)
    else:
        assert drawing_cells(plot) == [cell.replace("{kind}", kind)]


def test_a_cell_leaves_what_it_prints_and_what_its_last_line_comes_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cells = [
        "record = False",
        "import sys\nprint('said')\nprint('warned', file=sys.stderr)\n[record]",
        "other = 1",
    ]
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "", "language": "python"}
    notebook.cells[0].metadata.tags = ["parameters"]
    nbformat.write(notebook, "source.ipynb")
    execute("source.ipynb", ".", "out.ipynb", "logs/failed.ipynb")
    assert capsys.readouterr().err == "warned\n"
    done = [cell.get("outputs") for cell in nbformat.read("out.ipynb", as_version=4).cells]
    assert done[0] == []
    assert done[2] == []
    printed, value = done[1]
    assert (printed.name, printed.text) == ("stdout", "said\n")
    assert (value.output_type, value.data) == ("execute_result", {"text/plain": "[True]"})
