"""Backpropagation of the loss."""

from typing import Literal

from scaling_limits.cells import AlgorithmSpec, Cell
from scaling_limits.networks.work import Count

OBSERVES = ("inputs", "cotangents", "fisher")
"""What it gives optimisers beside gradients, of every linear operation."""


class Options(AlgorithmSpec):
    """Of which kind the Fisher information is, for an optimiser that needs it."""

    fisher: Literal["exact", "sampled"] | None = None


def work(cell: Cell, count: Count) -> None:
    """Up to the output and down again."""
    count.backpropagation()
