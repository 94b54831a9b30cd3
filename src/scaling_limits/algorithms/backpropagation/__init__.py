"""Backpropagation of the loss."""

from typing import Literal

from scaling_limits.cells import AlgorithmSpec, Cell
from scaling_limits.networks.work import Count

OBSERVES = ("inputs", "cotangents", "fisher")
"""Arrays of every linear operation that optimisers receive in addition to gradients."""


class Options(AlgorithmSpec):
    """The kind of Fisher information, for an optimiser that needs it."""

    fisher: Literal["exact", "sampled"] | None = None


def work(cell: Cell, count: Count) -> None:
    """Up to the output and down again."""
    count.backpropagation()
