"""The tutorial notebook runs, and its claim holds."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorial.ipynb"


def test_the_tutorial_reaches_its_verdict(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    client = NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    (verdict,) = (out["text"] for out in notebook.cells[-2].outputs)
    assert verdict.splitlines()[-1] == "holds"
    assert not list(tmp_path.iterdir())
