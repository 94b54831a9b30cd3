"""Backpropagation of the loss."""

from typing import Literal

from scaling_limits.cells import AlgorithmSpec, Cell
from scaling_limits.networks.work import Count

OBSERVES = ("inputs", "cotangents", "fisher")
"""Quantities of every linear operation that backpropagation can pass to optimisers in addition to gradients."""


class Options(AlgorithmSpec):
    """The kind of Fisher information, for optimisers that need it."""

    fisher: Literal["exact", "sampled"] | None = None


def work(cell: Cell, count: Count) -> None:
    """Add the work of a forward and a backward pass."""
    count.backpropagation()
