"""Places in titles and captions, as `{num_inference_steps}`, that are filled from the cells which a figure shows."""

import re
from collections.abc import Callable

COUNTS = ("num_hidden_layers", "num_weight_layers")
"""Names other than settings: the numbers of layers at a depth, whatever it counts."""

_PLACE = re.compile(r"(?<![\\_^A-Za-z0-9}])\{([a-z_]+)\}")
"""A name in braces; braces of mathematics follow a letter, a backslash, `_`, `^` or another brace."""


def named(text: str) -> list[str]:
    """The names in a text's places."""
    return _PLACE.findall(text)


def filled(text: str, value: Callable[[str], str]) -> str:
    """Return the text with `value(name)` in place of every name."""
    return _PLACE.sub(lambda found: value(found[1]), text)
