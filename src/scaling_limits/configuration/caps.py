"""Caps of a preset: upper bounds on the settings of bases, experiments and grids."""

from typing import TypeGuard

from scaling_limits.configuration.axes import is_axis
from scaling_limits.configuration.models import Caps
from scaling_limits.configuration.trees import Leaf, Tree

_BOUNDED = ("width", "depth", "num_steps", "batch_size")


def shrunk(section: Tree, caps: Caps, way: str) -> Tree:
    """Return a section, and the grids below it, with the caps applied.

    Values of an axis above a cap are removed (if none remain, the cap itself is used); single values are reduced to the
    cap. `seeds` keeps the first seeds; `points` thins other axes evenly, including both ends.

    Args:
        section: the settings of a base, an experiment or a grid.
        caps: the caps.
        way: the name of the caps in the origin of changed values.
    """
    capped = Tree(section.origin, section)
    for key, entry in section.items():
        if isinstance(entry, Leaf):
            value = _within(key, entry.value, caps)
            if value != entry.value:
                capped[key] = Leaf(value, entry.origin._replace(way=(*entry.origin.way, way)))
    if "grids" in section:
        capped["grids"] = Tree(
            section.tree("grids").origin,
            {
                name: shrunk(node, caps, way) if isinstance(node, Tree) else node
                for name, node in section.tree("grids").items()
            },
        )
    return capped


def _within(key: str, value: object, caps: Caps) -> object:
    if key in _BOUNDED:
        cap: int | None = getattr(caps, key)
        if cap is None:
            return value
        if is_axis(value, key):
            return [item for item in value if not _is_number(item) or item <= cap] or [cap]
        return min(value, cap) if _is_number(value) else value
    if not is_axis(value, key):
        return value
    if key == "seed":
        return value[: caps.seeds]
    if caps.points is None or len(value) <= caps.points or not all(map(_is_number, value)):
        return value
    last = len(value) - 1
    return [value[round(index * last / (caps.points - 1))] for index in range(caps.points)]


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
