"""Finding lines, legends and colours in the artists of a figure."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D


def lines(ax: Axes, name: str) -> list[Line2D]:
    return [line for line in ax.lines if line.get_label() == name]


def legend(figure: Figure) -> dict[str, Any]:
    return {
        text.get_text(): handle
        for box in figure.legends
        for text, handle in zip(box.get_texts(), box.legend_handles, strict=True)
    }


def luminance(line: Line2D) -> float:
    red, green, blue, _ = to_rgba(line.get_color())
    return 0.30 * red + 0.59 * green + 0.11 * blue
