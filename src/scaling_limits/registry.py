"""Things found by name: imported when asked for, so that a cell depends on the code it uses and on no other.

A registered part is a file, or a folder whose `__init__.py` declares and whose `computation.py` computes. The
configuration reads the declarations, so what declares imports no JAX. Installed packages add theirs by entry points.
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
"""The contract of a room: a `Protocol` that the module of each part has."""


@dataclass(frozen=True)
class Registry(Generic[Part]):
    """Names of one kind of thing and the modules that declare them: the project's `own`, and those that installed
    packages add as entry points of `group`, if it has one. What declares defines at least what is `needed`.
    """

    kind: str
    own: Mapping[str, str]
    group: str | None = None
    needed: tuple[str, ...] = ()

    @cached_property
    def modules(self) -> Mapping[str, str]:
        """All names with the modules that declare them, the project's own first; none is imported.

        Raises:
            ConfigurationError: a package adds a name of the project or of another package, or what is no module.
        """
        return {**self.own, **{name: entry.module for name, entry in self._added.items()}}

    def part(self, name: str) -> ModuleType:
        """The module that declares `name`, imported.

        Raises:
            ConfigurationError: there is no such name; says the nearest one. Or a package's module cannot be imported,
                imports JAX, or lacks what is needed.
        """
        declaring = self._declaring(name)
        if name in self.own:
            # asked for at every cell, of which there may be many thousands
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
                f"{where} imports JAX when it is read; what declares imports it inside its functions",
            )
        for word in self.needed:
            if not hasattr(module, word):
                raise ConfigurationError(
                    None, f"{where} defines no '{word}'; a {self.kind} has {', '.join(self.needed)}"
                )
        return module

    def get(self, name: str) -> Part:
        """The module that computes `name`, imported; raises as `part` does."""
        return cast(Part, importlib.import_module(self.module(name)))

    def module(self, name: str) -> str:
        """The dotted name of the module that computes `name`; raises as `part` does."""
        declaring = self._declaring(name)
        if name not in self.own:
            # where it lies is known once the packages around it are imported: here with what goes wrong there
            self.part(name)
        return _computing(declaring)

    def _declaring(self, name: str) -> str:
        if name not in self.modules:
            raise ConfigurationError(None, unknown(self.kind, name, self.modules))
        return self.modules[name]

    @cached_property
    def _added(self) -> Mapping[str, EntryPoint]:
        """What installed packages add, in alphabetical order."""
        added: dict[str, EntryPoint] = {}
        found = entry_points(group=self.group) if self.group else ()
        for entry in sorted(found, key=lambda entry: (entry.name, _package(entry))):
            where = f"{self.group}: '{entry.name}' of the package '{_package(entry)}'"
            if entry.name in self.own:
                raise ConfigurationError(
                    None, f"{where} is one of the project; choose another name"
                )
            if entry.name in added:
                other = _package(added[entry.name])
                raise ConfigurationError(None, f"{where} is one of the package '{other}' as well")
            if entry.attr or entry.extras:
                raise ConfigurationError(
                    None, f"'{entry.value}' should be a module's name", place=where
                )
            added[entry.name] = entry
        return added


def _package(entry: EntryPoint) -> str:
    assert entry.dist is not None, "all that are found belong to one"
    name: str = entry.dist.name
    return name


@cache
def _computing(declaring: str) -> str:
    spec = importlib.util.find_spec(declaring)
    is_folder = spec is not None and spec.submodule_search_locations is not None
    return f"{declaring}.computation" if is_folder else declaring
