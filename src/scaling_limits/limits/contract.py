"""The contract of a limit that replaces training: what its module defines."""

from typing import TYPE_CHECKING, Protocol

from scaling_limits.cells import Cell
from scaling_limits.datasets.loading import Arrays
from scaling_limits.measured import Measured


class Limit(Protocol):
    """Computes what training would measure in the limit of infinite size."""

    def refuse(self, cell: Cell, /) -> None:
        """Refuse a cell that the limit does not describe.

        Raises:
            ConfigurationError: names the setting.
        """

    def compute(self, cell: Cell, arrays: Arrays, /) -> dict[str, Measured]:
        """The metrics of the cell."""


if TYPE_CHECKING:
    from scaling_limits.limits import depth_recursion, linear_dmft, nngp, smooth_depth_recursion

    _CHECKED: tuple[Limit, ...] = (depth_recursion, linear_dmft, nngp, smooth_depth_recursion)
