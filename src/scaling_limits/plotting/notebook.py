"""Execute a plot's notebook for one figure, so that it comes out the same each time."""

import copy
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import papermill
from nbclient.exceptions import CellExecutionError, DeadKernelError
from papermill.exceptions import PapermillExecutionError

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.files import unwritable, write_file


def execute(
    notebook: Path | str, folder: Path | str, output: Path | str, failed: Path | str
) -> None:
    """Run `notebook` in a figure's `folder`, for the record; write it without times or machine paths.

    What cells print to
    standard error (warnings, which name files of the machine) goes to this process's own. If a cell
    fails, the notebook as far as it got is left at `failed`, nothing is written to `output`, and
    ScalingLimitsError says which error it was. WriteError says which file cannot be written.
    """
    output, failed = Path(output), Path(failed)
    relative = Path(os.path.relpath(folder)).as_posix()
    source = nbformat.read(Path(notebook), as_version=4)  # type: ignore[no-untyped-call]
    failed.parent.mkdir(parents=True, exist_ok=True)
    output.unlink(missing_ok=True)
    try:
        with _quiet_kernel():
            done = papermill.execute_notebook(
                copy.deepcopy(source),
                os.path.relpath(failed),
                parameters={"record": True},
                cwd=relative,
                kernel_name="python3",
                record_timing=False,
                progress_bar=False,
            )
    except PapermillExecutionError as error:
        raise ScalingLimitsError(
            f"{Path(notebook).name} failed for {relative}: {error.ename}: {error.evalue}\n"
            f"The notebook as far as it got, with the traceback: {failed}"
        ) from error
    except OSError as error:
        # papermill keeps that file up to date while the cells run
        raise unwritable(failed, error) from error
    except (CellExecutionError, DeadKernelError) as error:
        raise ScalingLimitsError(
            f"the kernel died on {Path(notebook).name} for {relative}: {error}"
        ) from error
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
        for out in cell.get("outputs", []):
            if out.get("name") == "stderr":
                sys.stderr.write(out.text)
        if "outputs" in cell:
            cell.outputs = [out for out in cell.outputs if out.get("name") != "stderr"]


@contextmanager
def _quiet_kernel() -> Iterator[None]:
    """Keep the user's IPython settings, the clock, and the kernel's own warnings away."""
    with tempfile.TemporaryDirectory() as scratch:
        profile = Path(scratch, "profile_default")
        profile.mkdir()
        # it tells whoever runs it of its transport, and of the interrupt by which it is ended
        (profile / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 50\n")
        settings = {
            "IPYTHONDIR": scratch,
            "JUPYTER_RUNTIME_DIR": scratch,
            "MPLBACKEND": "agg",
            "PYTHONHASHSEED": "0",
            "SOURCE_DATE_EPOCH": "0",
        }
        before = {name: os.environ.get(name) for name in settings}
        os.environ.update(settings)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
