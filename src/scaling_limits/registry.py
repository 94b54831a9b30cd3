"""Registries of parts by name, which import a part only when it is requested.

A cell therefore depends only on the code that it uses. A registered part is a file, or a folder whose `__init__.py`
declares the part and whose `computation.py` computes it. The configuration reads the declarations, so declaring modules
do not import JAX. Installed packages add parts through entry points.
"""

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Generic, TypeVar, cast

from scaling_limits.errors import ConfigurationError, unknown

Part = TypeVar("Part", covariant=True)
"""The contract of a part: the `Protocol` that the module of each part satisfies."""


@dataclass(frozen=True)
class Registry(Generic[Part]):
    """The names of one kind of part, with the modules that declare them.

    Args:
        kind: what the parts are called in messages.
        own: the project's parts: name -> declaring module.
        group: the group of entry points through which installed packages add parts; None if they cannot.
        needed: names that a declaring module of another package has to define.
    """

    kind: str
    own: Mapping[str, str]
    group: str | None = None
    needed: tuple[str, ...] = ()

    @cached_property
    def modules(self) -> Mapping[str, str]:
        """All names with the modules that declare them, the project's own first; none is imported.

        Raises:
            ConfigurationError: a package adds a name that the project or another package already uses, or an entry
                point that is not a module.
        """
        return {**self.own, **{name: entry.module for name, entry in self._added.items()}}

    def part(self, name: str) -> ModuleType:
        """Import and return the module that declares `name`.

        Raises:
            ConfigurationError: the name is unknown (the message gives the closest one), or a package's module cannot be
                imported, imports JAX, or lacks a required name.
        """
        declaring = self._declaring(name)
        if name in self.own:
            # this is called for every cell, and there may be thousands of cells
            return sys.modules.get(declaring) or importlib.import_module(declaring)
        where = f"{self.kind} '{name}' of the package '{_package(self._added[name])}': {declaring}"
        had_jax = "jax" in sys.modules
        try:
            module = importlib.import_module(declaring)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            raise ConfigurationError(None, f"{where} cannot be imported: {problem}") from error
        if "jax" in sys.modules and not had_jax:
            raise ConfigurationError(
                None,
                f"{where} imports JAX at its top level; import JAX inside the functions of the declaring module",
            )
        for word in self.needed:
            if not hasattr(module, word):
                raise ConfigurationError(
                    None,
                    f"{where} defines no '{word}'; the module of a {self.kind} must define "
                    f"{', '.join(self.needed)}",
                )
        return module

    def get(self, name: str) -> Part:
        """Import and return the module that computes `name`; raises as `part` does."""
        return cast(Part, importlib.import_module(self.module(name)))

    def module(self, name: str) -> str:
        """Return the dotted name of the module that computes `name`; raises as `part` does."""
        declaring = self._declaring(name)
        if name not in self.own:
            # finding the module imports its parent packages; importing it here reports errors in them properly
            self.part(name)
        return _computing(declaring)

    def _declaring(self, name: str) -> str:
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


@cache
def _computing(declaring: str) -> str:
    spec = importlib.util.find_spec(declaring)
    is_folder = spec is not None and spec.submodule_search_locations is not None
    return f"{declaring}.computation" if is_folder else declaring
