"""What the parts of a cell declare of their work and memory, with what holds for one that says nothing."""

from collections.abc import Callable, Mapping
from types import ModuleType

from scaling_limits import algorithms, limits, measurements, optimisers
from scaling_limits.cells import AlgorithmSpec, Cell
from scaling_limits.registry import Registry

Work = Callable[[Cell, object], None]
_REGISTRIES: Mapping[str, Registry[object]] = {
    "limit": limits.registry,
    "measurement": measurements.registry,
    "optimiser": optimisers.registry,
}


def part_work(part: ModuleType | None) -> Work:
    """`work(cell, count)` of a part; one that says nothing does what backpropagation does."""
    work: Work = getattr(part, "work", lambda cell, count: count.backpropagation())
    return work


def part_memory(part: ModuleType | None, cell: Cell, **absent: float) -> Mapping[str, float]:
    """`memory(cell)` of a part: copies of `weights` and of a batch's `units` and widest `windows`, `samples` of test
    data, or `bytes`; with what holds where it says nothing.
    """
    found: Mapping[str, float] = part.memory(cell) if part and hasattr(part, "memory") else {}
    return {**absent, **found}


def part(kind: str, name: str) -> ModuleType:
    """The module that declares a limit, a measurement or an optimiser."""
    return _REGISTRIES[kind].part(name)


def algorithm(spec: AlgorithmSpec) -> ModuleType | None:
    """The module that declares an algorithm; None for a user's own that declares nothing."""
    if spec.file is not None:
        return algorithms.own.declaration(spec.file)
    return algorithms.registry.part(spec.name)
