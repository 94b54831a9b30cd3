"""What marks of points look like, and the dashes of lines."""

from typing import Any

OPTIMUM: dict[str, Any] = {
    "marker": "o",
    "markersize": 5.0,
    "markerfacecolor": "white",
    "markeredgewidth": 1.2,
    "linestyle": "none",
}
DIVERGED: dict[str, Any] = {"marker": "x", "markersize": 3.5, "linestyle": "none"}
LINES: dict[str, Any] = {"solid": "-", "dashed": (0, (3.5, 1.6)), "dotted": (0, (1, 1.3))}
