"""Registries of parts by name, which import a part only when it is requested.

A cell therefore depends only on the code that it uses. A registered part is a file, or a folder whose `__init__.py`
declares the part and whose `computation.py` computes it. The configuration reads the declarations, so declaring modules
do not import JAX. Installed packages add parts through entry points, and users through files outside of any package.
"""

import hashlib
import importlib
import importlib.util
import symtable
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path, PurePath
from types import ModuleType
from typing import Generic, TypeVar, cast

from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.strict import Strict

Part = TypeVar("Part", covariant=True)
"""The contract of a part: the `Protocol` that the module of each part satisfies."""


@dataclass(frozen=True)
class Registry(Generic[Part]):
    """The names of one kind of part, with the modules that declare them.

    Args:
        kind: what the parts are called in messages.
        own: the project's parts: name -> declaring module.
        group: the group of entry points through which installed packages add parts; None if they cannot.
        needed: names that a declaring module from outside of the project has to define.
        functions: functions that a user's file has to define to compute a part.
        files: the user's parts: name -> path of a Python file.
    """

    kind: str
    own: Mapping[str, str]
    group: str | None = None
    needed: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)

    def with_files(self, files: Mapping[str, PurePath | str]) -> "Registry[Part]":
        """Return this registry with the user's parts: name -> path of a Python file."""
        return replace(self, files={name: Path(file).as_posix() for name, file in files.items()})

    @cached_property
    def modules(self) -> Mapping[str, str]:
        """All names with the modules or files that declare them, the project's own first; none is imported.

        Raises:
            ConfigurationError: a package adds a name that the project or another package already uses, or an entry
                point that is not a module.
        """
        added = {name: entry.module for name, entry in self._added.items()}
        return {**self.own, **added, **self.files}

    def part(self, name: str) -> ModuleType:
        """Import and return the module that declares `name`.

        A user's file without `Settings` declares nothing and may import JAX: the result is an empty module.

        Raises:
            ConfigurationError: the name is unknown (the message gives the closest one), or the module of a package or
                a user's file cannot be imported, imports JAX, lacks a required name, or has Settings of another base
                class.
        """
        declaring = self._declaring(name)
        if name in self.own:
            # this is called for every cell, and there may be thousands of cells
            return sys.modules.get(declaring) or importlib.import_module(declaring)
        if name in self.files:
            if "Settings" not in self._defined(declaring):
                return ModuleType(name)
            where = declaring
        else:
            where = (
                f"{self.kind} '{name}' of the package '{_package(self._added[name])}': {declaring}"
            )
        had_jax = "jax" in sys.modules
        try:
            module = _import(declaring)
        except Exception as error:
            problem = f"cannot be imported: {type(error).__name__}: {error}"
            raise ConfigurationError(None, problem, place=where) from error
        if "jax" in sys.modules and not had_jax:
            raise ConfigurationError(
                None,
                "imports JAX at its top level; a module that declares a part must import JAX inside its functions",
                place=where,
            )
        self._refuse_missing(self.needed, vars(module), where)
        settings = getattr(module, "Settings", Strict)
        if not (isinstance(settings, type) and issubclass(settings, Strict)):
            problem = "its Settings must be a class derived from scaling_limits.strict.Strict"
            raise ConfigurationError(None, problem, place=where)
        return module

    def get(self, name: str) -> Part:
        """Import and return the module that computes `name`; raises as `part` does."""
        return cast(Part, _import(self.module(name)))

    def module(self, name: str) -> str:
        """Return the dotted name of the module that computes `name`, or the path of a user's file.

        A user's file is checked without importing it.

        Raises:
            ConfigurationError: as for `part`.
        """
        declaring = self._declaring(name)
        if name in self.files:
            self._defined(declaring)
            return declaring
        if name not in self.own:
            # finding the module imports its parent packages; importing it here reports errors in them properly
            self.part(name)
        return _computing(declaring)

    def _defined(self, file: str) -> frozenset[str]:
        """Return the names that a user's file defines.

        Raises:
            ConfigurationError: the file cannot be read as Python or lacks a required function.
        """
        if not file.endswith(".py"):
            raise ConfigurationError(
                None, "is no Python file; its name must end in .py", place=file
            )
        try:
            defined = _names(Path(file).read_text(encoding="utf-8"))
        except (OSError, SyntaxError, ValueError) as error:
            problem = f"cannot be read as Python: {error}"
            raise ConfigurationError(None, problem, place=file) from None
        self._refuse_missing(self.functions, defined, file)
        return defined

    def _refuse_missing(
        self, required: Collection[str], defined: Collection[str], where: str
    ) -> None:
        for word in required:
            if word not in defined:
                raise ConfigurationError(
                    None,
                    f"defines no '{word}'; the module of this {self.kind} must define {', '.join(required)}",
                    place=where,
                )

    def _declaring(self, name: str) -> str:
        if name in self.files:
            return self.files[name]
        if name not in self.modules:
            raise ConfigurationError(None, unknown(self.kind, name, self.modules))
        return self.modules[name]

    @cached_property
    def _added(self) -> Mapping[str, EntryPoint]:
        """The entry points of installed packages, in alphabetical order."""
        added: dict[str, EntryPoint] = {}
        entries = entry_points(group=self.group) if self.group else ()
        for entry in sorted(entries, key=lambda entry: (entry.name, _package(entry))):
            where = f"{self.group}: '{entry.name}' of the package '{_package(entry)}'"
            if entry.name in self.own:
                raise ConfigurationError(
                    None,
                    f"{where} is already the name of a {self.kind} of scaling_limits; choose another name",
                )
            if entry.name in added:
                other = _package(added[entry.name])
                raise ConfigurationError(
                    None,
                    f"{where} is already the name of a {self.kind} of the package "
                    f"'{other}'; uninstall one of the packages",
                )
            if entry.attr or entry.extras:
                raise ConfigurationError(
                    None,
                    f"the entry point must be the name of a module, not '{entry.value}'",
                    place=where,
                )
            added[entry.name] = entry
        return added


def _package(entry: EntryPoint) -> str:
    assert entry.dist is not None, "entry points of installed packages have a distribution"
    name: str = entry.dist.name
    return name


def _import(module: str) -> ModuleType:
    """Import a module by its dotted name, or a file by its path, again if the content of the file has changed."""
    if not module.endswith(".py"):
        return importlib.import_module(module)
    content = Path(module).read_bytes()
    name = f"own_part_{hashlib.sha256(module.encode() + content).hexdigest()[:16]}"
    if name not in sys.modules:
        imported = ModuleType(name)
        imported.__file__ = module
        sys.modules[name] = imported
        try:
            # Python's loader may use outdated bytecode for a file that was edited within the last second
            exec(compile(content, module, "exec"), vars(imported))
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


@cache
def _names(text: str) -> frozenset[str]:
    """Return the names that a Python source defines or imports at its top level."""
    symbols = symtable.symtable(text, "", "exec").get_symbols()
    return frozenset(s.get_name() for s in symbols if s.is_assigned() or s.is_imported())


@cache
def _computing(declaring: str) -> str:
    spec = importlib.util.find_spec(declaring)
    is_folder = spec is not None and spec.submodule_search_locations is not None
    return f"{declaring}.computation" if is_folder else declaring
