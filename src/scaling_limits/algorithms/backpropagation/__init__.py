"""Backpropagation of the loss."""

from typing import Any

from scaling_limits.cells import Cell


def work(cell: Cell, count: Any) -> None:
    """Up to the output and down again."""
    count.backpropagation()
