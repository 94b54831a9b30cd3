"""The names of all settings; the only source of these names for modules that compose settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic.fields import FieldInfo

from scaling_limits.algorithms import own
from scaling_limits.configuration.parts import fields


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """All settings that the project's parts and user-defined algorithms declare."""

    user_algorithms: Mapping[str, Path]

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all settings."""
        return frozenset(self._fields)

    def default(self, name: str) -> object:
        """Return the default of a setting."""
        return self._fields[name].default

    @cached_property
    def _fields(self) -> dict[str, FieldInfo]:
        known = dict(fields())
        for name, path in self.user_algorithms.items():
            own.check(name, path.as_posix())
            module = own.declaration(path.as_posix())
            if module is not None:
                known |= module.Settings.model_fields
        return known
