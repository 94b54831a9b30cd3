"""The contract of a limit that replaces training: what its module defines."""

from typing import TYPE_CHECKING, Protocol

from scaling_limits.cells import Cell
from scaling_limits.datasets.loading import Arrays
from scaling_limits.measured import Measured


class Limit(Protocol):
    """A limit computes what training would measure at infinite size."""

    def refuse(self, cell: Cell, /) -> None:
        """Reject a cell that the limit does not describe.

        Raises:
            ConfigurationError: naming the setting.
        """

    def compute(self, cell: Cell, arrays: Arrays, /) -> dict[str, Measured]:
        """Compute the metrics of the cell."""


if TYPE_CHECKING:
    from scaling_limits.limits import depth_recursion, linear_dmft, nngp, smooth_depth_recursion

    _CHECKED: tuple[Limit, ...] = (depth_recursion, linear_dmft, nngp, smooth_depth_recursion)
