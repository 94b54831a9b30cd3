"""The tutorial notebook runs, and its claim holds."""

import resource
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorial.ipynb"
SECONDS = 60
"""Time of one core that the notebook may take."""


def cpu_seconds() -> float:
    """Return the CPU time of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_the_tutorial_reaches_its_verdict_within_a_minute(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    before = cpu_seconds()
    client = NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    assert cpu_seconds() - before < SECONDS
    (verdict,) = (out["text"] for out in notebook.cells[-2].outputs)
    assert verdict.splitlines()[-1] == "holds"
    assert not list(tmp_path.iterdir())
