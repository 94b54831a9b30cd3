"""Placeholders in titles and captions, such as `{num_inference_steps}`, filled from the cells that a figure shows."""

import re
from collections.abc import Callable

COUNTS = ("num_hidden_layers", "num_weight_layers")
"""Names that placeholders accept in addition to settings: the numbers of layers that follow from the depth."""

_PLACEHOLDER = re.compile(r"(?<![\\_^A-Za-z0-9}])\{([a-z_]+)\}")
"""A name in braces. Braces of mathematics follow a letter, a digit, a backslash, `_`, `^` or another brace."""


def named(text: str) -> list[str]:
    """Return the names of the placeholders in a text."""
    return _PLACEHOLDER.findall(text)


def filled(text: str, value: Callable[[str], str]) -> str:
    """Return the text with each placeholder replaced by `value(name)`."""
    return _PLACEHOLDER.sub(lambda match: value(match[1]), text)
