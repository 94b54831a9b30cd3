"""Things found by name: imported when asked for, so that a cell depends on the code it uses and on no other.

What is registered is a file, or a folder whose `__init__.py` declares and whose `computation.py` computes. The
configuration reads the declarations, so what declares imports no JAX.
"""

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from scaling_limits.errors import ConfigurationError, unknown


@dataclass(frozen=True)
class Registry:
    """Names of one kind of thing and the modules that declare them."""

    kind: str
    modules: Mapping[str, str]

    def part(self, name: str) -> ModuleType:
        """The module that declares `name`, imported.

        Raises:
            ConfigurationError: there is no such name; says the nearest one.
        """
        return importlib.import_module(self._declaring(name))

    def get(self, name: str) -> ModuleType:
        """The module that computes `name`, imported; raises as `part` does."""
        return importlib.import_module(self.module(name))

    def module(self, name: str) -> str:
        """The dotted name of the module that computes `name`; raises as `part` does."""
        return _computing(self._declaring(name))

    def _declaring(self, name: str) -> str:
        if name not in self.modules:
            raise ConfigurationError(unknown(self.kind, name, self.modules))
        return self.modules[name]


@cache
def _computing(declaring: str) -> str:
    spec = importlib.util.find_spec(declaring)
    is_folder = spec is not None and spec.submodule_search_locations is not None
    return f"{declaring}.computation" if is_folder else declaring
