"""Panels of maps with a common colour scale, under each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from scaling_limits.plotting import legends, page, style, text
from scaling_limits.plotting.legends import Handle

# Inches.
_LEFT, _RIGHT = 0.60, 0.78  # room for the y labels, and for the colour bar with its labels
_GAP, _BELOW = 0.10, 0.24  # between maps; under them, for tick labels
_HEADING, _TITLE_LINE = 0.15, 0.17  # heights of a line of each
_PANEL_GAP, _X_LABEL, _LEGEND = 0.07, 0.10, 0.22
_LINE, _UPRIGHT = 0.09, 0.055  # across a label: a line, and closer, where it stands upright
_LARGEST = 1.6  # a map
_ROOM = style.PAGE_WIDTH - _LEFT - _RIGHT

_WORST = 100.0  # a logarithmic colour scale ends at this multiple of its best value
_DIVERGED: dict[str, Any] = {
    "facecolor": "0.88",
    "edgecolor": "0.45",
    "hatch": "//////",
    "linewidth": 0.0,
}


@dataclass(frozen=True)
class MapAxes:
    """The axes of a panel's maps, from left to right (and line to line), and those of its colour bar."""

    axes: list[Axes]
    colour_bar: Axes


@dataclass(frozen=True)
class MapPage:
    """A figure made of panels of maps; more than `columns` maps take several lines."""

    figure: Figure
    panels: list[MapAxes]
    columns: int

    def label_axes(self, x_label: str, y_label: str) -> None:
        """Name x once, under the lowest line, and y at the left of each line."""
        for panel in self.panels:
            for index, ax in enumerate(panel.axes):
                ax.tick_params(axis="y", labelleft=index % self.columns == 0)
                if index % self.columns == 0:
                    ax.set_ylabel(y_label)
        bottom = (_LEGEND + 0.02) / self.figure.get_size_inches()[1]
        self.figure.text(self._centre(), bottom, x_label, ha="center", va="bottom", gid="x label")

    def legend(self, handles: dict[str, Handle]) -> None:
        """Explain marks and lines under the maps."""
        if handles:
            legends.add_line(self.figure, handles, self._centre())

    def _centre(self) -> float:
        return page.centre_of([ax for panel in self.panels for ax in panel.axes])


def columns_that_fit(num_maps: int, num_cells: int, cell_width: float) -> int:
    """How many maps fit on a line, with `num_cells` cells of `cell_width` inches each."""
    return max(1, min(num_maps, int((_ROOM + _GAP) / (num_cells * cell_width + _GAP))))


def lay_out(
    title: str,
    headings: Sequence[str | None],
    counts: Sequence[int],
    *,
    columns: int,
    aspect: float,
    xs: Sequence[Sequence[float]],
) -> MapPage:
    """Lay out `counts[panel]` maps under each heading, `columns` to a line.

    `aspect` is the height of a map over its width; `xs[panel]` are the values of its cells from left
    to right.
    """
    width = min((_ROOM - (columns - 1) * _GAP) / columns, _LARGEST)
    height = float(np.clip(width * aspect, 0.8, _LARGEST))
    page_width = max(_LEFT + columns * (width + _GAP) - _GAP + _RIGHT, page.NARROWEST)
    below = max(_below(values, width) for values in xs)
    line_height = _TITLE_LINE + height + below
    room = page_width - _LEFT
    wrapped = [text.wrap(words or "", style.NORMAL, room, bold=True) for words in headings]
    lines = [-(-count // columns) for count in counts]
    heights = [
        _PANEL_GAP + len(heading) * _HEADING + num_lines * line_height
        for heading, num_lines in zip(wrapped, lines, strict=True)
    ]
    figure, top = page.titled(title, page_width, [_X_LABEL, _LEGEND, *heights])
    panels = []
    for heading, count, num_lines in zip(wrapped, counts, lines, strict=True):
        top += _PANEL_GAP
        page.write(figure, heading, _LEFT, top, style.NORMAL)
        top += len(heading) * _HEADING + _TITLE_LINE
        panels.append(_panel_axes(figure, top, (width, height), count, columns, line_height))
        top += num_lines * line_height - _TITLE_LINE
    return MapPage(figure, panels, columns)


def _panel_axes(
    figure: Figure,
    top: float,
    size: tuple[float, float],
    count: int,
    columns: int,
    line_height: float,
) -> MapAxes:
    """The axes of `count` maps of a size, and of a colour bar as high as all of them."""
    width, height = size
    axes = []
    for index in range(count):
        line, column = divmod(index, columns)
        left = _LEFT + column * (width + _GAP)
        axes.append(page.add_axes(figure, left, top + line * line_height, width, height))
    right, below = _LEFT + min(count, columns) * (width + _GAP), (count - 1) // columns
    bar = page.add_axes(figure, right, top, 0.09, below * line_height + height)
    return MapAxes(axes, bar)


def cell_width(ax: Axes, num_cells: int) -> float:
    """The width in inches of one of `num_cells` cells."""
    return page.extent(ax)[0] / num_cells


def tick_values(ax: Axes, xs: Sequence[float], ys: Sequence[float]) -> None:
    """Put a tick at each index of a map; label as many values as fit beside each other.

    Those of x stand upright where not all fit otherwise.
    """
    wide, high = page.extent(ax)
    extents = _x_extents(xs, wide)
    _label(ax.xaxis, xs, extents or [_UPRIGHT] * len(xs), wide)
    ax.tick_params(axis="x", labelrotation=0 if extents else 90)
    _label(ax.yaxis, ys, [_LINE] * len(ys), high)
    ax.set_xlim(-0.5, len(xs) - 0.5)
    ax.set_ylim(-0.5, len(ys) - 0.5)


def colour_norm(
    arrays: Sequence[np.ndarray], limits: tuple[float, float] | None, *, log: bool
) -> Normalize:
    """One colour scale for several maps: `limits`, or the range of their finite values.

    A logarithmic range ends at 100 times its smallest value, so that nearly diverged cells leave
    the colours to the others; it is linear if a value is not positive.
    """
    values = np.concatenate([array[np.isfinite(array)] for array in arrays])
    low, high = limits or ((values.min(), values.max()) if values.size else (0.0, 1.0))
    if log and low > 0:
        high = high if limits else min(high, low * _WORST)
        return LogNorm(low, max(high, low * 1.1))
    return Normalize(low, high if high > low else low + 1.0)


def draw_map(ax: Axes, values: np.ndarray, norm: Normalize) -> None:
    """Draw values [len(ys), len(xs)] as cells, hatched where infinite, white where NaN."""
    rows, columns = values.shape
    edges = np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5
    ax.pcolormesh(*edges, np.ma.masked_invalid(values), norm=norm, cmap=colour_map())
    for y, x in np.argwhere(np.isinf(values)):
        ax.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, **_DIVERGED))


