"""Algorithms of the user: a Python file outside of this package with the functions of an algorithm."""

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
    """Import an algorithm's file, again if its content has changed, so that edits take effect in a running session."""
    content = Path(file).read_bytes()
    name = f"own_algorithm_{hashlib.sha256(file.encode() + content).hexdigest()[:16]}"
    if name not in sys.modules:
        module = ModuleType(name)
        module.__file__ = file
        sys.modules[name] = module
        try:
            # Python's loader may use outdated bytecode for a file that was edited within the last second
            exec(compile(content, file, "exec"), vars(module))
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def declaration(file: str) -> ModuleType | None:
    """Return the module of an algorithm's file if it declares settings; otherwise return None without importing it.

    Raises:
        ConfigurationError: the file imports JAX at its top level.
    """
    if "Settings" not in names(file):
        return None
    imported = "jax" in sys.modules
    module = load(file)
    if "jax" in sys.modules and not imported:
        raise ConfigurationError(
            None,
            "imports JAX at its top level; a file that declares Settings must import JAX inside its functions",
            place=file,
        )
    return module


def check(name: str, file: str) -> None:
    """Check an algorithm's file without running it.

    Raises:
        ConfigurationError: the file is missing, is not Python, lacks a function of an algorithm, or imports another
            file of its folder or a module of no installed package, on which cells would not depend.
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
    """Check a file with this text; see `check`."""
    defined = names(file)
    for function in FUNCTIONS:
        if function not in defined:
            raise ConfigurationError(
                None,
                f"defines no function '{function}'; an algorithm must define {', '.join(FUNCTIONS)}",
                place=where,
            )
    siblings = {path.stem for path in Path(file).parent.glob("*.py")}
    for module in sorted(_imported(text)):
        if module.startswith(".") or module in siblings:
            raise ConfigurationError(
                None,
                f"imports '{module}' from its own folder, but the keys of cells depend on the algorithm's file "
                "only; move the code into this file",
                place=where,
            )
    further = _imported(text) - sys.stdlib_module_names - {"scaling_limits", *NUMERICAL_LIBRARIES}
    # the lookup takes a fifth of a second
    for module in sorted(further.difference(packages_distributions() if further else ())):
        raise ConfigurationError(
            None,
            f"imports '{module}', which belongs to no installed package, so the keys of cells could not depend on "
            "its version; import only installed packages",
            place=where,
        )


def _imported(text: str) -> set[str]:
    """Return the packages that a file imports anywhere in its code; relative imports with their dots."""
    result = set()
    for part in ast.walk(_parsed(text)):
        if isinstance(part, ast.Import):
            result |= {alias.name.partition(".")[0] for alias in part.names}
        elif isinstance(part, ast.ImportFrom):
            module = part.module or ""
            result.add("." * part.level + module if part.level else module.partition(".")[0])
    return result


def names(file: str) -> frozenset[str]:
    """Return the names that a Python file defines or imports, without running it; raises as reading and parsing do."""
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
