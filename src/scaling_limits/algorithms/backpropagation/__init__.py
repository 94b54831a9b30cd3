"""Backpropagation of the loss."""

from typing import Any

from scaling_limits.cells import Cell

OBSERVES = ("inputs", "cotangents")
"""What it gives optimisers beside gradients, of every linear operation."""


def work(cell: Cell, count: Any) -> None:
    """Up to the output and down again."""
    count.backpropagation()
