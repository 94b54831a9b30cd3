"""How the caps of a preset shrink what a place says itself."""

from typing import Any

from scaling_limits.configuration.axes import is_axis
from scaling_limits.configuration.models import Caps
from scaling_limits.configuration.trees import Leaf, Tree

_BOUNDED = ("width", "depth", "num_steps", "batch_size")


def shrunk(place: Tree, caps: Caps, way: str) -> Tree:
    """A place, and the grids below it, within the caps.

    Values of an axis above a cap are left out (the cap itself takes their place when none remain); single values are
    lowered to it. `seeds` keeps the first ones; `points` thins other axes evenly, ends included.
    """
    inside = Tree(place.origin, place)
    for key, word in place.items():
        if isinstance(word, Leaf):
            value = _within(key, word.value, caps)
            if value != word.value:
                inside[key] = Leaf(value, word.origin._replace(way=(*word.origin.way, way)))
    if "grids" in place:
        inside["grids"] = Tree(
            place.tree("grids").origin,
            {
                name: shrunk(node, caps, way) if isinstance(node, Tree) else node
                for name, node in place.tree("grids").items()
            },
        )
    return inside


def _within(key: str, value: Any, caps: Caps) -> Any:
    axis = is_axis(key, value)
    if key in _BOUNDED:
        cap = getattr(caps, key)
        if cap is None:
            return value
        if axis:
            return [item for item in value if not _is_number(item) or item <= cap] or [cap]
        return min(value, cap) if _is_number(value) else value
    if not axis:
        return value
    if key == "seed":
        return value[: caps.seeds]
    if caps.points is None or len(value) <= caps.points or not all(map(_is_number, value)):
        return value
    last = len(value) - 1
    return [value[round(index * last / (caps.points - 1))] for index in range(caps.points)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
