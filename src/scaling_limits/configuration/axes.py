"""Axes: settings with a list of values, and the points of their product."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

LISTS = frozenset({"augmentation", "input_shape", "frozen"})
"""Settings whose one value is a list: an axis of them is a list of lists."""


def is_axis(value: object, name: str) -> TypeGuard[list[object]]:
    """Whether a value of a setting is a list of values."""
    if not isinstance(value, list):
        return False
    return name not in LISTS or (bool(value) and all(isinstance(item, list) for item in value))


def problem(name: str, value: object) -> str | None:
    """Return what is wrong with an axis: it has no value, or one of them twice. None if it is valid or no axis."""
    if value == [] and name not in LISTS:
        return "a list of values needs at least one"
    seen: list[object] = []
    for item in value if is_axis(value, name) else ():
        number = _number(item)
        if number in seen:
            return f"the value {item} occurs twice"
        seen.append(number)
    return None


def points(settings: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """Yield the settings of each point of the product of all axes; the last axis varies fastest."""
    axes = {name: v if is_axis(v, name) else [v] for name, v in settings.items()}
    for values in itertools.product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def _number(value: Any) -> object:
    """Return a value as a number if it is one: 0.1 and 1e-1 are equal."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return value
