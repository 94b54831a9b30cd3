"""A user's own algorithms, each a Python file outside this package with the functions of an algorithm."""

import ast
import hashlib
import sys
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from types import ModuleType

from scaling_limits.errors import ConfigurationError
from scaling_limits.runtime import NUMERICAL_LIBRARIES

FUNCTIONS = ("init", "update", "errors")


def load(file: str) -> ModuleType:
    """Import an algorithm's file, once in each state: an edit counts in a session that goes on."""
    content = Path(file).read_bytes()
    name = f"own_algorithm_{hashlib.sha256(file.encode() + content).hexdigest()[:16]}"
    if name not in sys.modules:
        module = ModuleType(name)
        module.__file__ = file
        sys.modules[name] = module
        try:
            # Python's own loader may take older bytecode for a file that was edited within a second
            exec(compile(content, file, "exec"), vars(module))
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def declaration(file: str) -> ModuleType | None:
    """The module of an algorithm's file if it declares settings; None if it has none, as it is not imported then.

    Raises:
        ConfigurationError: the file imports JAX when it is read, not when it computes.
    """
    if "Settings" not in names(file):
        return None
    imported = "jax" in sys.modules
    module = load(file)
    if "jax" in sys.modules and not imported:
        raise ConfigurationError(
            None,
            "imports JAX when it is read; a file that declares Settings imports it inside its functions",
            place=file,
        )
    return module


def check(name: str, file: str) -> None:
    """Read an algorithm's file without running it.

    Raises:
        ConfigurationError: the file is missing, is no Python, lacks a function of an algorithm, or imports a file
            of its folder, or what is of no installed package: cells would depend on neither.
    """
    where = f"algorithms.{name}: {file}"
    try:
        text = Path(file).read_text(encoding="utf-8")
        _parsed(text)
    except (OSError, UnicodeDecodeError, SyntaxError, ValueError) as error:
        raise ConfigurationError(None, f"cannot be read as Python: {error}", place=where) from None
    _check(where, file, text)


@cache
def _check(where: str, file: str, text: str) -> None:
    """See `check`, of a file with this text."""
    defined = names(file)
    for function in FUNCTIONS:
        if function not in defined:
            raise ConfigurationError(
                None,
                f"defines no function '{function}'; an algorithm has {', '.join(FUNCTIONS)}",
                place=where,
            )
    beside = {path.stem for path in Path(file).parent.glob("*.py")}
    for module in sorted(_imported(text)):
        if module.startswith(".") or module in beside:
            raise ConfigurationError(
                None,
                f"imports '{module}', a file beside it; cells depend on one file of an algorithm",
                place=where,
            )
    further = _imported(text) - sys.stdlib_module_names - {"scaling_limits", *NUMERICAL_LIBRARIES}
    # a fifth of a second, where there is something to look up
    for module in sorted(further.difference(packages_distributions() if further else ())):
        raise ConfigurationError(
            None,
            f"imports '{module}', which is of no installed package; cells would not depend on it",
            place=where,
        )


def _imported(text: str) -> set[str]:
    """The packages that a file imports, wherever in it; relative imports by their dots."""
    result = set()
    for part in ast.walk(_parsed(text)):
        if isinstance(part, ast.Import):
            result |= {alias.name.partition(".")[0] for alias in part.names}
        elif isinstance(part, ast.ImportFrom):
            module = part.module or ""
            result.add("." * part.level + module if part.level else module.partition(".")[0])
    return result


def names(file: str) -> frozenset[str]:
    """What a Python file defines or imports by name, without running it; raises as reading and parsing do."""
    body = _parsed(Path(file).read_text(encoding="utf-8")).body
    defined = {part.name for part in body if isinstance(part, ast.FunctionDef | ast.ClassDef)}
    for part in body:
        if isinstance(part, ast.ImportFrom):
            defined.update(alias.asname or alias.name for alias in part.names)
        elif isinstance(part, ast.Assign):
            defined.update(to.id for to in part.targets if isinstance(to, ast.Name))
    return frozenset(defined)


@cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)
