"""The words that are settings: asked for here, and nowhere else, by all that composes them."""

from typing import Any

from scaling_limits.configuration.parts import fields

LISTS = frozenset({"input_shape", "frozen"})
"""Settings whose one value is a list: an axis of them is a list of lists."""


def names() -> frozenset[str]:
    """All settings."""
    return frozenset(fields())


def default(name: str) -> Any:
    """What a setting is that nobody says."""
    return fields()[name].default


def is_axis(name: str, value: Any) -> bool:
    """Whether this value of a setting is a list of values."""
    if not isinstance(value, list):
        return False
    return name not in LISTS or (bool(value) and all(isinstance(item, list) for item in value))
