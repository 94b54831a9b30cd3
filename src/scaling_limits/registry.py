"""Things found by name: imported when asked for, so that a cell depends on the code it uses and on no other."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType

from scaling_limits.errors import ConfigurationError, unknown


@dataclass(frozen=True)
class Registry:
    """Names of one kind of thing and the modules that hold them."""

    kind: str
    modules: Mapping[str, str]

    def module(self, name: str) -> str:
        """The dotted name of the module of `name`.

        Raises:
            ConfigurationError: there is no such name; says the nearest one.
        """
        if name not in self.modules:
            raise ConfigurationError(unknown(self.kind, name, self.modules))
        return self.modules[name]

    def part(self, name: str) -> ModuleType:
        """The imported module that declares `name`; raises as `module` does."""
        return importlib.import_module(self.module(name))

    def get(self, name: str) -> ModuleType:
        """The imported module of `name`; raises as `module` does."""
        return importlib.import_module(self.module(name))
