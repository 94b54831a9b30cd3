"""The written form of figures: the names that they may use, and errors with the path to the invalid entry."""

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

Path = tuple[str | int, ...]
"""The keys from a figure to an entry: `("plot", "panels", 0)`."""

Written = dict[str, Any]
"""A part of a figure as written in its file, before names are replaced."""


class MisplacedError(Exception):
    """An invalid part of a figure, with its path."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(problem)
        self.path = path


def entries(written: list[T] | Mapping[str, T] | None) -> list[tuple[str | int, T]]:
    """Return the entries of a list, or of a mapping from names, with their keys and without entries that are None."""
    items = written.items() if isinstance(written, Mapping) else enumerate(written or ())
    return [(key, entry) for key, entry in items if entry is not None]


class Names(Protocol):
    """Protocol of the names that a figure may use; unknown names raise MisplacedError with the given path."""

    @property
    def symbols(self) -> Mapping[str, str]:
        """The paper's symbols of columns."""
        ...

    def quantity(self, written: object, path: Path) -> object:
        """Return the definition of a quantity that is given by name, by name with changes, or in full."""
        ...

    def axis(self, written: object) -> Written:
        """Return the keys of a panel, such as `limits`, that the definition of a quantity given by name states."""
        ...

    def grids(self, written: object, path: Path) -> list[str]:
        """Return the grids below a node, or below several."""
        ...

    def titled(self, written: object, path: Path) -> list[tuple[str, str | None]]:
        """Return grids with their titles.

        Titles are relative to a single node, complete for a list of nodes, and as written for a mapping.
        """
        ...

    def every_grid(self) -> list[str]:
        """Return all grids in order."""
        ...
