"""Notebooks of figures: cells that draw the figure's kind of plot, executed reproducibly."""

import ast
import copy
import inspect
import os
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import nbformat
import papermill
from nbformat.v4 import new_code_cell, new_markdown_cell
from papermill.engines import papermill_engines
from papermill.exceptions import PapermillExecutionError

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.files import unwritable, write_file
from scaling_limits.plots import registry
from scaling_limits.plots.options import PlotOptions
from scaling_limits.plotting.engine import NAME, InProcess

_SETTINGS = {"MPLBACKEND": "agg", "SOURCE_DATE_EPOCH": "0"}

papermill_engines.register(NAME, InProcess)


def execute(
    notebook: Path | str, folder: Path | str, output: Path | str, failed: Path | str
) -> None:
    """Execute a figure's notebook in this process, and write it without times and machine paths.

    Standard error of the cells is discarded, because warnings contain paths of the machine.

    Args:
        notebook: the notebook file. Its cell with the tag `kind` is replaced by the description of the figure's kind of
            plot, its cell with the tag `drawing` by the cells that draw the figure.
        folder: the figure's folder.
        output: the file to write.
        failed: where the partially executed notebook remains if a cell fails; `output` then does not exist.

    Raises:
        ScalingLimitsError: a cell fails, or the statements of the kind's `draw` cannot be shown as a cell.
        WriteError: a file cannot be written.
    """
    output, failed = Path(output), Path(failed)
    relative = Path(os.path.relpath(folder)).as_posix()
    source = filled(nbformat.read(Path(notebook), as_version=4), Path(folder))  # type: ignore[no-untyped-call]
    failed.parent.mkdir(parents=True, exist_ok=True)
    output.unlink(missing_ok=True)
    try:
        with _surroundings():
            executed = papermill.execute_notebook(
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
        # papermill writes this file last, even if a cell failed
        raise unwritable(failed, error) from error
    _strip(executed, source)
    write_file(output, nbformat.writes(executed) + "\n")  # type: ignore[no-untyped-call]
    failed.unlink()


def filled(notebook: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """Return the notebook with its tagged cells replaced by those of the kind of plot in a figure's folder."""
    # plots import seaborn, which `execute` has already imported without SciPy
    from scaling_limits.plots.figure_folder import plot_of

    cells = []
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if "kind" in tags:
            cells.append(new_markdown_cell(_description(plot_of(folder).kind)))  # type: ignore[no-untyped-call]
        elif "drawing" in tags:
            cells += map(new_code_cell, drawing_cells(plot_of(folder)))
        else:
            cells.append(cell)
    result = copy.deepcopy(notebook)
    result.cells = cells
    _number(result)
    return result


def drawing_cells(plot: PlotOptions) -> list[str]:
    """Return the cells that draw a plot from `figure` and `table` and assign the matplotlib figure to `picture`.

    Raises:
        ScalingLimitsError: the kind's `draw` violates `contract.Kind`.
    """
    kind = registry.part(plot.kind)
    if hasattr(kind, "cells"):
        cells: list[str] = kind.cells(plot)
        return cells
    return [_statements(kind)]


def _statements(kind: ModuleType) -> str:
    """Return the body of a kind's `draw` as the source of a cell, with imports of the names that it uses."""
    source = textwrap.dedent(inspect.getsource(kind.draw))
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    body = function.body[1:] if ast.get_docstring(function) else function.body
    last = body[-1]
    if not isinstance(last, ast.Return) or last.value is None:
        raise ScalingLimitsError(f"{kind.__name__}.draw should end with a return")
    lines = source.splitlines()
    last_line = lines[last.lineno - 1 :]
    last_line[0] = last_line[0].replace("return ", "picture = ", 1)
    text = textwrap.dedent("\n".join([*lines[body[0].lineno - 1 : last.lineno - 1], *last_line]))
    names = [name for name in _free_names(function) if name in vars(kind)]
    imports = [f"from {kind.__name__} import {', '.join(names)}"] if names else []
    arguments = [argument.arg for argument in function.args.args]
    bound = [] if arguments == ["figure", "table"] else [f"{', '.join(arguments)} = figure, table"]
    cell = "\n".join([*imports, *bound, text])
    try:
        compile(cell, kind.__name__, "exec")
    except SyntaxError as error:
        raise ScalingLimitsError(
            f"{kind.__name__}.draw should be statements with one return, at their end: {error.msg}"
        ) from None
    return cell


def _description(kind: str) -> str:
    """Return the docstring of a kind of plot under a heading with its name."""
    title = kind.replace("_", " ").capitalize()
    return f"# {title}\n\n{inspect.getdoc(registry.part(kind))}"


def _free_names(function: ast.FunctionDef) -> list[str]:
    """Return the names that a function reads but does not bind."""
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound = {argument.arg for argument in function.args.args}
    bound |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
    bound |= {alias.asname or alias.name for node in nodes for alias in getattr(node, "names", ())}
    return sorted({name.id for name in names} - bound)


def _number(notebook: nbformat.NotebookNode) -> None:
    """Give the cells of a notebook reproducible ids."""
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:02d}"


def _strip(executed: nbformat.NotebookNode, source: nbformat.NotebookNode) -> None:
    executed.metadata = source.metadata
    # without the parameters, a reader who reruns the notebook does not overwrite the figure of record
    executed.cells = [
        c for c in executed.cells if "injected-parameters" not in c.metadata.get("tags", [])
    ]
    _number(executed)
    for cell in executed.cells:
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)


@contextmanager
def _surroundings() -> Iterator[None]:
    """Set environment variables that hide the display and the clock, and restore them afterwards."""
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
