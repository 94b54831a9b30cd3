"""Source digests: a hash of the code that determines the results of a cell.

The digest of a set of modules covers the syntax trees, without docstrings, comments and layout, of all modules of this
package that they import, directly or indirectly. For a part of another package, it also covers the modules of that
package. For such modules and for a user's own files, it includes the versions of the other packages that they import.
The digest excludes code that cannot affect results:

- what parts declare for planning, the definitions named in `DECLARATIONS`, because their results are part of the cell;
  a declaration that other code refers to, in its own module or in a module that imports it, is included,
- blocks under `if TYPE_CHECKING:`, and imports used only by these blocks or by excluded declarations,
- a package's `__init__`, unless something is imported from it by name: `from scaling_limits.algorithms import registry`
  includes the `__init__` of `algorithms`, `from scaling_limits.algorithms import problem` does not.

Registries import modules by name at run time, and their entries are deliberately not followed. The caller passes the
registered modules that the cell uses.
"""

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib.metadata import packages_distributions, version
from pathlib import Path

from scaling_limits.errors import ConfigurationError
from scaling_limits.runtime import NUMERICAL_LIBRARIES

PACKAGE = "scaling_limits"
DECLARATIONS = frozenset({"Settings", "refuse", "work", "memory", "metrics"})


def source_digest(modules: tuple[str, ...]) -> str:
    """Return 16 hexadecimal digits over all modules that `modules` import, directly or indirectly, and over themselves.

    Modules are read once, because a process continues with the code that it has imported. Files are read each time,
    because an edited algorithm is imported again.

    Args:
        modules: dotted names that start with the name of a package, this one or another, or paths of Python files.
    """
    return _digest(modules, tuple(_text(name) for name in modules if _is_file(name)))


@cache
def _digest(modules: tuple[str, ...], texts: tuple[str, ...]) -> str:
    """Return the digest of modules and of files with these texts."""
    needed = _needed(modules)
    lines = [f"{name} {_tree_digest(name, _text(name), needed[name])}" for name in sorted(needed)]
    lines += [f"{name} {version(name)}" for name in sorted(_distributions(needed))]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def closure(modules: Iterable[str]) -> list[str]:
    """Return the given modules and all modules of their packages and of this one that they import, sorted."""
    return sorted(_needed(modules))


