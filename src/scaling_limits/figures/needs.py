"""Requirements of plots and claims on the cells of their grids, checked before any cell is computed."""

import typing
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from pydantic import BaseModel

from scaling_limits.cells import Cell
from scaling_limits.errors import ConfigurationError
from scaling_limits.figures.quantities import Axis, Quantity
from scaling_limits.figures.written import MisplacedError, Path
from scaling_limits.parameterisations.theory import depth_exponents_of

AXES: tuple[str, ...] = typing.get_args(Axis)
"""The axes of records, which a quantity may keep as columns."""


class GridCells(Protocol):
    """Protocol of the cells of a grid."""

    @property
    def points(self) -> Sequence[tuple[BaseModel, Cell]]:
        """The settings of each cell and the cell, as configured."""
        ...

    @property
    def columns(self) -> frozenset[str]:
        """The settings that at least one of the cells has."""
        ...

    def values(self, column: str) -> set[Hashable]:
        """Return all values of a column, both as configured and as written in the file."""
        ...

    def configured(self, column: str, only: Mapping[str, Hashable]) -> set[Hashable]:
        """Return the values of a column as configured, in the cells with the values `only` of other columns."""
        ...

    def written_values(self, column: str) -> set[Hashable] | None:
        """Return the values that the file lists for a column, or None if it lists none."""
        ...


Grids = Mapping[str, GridCells]


class Use(NamedTuple):
    """A quantity of the pooled cells of some grids, with one number for each combination of `columns` and seed."""

    path: Path
    grids: tuple[str, ...]
    quantity: Quantity
    columns: tuple[str, ...]
    only: Mapping[str, Hashable] = {}
    at: tuple[int, ...] = ()


def value_of(settings: object, column: str) -> Hashable:
    """Return a setting of a cell as a hashable value, or None if the cell does not have it."""
    value = getattr(settings, column, None)
    return value if isinstance(value, Hashable) else str(value)


def is_number(value: object) -> typing.TypeGuard[float]:
    """Return whether a value is a number; booleans are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def listed(values: Iterable[object]) -> str:
    """Return values as text, sorted by length and then alphabetically."""
    return ", ".join(sorted(map(str, values), key=lambda text: (len(text), text)))


def logarithm_problem(column: str, values: Iterable[Hashable], names: Sequence[str]) -> str | None:
    """Return why logarithms of a setting cannot be used in the grids `names`.

    Args:
        column: the setting.
        values: its values.
        names: the grids, for the message.

    Returns:
        The problem, or None if the values are at least two positive numbers.
    """
    values = set(values)
    invalid = [value for value in values if not (is_number(value) and value > 0)]
    named = " and ".join(names)
    if invalid:
        return f"{column} should be a positive number; {named} has {listed(invalid)}"
    if len(values) == 1:
        return f"{named} has a single {column}, {listed(values)}; two are needed"
    return None


def theory_problem(name: str, grid: GridCells) -> str | None:
    """Return why theory predicts no powers of depth for the cells of a grid, or None if it does."""
    for settings, _ in grid.points:
        if not getattr(settings, "residual", False):
            return f"the grid '{name}': powers of depth are predicted for residual networks only"
        try:
            depth_exponents_of(settings.model_dump())
        except ConfigurationError as error:
            return f"the grid '{name}': {error}"
    return None


def none_selected(
    path: Path, grid: str, column: str, values: Sequence[float], grids: Grids
) -> Iterator[MisplacedError]:
    """Yield a problem if a grid has none of the selected values of a column.

    Args:
        path: where the figure selects the values.
        grid: the grid's name.
        column: a setting; axes of records are ignored, since their values are unknown before cells are computed.
        values: the selected values.
        grids: the cells of every grid.
    """
    if column in AXES or column not in grids[grid].columns:
        return
    known = {value_of(settings, column) for settings, _ in grids[grid].points}
    if not known & set(values):
        shown = ", ".join(f"{value:g}" for value in values)
        problem = f"the grid '{grid}' has none of the values of {column} to be shown, {shown}"
        yield MisplacedError(path, f"{problem}; valid: {listed(known)}")
