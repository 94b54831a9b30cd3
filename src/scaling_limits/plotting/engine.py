"""An engine for papermill that runs notebooks in the calling process.

Starting a kernel would take longer than most drawings.
"""

import ast
import base64
import contextlib
import io
import traceback
from collections.abc import Callable

import nbformat.v4
from IPython.core.formatters import DisplayFormatter
from nbformat import NotebookNode
from papermill.engines import Engine, NotebookExecutionManager

NAME = "in-process"


class InProcess(Engine):  # type: ignore[misc]
    """Runs the cells of a notebook in one namespace, up to the first cell that fails.

    It keeps standard output, the value of the last expression, and the error of each cell. It does not support the
    syntax and functions of IPython, such as `%matplotlib` and `display`.
    """

    @classmethod
    def execute_managed_notebook(
        cls, nb_man: NotebookExecutionManager, kernel_name: str, **_: object
    ) -> None:
        """Run the cells of `nb_man.nb` and store their outputs there."""
        namespace: dict[str, object] = {"__name__": "__main__"}
        code = [cell for cell in nb_man.nb.cells if cell.cell_type == "code"]
        for count, cell in enumerate(code, start=1):
            nb_man.cell_start(cell)
            cell.execution_count = count
            failed = _run(cell, namespace)
            if failed:
                nb_man.cell_exception(cell)
            nb_man.cell_complete(cell)
            if failed:
                break


def _run(cell: NotebookNode, namespace: dict[str, object]) -> bool:
    """Run a cell, store its outputs, and return whether it failed."""
    new: Callable[..., NotebookNode] = nbformat.v4.new_output
    formatted: Callable[[object], tuple[dict[str, object], dict[str, object]]] = (
        DisplayFormatter().format
    )
    printed = io.StringIO()
    value, error = None, None
    with contextlib.redirect_stdout(printed):
        try:
            value = _value(cell, namespace)
        except Exception as raised:
            error = raised
    if text := printed.getvalue():
        cell.outputs.append(new("stream", name="stdout", text=text))
    if value is not None:
        data, metadata = formatted(value)
        for form, content in data.items():
            if isinstance(content, bytes):
                data[form] = base64.b64encode(content).decode()
        shown = {"data": data, "metadata": metadata, "execution_count": cell.execution_count}
        cell.outputs.append(new("execute_result", **shown))
    if error is not None:
        summary = {"ename": type(error).__name__, "evalue": str(error)}
        lines = traceback.format_exception(error)
        cell.outputs.append(new("error", **summary, traceback=lines))
    return error is not None


def _value(cell: NotebookNode, namespace: dict[str, object]) -> object:
    """Execute a cell, and return the value of its last line if that is an expression, otherwise None."""
    tree = ast.parse(cell.source, cell.id)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, cell.id, "exec"), namespace)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), cell.id, "eval"), namespace)