def _needed(modules: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the modules of `closure`, each with those of its declarations that code of the others refers to."""
    needed: dict[str, frozenset[str]] = {}
    waiting: list[tuple[str, frozenset[str]]] = [(name, frozenset()) for name in modules]
    while waiting:
        name, declarations = waiting.pop()
        known = needed.get(name)
        if known is None or not declarations <= known:
            needed[name] = declarations | (known or frozenset())
            references = _references(name, _text(name), needed[name])
            waiting.extend((module, references.get(module, frozenset())) for module in references)
    return needed


def _distributions(needed: Mapping[str, frozenset[str]]) -> set[str]:
    """Return the installed distributions that modules outside of this package import, except those whose versions are
    part of every cell's key.
    """
    packages = {
        root
        for name, declarations in needed.items()
        if not _is_inner(name)
        for root in _roots(name, declarations)
    }
    return {name for names in _installed(packages).values() for name in names}


def _installed(packages: Collection[str]) -> dict[str, list[str]]:
    """Return the installed distributions of packages, without those whose versions are part of every cell's key."""
    further = {*packages} - sys.stdlib_module_names - {"", PACKAGE, *NUMERICAL_LIBRARIES}
    # the lookup takes a fifth of a second
    distributions = packages_distributions() if further else {}
    return {root: distributions.get(root, []) for root in further}


def refuse_untracked(file: str) -> None:
    """Reject imports anywhere in a user's file on which its digest does not depend.

    Raises:
        ConfigurationError: the file imports another file of its folder, or a module of no installed package.
    """
    imported = _roots(file, DECLARATIONS)
    siblings = {path.stem for path in Path(file).parent.glob("*.py")}
    for root in sorted(imported & {"", *siblings}):
        raise ConfigurationError(
            None,
            f"imports '{root or '.'}' from its own folder, but the keys of cells depend on this file only; "
            "move the code into this file",
            place=file,
        )
    for root in sorted(root for root, names in _installed(imported).items() if not names):
        raise ConfigurationError(
            None,
            f"imports '{root}', which belongs to no installed package, so the keys of cells could not depend on its "
            "version; import only installed packages",
            place=file,
        )


def _is_inner(name: str) -> bool:
    return name.split(".")[0] == PACKAGE


def _roots(name: str, needed: frozenset[str]) -> set[str]:
    """Return the packages from which a module imports, other than its own; "" for a relative import."""
    roots = set()
    for node in ast.walk(_parse(name, _text(name), needed)):
        if isinstance(node, ast.Import):
            roots |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            roots.add("" if node.level else str(node.module).split(".")[0])
    return roots - {name.split(".")[0]}


@cache
def _path(name: str) -> Path | None:
    if _is_file(name):
        return Path(name)
    package, *inner = name.split(".")
    if package == PACKAGE:
        folders = [Path(__file__).parent]
    else:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.submodule_search_locations is None:
            return Path(spec.origin) if spec and spec.origin and not inner else None
        folders = [Path(folder) for folder in spec.submodule_search_locations]
    for folder in folders:
        path = folder.joinpath(*inner)
        for candidate in (path / "__init__.py", path.with_suffix(".py")):
            if candidate.is_file():
                return candidate
    return None


def _file(name: str) -> Path:
    path = _path(name)
    if path is None:
        raise ModuleNotFoundError(f"no module {name}")
    return path


def _is_file(name: str) -> bool:
    return name.endswith(".py")


def _text(name: str) -> str:
    """Return the source of a module as it was when first read, and the source of a file as it is now."""
    return _read(name) if _is_file(name) else _read_once(name)


def _read(name: str) -> str:
    return _file(name).read_text(encoding="utf-8")


_read_once = cache(_read)


@cache
def _parse(name: str, text: str, needed: frozenset[str]) -> ast.Module:
    """Parse a module without its declarations, except those that are `needed` elsewhere or used in it."""
    tree = ast.parse(text)
    every = tree.body
    tree.body = [part for part in every if not _declares(part)]
    left_out = [part for part in every if _declares(part)]
    while used := [part for part in left_out if _defined(part) & (needed | _loaded(tree.body))]:
        left_out = [part for part in left_out if part not in used]
        tree.body = [part for part in every if part not in left_out]
    unused = _names(left_out) - _names(tree.body)
    tree.body = [part for part in tree.body if not _imports_only(part, unused)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            # strings as statements: docstrings, including those of variables
            node.body = [part for part in node.body if not _is_text(part)] or [ast.Pass()]
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "Registry"
        ):
            node.args = []
    return tree


def _declares(statement: ast.stmt) -> bool:
    """Return whether a statement of a module cannot affect results unless other code refers to it."""
    if isinstance(statement, ast.If):
        return isinstance(statement.test, ast.Name) and statement.test.id == "TYPE_CHECKING"
    if isinstance(statement, ast.ClassDef | ast.FunctionDef):
        return statement.name in DECLARATIONS
    return False


def _defined(declaration: ast.stmt) -> set[str]:
    return {declaration.name} if isinstance(declaration, ast.ClassDef | ast.FunctionDef) else set()


def _loaded(statements: Iterable[ast.stmt]) -> set[str]:
    """Return the names that statements refer to."""
    nodes = (node for statement in statements for node in ast.walk(statement))
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def _names(statements: Iterable[ast.stmt]) -> set[str]:
    """Return the names that statements use, including names given as strings, as in `__all__`."""
    nodes = [node for statement in statements for node in ast.walk(statement)]
    texts = {node.value for node in nodes if isinstance(node, ast.Constant)}
    return {node.id for node in nodes if isinstance(node, ast.Name)} | {
        text for text in texts if isinstance(text, str)
    }


def _imports_only(statement: ast.stmt, names: Collection[str]) -> bool:
    if not isinstance(statement, ast.Import | ast.ImportFrom):
        return False
    bound = [(alias.asname or alias.name).split(".")[0] for alias in statement.names]
    return all(name in names for name in bound)


def _is_text(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Constant):
        return False
    return isinstance(statement.value.value, str)


@cache
def _tree_digest(name: str, text: str, needed: frozenset[str]) -> str:
    return hashlib.sha256(ast.dump(_parse(name, text, needed)).encode()).hexdigest()


@cache
def _references(name: str, text: str, needed: frozenset[str]) -> Mapping[str, frozenset[str]]:
    """The modules that a module imports, each with its declarations that are referred to."""
    references: dict[str, set[str]] = {}
    local: dict[str, str] = {}  # modules by their local names
    tree = _parse(name, text, needed)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                # importing a.b.c also gives access to a and a.b
                parts = alias.name.split(".")
                for end in range(1, len(parts) + 1):
                    references.setdefault(".".join(parts[:end]), set())
                local[alias.asname or parts[0]] = alias.name if alias.asname else parts[0]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(name, node)
            for alias in node.names:
                submodule = f"{base}.{alias.name}"
                if _counts(submodule, name):
                    references.setdefault(submodule, set())
                    local[alias.asname or alias.name] = submodule
                else:
                    every = DECLARATIONS if alias.name == "*" else {alias.name}
                    references.setdefault(base, set()).update(every & DECLARATIONS)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in DECLARATIONS:
            root, *inner = ast.unparse(node.value).split(".")
            module = ".".join([local.get(root, root), *inner])
            if module in references:
                references[module].add(node.attr)
    return {
        module: frozenset(declarations)
        for module, declarations in references.items()
        if module != name and _counts(module, name)
    }


def _absolute(name: str, node: ast.ImportFrom) -> str:
    """Return the dotted name of the module from which `name` imports."""
    base = node.module or ""
    if not node.level:
        return base
    is_package = _file(name).name == "__init__.py"
    anchor = name.split(".")[: len(name.split(".")) - node.level + is_package]
    return ".".join([*anchor, base] if base else anchor)


def _counts(module: str, importing: str) -> bool:
    """Return whether a module belongs to this package, or to the package of the module that imports it."""
    package = importing.split(".")[0]
    of_its_own = package != PACKAGE and module.split(".")[0] == package
    return (of_its_own or module.startswith(f"{PACKAGE}.")) and _path(module) is not None
