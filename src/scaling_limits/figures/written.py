"""The written form of figures: the names that they may use, and errors with the path to what is wrong."""

from collections.abc import Mapping
from typing import Any, Protocol

Path = tuple[str | int, ...]
"""The keys from a figure to a place in it: `("plot", "panels", 0)`."""

Written = dict[str, Any]
"""A part of a figure as its file has it, names not yet replaced."""


class MisplacedError(Exception):
    """A part of a figure that is not valid, and the path to it."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(problem)
        self.path = path


class Names(Protocol):
    """The names that a figure may use; what is unknown raises MisplacedError with the path given."""

    @property
    def symbols(self) -> Mapping[str, str]:
        """The paper's symbols of columns."""
        ...

    def quantity(self, written: object, path: Path) -> object:
        """Return a quantity written out: of a name, of a name with changes, or as written."""
        ...

    def grids(self, written: object, path: Path) -> list[str]:
        """Return the grids of a node, or of several."""
        ...

    def titled(self, written: object, path: Path) -> list[tuple[str, str | None]]:
        """Return grids with their titles: below a node, in full for a list of nodes, or as written."""
        ...

    def every_grid(self) -> list[str]:
        """Return all grids in their order."""
        ...
