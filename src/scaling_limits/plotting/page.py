"""A page whose parts are placed in inches from its top left corner: what all figures share.

Panels keep their size whatever their labels are, and nothing overlaps.
"""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scaling_limits.plotting import style, text

NARROWEST = 4.2  # a page, in inches
_TITLE = 0.19  # the height of one of its lines


def titled(title: str, width: float, heights: Sequence[float]) -> tuple[Figure, float]:
    """A page with its title and room for parts of `heights` under it, and where that begins."""
    titles = text.wrap(title, style.LARGE, width - 0.1, bold=True)
    top = len(titles) * _TITLE
    total = top
    for height in heights:
        total += height
    figure = Figure(figsize=(width, total))
    write(figure, titles, 0.06, 0.02, style.LARGE)
    return figure, top


def add_axes(figure: Figure, left: float, top: float, wide: float, high: float) -> Axes:
    """Axes with their top left corner at (left, top)."""
    page, total = figure.get_size_inches()
    return figure.add_axes((left / page, 1 - (top + high) / total, wide / page, high / total))


def write(figure: Figure, lines: Sequence[str], left: float, top: float, size: float) -> None:
    """Bold lines of text with their top left corner at (left, top)."""
    page, total = figure.get_size_inches()
    x, y = left / page, 1 - top / total
    figure.text(x, y, "\n".join(lines), size=size, weight="bold", va="top")


def centre_of(axes: Sequence[Axes]) -> float:
    """The middle of some axes from left to right, relative to the page."""
    boxes = [ax.get_position() for ax in axes]
    return float(min(box.x0 for box in boxes) + max(box.x1 for box in boxes)) / 2


def extent(ax: Axes) -> tuple[float, float]:
    """The width and height of axes in inches."""
    box, figure = ax.get_position(), ax.get_figure(root=True)
    assert figure is not None
    wide, high = figure.get_size_inches()
    return box.width * wide, box.height * high
