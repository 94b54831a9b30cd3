"""An engine for papermill that runs notebooks in its own process: starting a kernel takes longer than most drawings."""

import ast
import base64
import contextlib
import io
import traceback
from typing import Any

import nbformat.v4
from IPython.core.formatters import DisplayFormatter
from nbformat import NotebookNode
from papermill.engines import Engine, NotebookExecutionManager

NAME = "in-process"


class InProcess(Engine):  # type: ignore[misc]
    """Runs the cells of a notebook in one namespace, up to the first that fails.

    For each cell it keeps what is printed to standard output, the value of its last line, and its error. It does not
    know IPython's own words, such as `%matplotlib` and `display`.
    """

    @classmethod
    def execute_managed_notebook(
        cls, nb_man: NotebookExecutionManager, kernel_name: str, **_: object
    ) -> None:
        """Run the cells of `nb_man.nb`, and put their outputs there."""
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
    """Whether the cell failed."""
    new: Any = nbformat.v4.new_output
    formatter: Any = DisplayFormatter()
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
        data, metadata = formatter.format(value)
        for form, content in data.items():
            if isinstance(content, bytes):
                data[form] = base64.b64encode(content).decode()
        shown = {"data": data, "metadata": metadata, "execution_count": cell.execution_count}
        cell.outputs.append(new("execute_result", **shown))
    if error is not None:
        said = {"ename": type(error).__name__, "evalue": str(error)}
        lines = traceback.format_exception(error)
        cell.outputs.append(new("error", **said, traceback=lines))
    return error is not None


def _value(cell: NotebookNode, namespace: dict[str, object]) -> object:
    """What the last line comes to if it is an expression, else None."""
    tree = ast.parse(cell.source, cell.id)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, cell.id, "exec"), namespace)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), cell.id, "eval"), namespace)
