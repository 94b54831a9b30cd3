"""Execute a plot's notebook for one figure, so that it comes out the same each time."""

import copy
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import papermill
from papermill.engines import papermill_engines
from papermill.exceptions import PapermillExecutionError

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.files import unwritable, write_file
from scaling_limits.plotting.engine import NAME, InProcess

_SETTINGS = {"MPLBACKEND": "agg", "SOURCE_DATE_EPOCH": "0"}

papermill_engines.register(NAME, InProcess)


def execute(
    notebook: Path | str, folder: Path | str, output: Path | str, failed: Path | str
) -> None:
    """Run `notebook` in a figure's `folder`, for the record; write it without times or machine paths.

    It runs in this process. What cells print to standard error (warnings, which name files of the machine) is
    not kept. If a cell fails, the notebook as far as it got is left at `failed`, nothing is written to
    `output`, and ScalingLimitsError says which error it was. WriteError says which file cannot be written.
    """
    output, failed = Path(output), Path(failed)
    relative = Path(os.path.relpath(folder)).as_posix()
    source = nbformat.read(Path(notebook), as_version=4)  # type: ignore[no-untyped-call]
    failed.parent.mkdir(parents=True, exist_ok=True)
    output.unlink(missing_ok=True)
    _import_seaborn()
    try:
        with _surroundings():
            done = papermill.execute_notebook(
                copy.deepcopy(source),
                os.path.relpath(failed),
                parameters={"record": True},
                cwd=relative,
                engine_name=NAME,
                kernel_name="python3",
                request_save_on_cell_execute=False,
                progress_bar=False,
            )
    except PapermillExecutionError as error:
        raise ScalingLimitsError(
            f"{Path(notebook).name} failed for {relative}: {error.ename}: {error.evalue}\n"
            f"The notebook as far as it got, with the traceback: {failed}"
        ) from error
    except OSError as error:
        # papermill writes that file in the end, whatever becomes of the cells
        raise unwritable(failed, error) from error
    _strip(done, source)
    write_file(output, nbformat.writes(done) + "\n")  # type: ignore[no-untyped-call]
    failed.unlink()


def _strip(done: nbformat.NotebookNode, source: nbformat.NotebookNode) -> None:
    done.metadata = source.metadata
    # run again it is the reader's, who changes it
    done.cells = [c for c in done.cells if "injected-parameters" not in c.metadata.get("tags", [])]
    for number, cell in enumerate(done.cells):
        cell.id = f"cell-{number:02d}"
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)


def _import_seaborn() -> None:
    """Import seaborn as if SciPy, which it can do without, were not there: a third of the time that a drawing imports.

    No figure is drawn with what it takes from there, `scipy.stats`. Whoever imports SciPy afterwards has it.
    """
    if {"scipy", "seaborn"} & set(sys.modules):
        return
    # Python's own word for a module that must not be found
    sys.modules["scipy"] = None  # type: ignore[assignment]
    try:
        importlib.import_module("seaborn")
    finally:
        del sys.modules["scipy"]


@contextmanager
def _surroundings() -> Iterator[None]:
    """Keep the screen and the clock away."""
    before = {name: os.environ.get(name) for name in _SETTINGS}
    os.environ.update(_SETTINGS)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
