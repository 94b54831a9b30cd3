"""Access to the work and memory that parts declare, with defaults for parts that declare nothing."""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from scaling_limits import limits, measurements, optimisers
from scaling_limits.cells import Cell
from scaling_limits.registry import Registry

Work = Callable[[Cell, Any], None]
_REGISTRIES: Mapping[str, Registry[object]] = {
    "limit": limits.registry,
    "measurement": measurements.registry,
    "optimiser": optimisers.registry,
}


def part_work(part: ModuleType) -> Work:
    """Return a part's function `work(cell, count)`; the default is the work of backpropagation."""
    work: Work = getattr(part, "work", lambda cell, count: count.backpropagation())
    return work


def part_memory(part: ModuleType, cell: Cell, **absent: float) -> Mapping[str, float]:
    """Return a part's `memory(cell)`, completed by defaults.

    Args:
        part: the module of the part.
        cell: the cell.
        **absent: the defaults of entries that the part does not declare.

    Returns:
        Copies of `weights`, of a batch's `units` and of its widest `windows`, the number of test `samples`, or `bytes`.
    """
    declared: Mapping[str, float] = part.memory(cell) if hasattr(part, "memory") else {}
    return {**absent, **declared}


def part(kind: str, name: str) -> ModuleType:
    """Return the module that declares a limit, a measurement or an optimiser."""
    return _REGISTRIES[kind].part(name)