def diverged_handle() -> dict[str, Handle]:
    """The legend's entry for hatched cells."""
    return {"diverged (at least one seed)": Patch(**_DIVERGED)}


def colour_bar(panel: MapAxes, norm: Normalize, arrays: Sequence[np.ndarray], label: str) -> None:
    """Draw a panel's colour bar, with an arrow where values lie beyond its ends."""
    values = np.concatenate([array[np.isfinite(array)] for array in arrays])
    assert norm.vmin is not None
    assert norm.vmax is not None
    below = bool((values < norm.vmin).any())
    above = bool((values > norm.vmax).any())
    extend = {(True, True): "both", (True, False): "min", (False, True): "max"}.get(
        (below, above), "neither"
    )
    figure = panel.colour_bar.figure
    bar = figure.colorbar(
        ScalarMappable(norm, colour_map()), cax=panel.colour_bar, extend=extend, extendfrac=0.06
    )
    if isinstance(norm, LogNorm):
        places = text.log_ticks(norm.vmin, norm.vmax)
        bar.set_ticks(places, labels=[text.short(place) for place in places])
        bar.minorticks_off()
    bar.set_label(
        "\n".join(
            text.wrap(label, style.NORMAL, page.extent(panel.colour_bar)[1] + _BELOW + _TITLE_LINE)
        )
    )
    bar.outline.set_linewidth(0.5)


def colour_map() -> Colormap:
    """The colour map of all maps."""
    return colormaps[style.COLOUR_MAP]


def _x_extents(xs: Sequence[float], width: float) -> list[float] | None:
    """The widths of labels side by side, if those of all xs fit into `width` inches."""
    extents = [text.width_of(label, style.SMALL) for label in text.value_labels(xs)]
    return extents if len(_shown(xs, extents, width)) == len(xs) else None


def _below(xs: Sequence[float], width: float) -> float:
    """The room for tick labels under a map of `width` inches."""
    if _x_extents(xs, width):
        return _BELOW
    longest = max(text.width_of(label, style.SMALL) for label in text.value_labels(xs))
    return _BELOW - _LINE + longest


def _shown(values: Sequence[float], extents: Sequence[float], inches: float) -> list[int]:
    """The cells to label of an axis of some inches."""
    step = inches / len(values)
    return text.readable_subset(values, extents, [i * step for i in range(len(values))])


def _label(axis: Axis, values: Sequence[float], extents: Sequence[float], inches: float) -> None:
    labels, shown = text.value_labels(values), _shown(values, extents, inches)
    axis.set_ticks(shown, labels=[labels[i] for i in shown])
    axis.set_ticks([i for i in range(len(labels)) if i not in shown], minor=True)
