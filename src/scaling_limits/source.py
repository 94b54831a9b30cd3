"""Source digests: which code a cell's numbers come from.

The digest of a set of modules covers the syntax trees, without docstrings (and so without comments and layout), of all
modules of this package that they import, directly or not. Registries import by name at run time and their entries are
invisible here on purpose: whoever asks names the registered modules that the cell uses.
"""

import ast
import hashlib
import importlib.util
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PACKAGE = "scaling_limits"


@cache
def source_digest(modules: tuple[str, ...]) -> str:
    """16 hexadecimal digits over the import closure of `modules`: dotted names with the package's, or paths of
    Python files outside it.

    Asked for once in a process, which goes on with the code that it has imported.
    """
    text = "\n".join(f"{name} {_tree_digest(name)}" for name in closure(modules))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def closure(modules: Iterable[str]) -> list[str]:
    """The modules of this package that `modules` need, themselves included, sorted."""
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(_imports(name))
    return sorted(found)


@cache
def _path(name: str) -> Path | None:
    if name.endswith(".py"):
        return Path(name)
    root = Path(__file__).parent
    parts = name.split(".")[1:]
    for candidate in (
        root.joinpath(*parts, "__init__.py"),
        root.joinpath(*parts).with_suffix(".py"),
    ):
        if candidate.is_file():
            return candidate
    if not name.startswith(PACKAGE):
        spec = importlib.util.find_spec(name)
        return Path(spec.origin) if spec and spec.origin else None
    return None


def _file(name: str) -> Path:
    path = _path(name)
    if path is None:
        raise ModuleNotFoundError(f"no module {name}")
    return path


@cache
def _parse(name: str) -> ast.Module:
    tree = ast.parse(_file(name).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            # strings that stand alone: docstrings, also those below a name
            node.body = [part for part in node.body if not _is_text(part)] or [ast.Pass()]
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "Registry"
        ):
            node.args = []
    return tree


def _is_text(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Constant):
        return False
    return isinstance(statement.value.value, str)


@cache
def _tree_digest(name: str) -> str:
    return hashlib.sha256(ast.dump(_parse(name)).encode()).hexdigest()


@cache
def _imports(name: str) -> frozenset[str]:
    is_package = _file(name).name == "__init__.py"
    parent = name if is_package else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(_parse(name)):
        if isinstance(node, ast.Import):
            candidates = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                anchor = parent.split(".")[: len(parent.split(".")) - node.level + 1]
                base = ".".join([*anchor, base] if base else anchor)
            candidates = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        else:
            continue
        for candidate in candidates:
            if candidate.split(".")[0] == PACKAGE and _path(candidate) is not None:
                # importing a.b.c runs a and a.b as well
                parts = candidate.split(".")
                found.update(".".join(parts[:end]) for end in range(2, len(parts) + 1))
    found.discard(name)
    return frozenset(found)
