"""Sorting of figures' names."""

import re
from collections.abc import Iterable

from scaling_limits.errors import unknown


def natural(name: str) -> list[tuple[str, int]]:
    """Return a sort key that orders numbers inside names by value.

    >>> sorted(["fig10", "figS2", "fig2", "figS10"], key=natural)
    ['fig2', 'fig10', 'figS2', 'figS10']
    """
    return [(word, int(digits or 0)) for word, digits in re.findall(r"(\D*)(\d*)", name)]


def unknown_figure(name: str, valid: Iterable[str]) -> str:
    """Return the error message for an unknown figure, with the valid figures in natural order.

    >>> unknown_figure("fig3", ["fig10", "fig2"])
    "unknown figure 'fig3'; did you mean 'fig2'? Valid: fig2, fig10"
    """
    names = sorted(valid, key=natural)
    message, valid_, _ = unknown("figure", name, names).partition(" Valid: ")
    return f"{message}{valid_}{', '.join(names)}"
