"""Types of the entries of a figure in a file, checked before short forms are expanded: text, lists and mappings.

A shape is `str` (text), `int` (a whole number), `[shape]` (a list of it), `{"*": shape}` (a mapping to it), `{"key":
shape}` (a mapping whose keys have these shapes if present; other keys may be anything) or a tuple of alternatives. A
key without a value counts as absent.
"""

from collections.abc import Iterator

from scaling_limits.figures.written import MisplacedError, Path

Shape = type | list["Shape"] | dict[str, "Shape"] | tuple["Shape", ...]

TEXTS: Shape = (str, [str])
QUANTITY: Shape = (str, {"quantity": str, "metric": str})
GRIDS: Shape = (str, [str], {"*": str})
BY_GRID: tuple[Shape, ...] = ([{}], {"*": {}})
"""Panels: a list, or a mapping from grids."""
SYMBOLS: Shape = {"*": str}
RULE: dict[str, Shape] = {
    **dict.fromkeys(("quantity", "reference_quantity"), QUANTITY),
    **dict.fromkeys(("grids", "control", "reference"), TEXTS),
}
"""The shape of a claim below its kind."""


def misfits(value: object, shape: Shape, path: Path) -> Iterator[MisplacedError]:
    """Yield the values whose type does not match their shape, each with its path.

    Args:
        value: the value.
        shape: its shape.
        path: the path to the value.
    """
    if _fits(value, shape):
        # its content must match the first alternative that matches
        shape = next(s for s in _alternatives(shape) if _fits(value, s))
        if isinstance(shape, list) and isinstance(value, list):
            for index, item in enumerate(value):
                yield from misfits(item, shape[0], (*path, index))
        elif isinstance(shape, dict) and isinstance(value, dict):
            for key, item in value.items():
                inner = shape.get(key, shape.get("*"))
                if inner is not None and item is not None:
                    yield from misfits(item, inner, (*path, key))
    else:
        *names, last = (_name(alternative) for alternative in _alternatives(shape))
        valid = f"{', '.join(names)} or {last}" if names else last
        text = str in _alternatives(shape) and not isinstance(value, dict | list)
        hint = "; put it in quotes to have it as text" if text else ""
        yield MisplacedError(path, f"should be {valid}, not {value!r:.80}{hint}")


def _alternatives(shape: Shape) -> tuple[Shape, ...]:
    return shape if isinstance(shape, tuple) else (shape,)


def _fits(value: object, shape: Shape) -> bool:
    """Return whether a value has the outermost type of a shape."""
    kinds = tuple(s if isinstance(s, type) else type(s) for s in _alternatives(shape))
    return isinstance(value, kinds) and not isinstance(value, bool)


def _name(shape: Shape) -> str:
    kind = shape if isinstance(shape, type) else type(shape)
    return {str: "text", int: "a whole number", list: "a list", dict: "a mapping"}[kind]
