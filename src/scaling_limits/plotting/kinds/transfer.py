"""Quantities over one hyperparameter, one line for each size: does the optimum move?

Made for pc-tp's Fig 1 and depth-mup's Fig 10.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scaling_limits.figures.plots.parts import GridPanel
from scaling_limits.figures.plots.transfer import TransferPlot, TransferQuantity
from scaling_limits.plotting import aggregation, legends, line_axes, line_panels, page, style, text
from scaling_limits.plotting.colours import Colour, size_colours
from scaling_limits.plotting.figure_folder import FigureFolder

# Inches.
_LEFT, _RIGHT, _BELOW = 0.58, 0.06, 0.34  # around all axes: for their labels
_GAP = 0.10  # between axes
_BETWEEN = 0.24  # bands of panels, for the numbers on the axis
_TITLE_LINE = 0.13
_LARGEST = 2.2  # a pair of axes
_ASPECT = 0.95  # its height over its width

_LINE: dict[str, Any] = {"linewidth": 0.9, "marker": "o", "markersize": 2.4, "markeredgewidth": 0.0}
_WORST = 100.0  # a logarithmic axis ends at this multiple of the median

_Lines = dict[float, pd.DataFrame]


@style.applied()
def draw(folder: FigureFolder) -> Figure:
    """A column of axes for each panel, a row with a common y axis for each quantity, in bands of
    `columns` panels.

    Means over seeds in bands of their range; a ring marks the best of each line, crosses
    at the worse end of the axis mark where a seed diverged. A logarithmic axis ends at a hundred
    times the median. Raises ScalingLimitsError if a grid, column or metric does not exist, or if a
    grid varies over more than `x`, `hue` and seed.
    """
    plot = folder.plot
    assert isinstance(plot, TransferPlot)
    bands = _bands(plot)
    shown = [
        [[_lines(folder, plot, row, panel.grid) for panel in band] for row in plot.rows]
        for band in bands
    ]
    every = [lines for band in shown for row in band for lines in row]
    colours = size_colours(size for lines in every for size in lines)
    sizes = legends.size_handles(plot.hue, colours, folder.results, plot.symbols, **_LINE)
    figure, axes = _panels(folder.title, plot, bands, [sizes, _explained(plot, every)])
    for band_axes, band in zip(axes, shown, strict=True):
        for row, row_axes, row_lines in zip(plot.rows, band_axes, band, strict=True):
            for ax, lines in zip(row_axes, row_lines, strict=True):
                _draw_panel(ax, plot.x, row, lines, colours)
            limits = row.limits or _common_limits(row_axes, row, row_lines)
            for ax, lines in zip(row_axes, row_lines, strict=True):
                line_axes.finish_x(ax, "", "log", pd.concat(lines.values())[plot.x])
                line_axes.finish_y(ax, row.label if ax is row_axes[0] else "", row.scale, limits)
                ax.tick_params(labelleft=ax is row_axes[0], labelbottom=row is plot.rows[-1])
    label = text.axis_label(plot.x, folder.results, plot.symbols)
    middle = page.centre_of(axes[0][0])
    bottom = axes[-1][-1][0].get_position().y0 - (_BELOW - 0.02) / figure.get_size_inches()[1]
    figure.text(middle, bottom, label, ha="center", va="bottom", gid="x label")
    return figure


def _bands(plot: TransferPlot) -> list[Sequence[GridPanel]]:
    """The panels that stand side by side."""
    columns = plot.columns or len(plot.panels)
    return [plot.panels[i : i + columns] for i in range(0, len(plot.panels), columns)]


def _lines(folder: FigureFolder, plot: TransferPlot, row: TransferQuantity, grid: str) -> _Lines:
    table = aggregation.seed_values(folder.results, grid, row.quantity, [plot.hue, plot.x])
    return aggregation.lines_of(table, plot.hue, None, grid)


def _explained(plot: TransferPlot, panels: Sequence[_Lines]) -> dict[str, legends.Handle]:
    """The legend's entries for rings, bands and crosses."""
    rows = [each for lines in panels for each in lines.values()]
    handles: dict[str, legends.Handle] = {}
    if any(row.best for row in plot.rows):
        handles |= legends.best_handle()
    if any(line_panels.several_seeds(each, plot.x) for each in rows):
        handles |= legends.band_handle()
    if any(np.isinf(each["value"]).any() for each in rows):
        handles |= legends.diverged_handle()
    return handles


def _panels(
    title: str,
    plot: TransferPlot,
    bands: Sequence[Sequence[GridPanel]],
    entries: Sequence[dict[str, legends.Handle]],
) -> tuple[Figure, list[list[list[Axes]]]]:
    """Empty axes, [band][row][column], under the titles of their columns, and the legend under them."""
    columns, rows = len(bands[0]), len(plot.rows)
    room = style.PAGE_WIDTH - _LEFT - _RIGHT + _GAP
    width = min(room / columns - _GAP, _LARGEST)
    height = _ASPECT * width
    page_width = max(_LEFT + columns * (width + _GAP) - _GAP + _RIGHT, page.NARROWEST)
    titles = [
        [text.wrap(panel.title or "", style.NORMAL, width) for panel in band] for band in bands
    ]
    title_heights = [max(map(len, words)) * _TITLE_LINE + 0.08 for words in titles]
    lines = legends.lines(entries, page_width)
    band_heights = [above + rows * (height + _GAP) for above in title_heights]
    heights = [*band_heights, (len(bands) - 1) * _BETWEEN, _BELOW, legends.height(lines)]
    figure, top = page.titled(title, page_width, heights)
    axes = []
    for band, words, above in zip(bands, titles, title_heights, strict=True):
        top += above
        axes.append(
            [
                _side_by_side(figure, len(band), top + row * (height + _GAP), width)
                for row in range(rows)
            ]
        )
        top += rows * (height + _GAP) + _BETWEEN
        for ax, title_lines in zip(axes[-1][0], words, strict=True):
            ax.set_title("\n".join(title_lines))
    legends.add_lines(figure, lines, axes[0][0])
    return figure, axes


def _side_by_side(figure: Figure, count: int, top: float, width: float) -> list[Axes]:
    lefts = [_LEFT + column * (width + _GAP) for column in range(count)]
    axes = [page.add_axes(figure, left, top, width, _ASPECT * width) for left in lefts]
    for ax in axes:
        sns.despine(ax=ax)
    return axes


def _draw_panel(
    ax: Axes,
    x: str,
    row: TransferQuantity,
    lines: _Lines,
    colours: dict[float, Colour],
) -> None:
    for size, rows in lines.items():
        look: dict[str, Any] = _LINE | {"color": colours[size], "label": row.quantity.metric}
        xs, means = line_panels.draw_means(ax, rows, x, log=row.scale == "log", zorder=2.0, **look)
        if row.best:
            line_panels.draw_best(ax, xs, means, row.best, colours[size])
    diverged = [(line_panels.diverged_at(rows, x), colours[size]) for size, rows in lines.items()]
    line_panels.draw_crosses(ax, diverged, row.best)


def _common_limits(
    axes: Sequence[Axes], row: TransferQuantity, panels: Sequence[_Lines]
) -> tuple[float, float] | None:
    for ax in axes:
        ax.set_yscale(row.scale)
    # a panel in which everything diverged has no say
    filled = [ax for ax in axes if np.isfinite(ax.dataLim.intervaly).all()]
    if not filled:
        return None
    lows, highs = zip(*(ax.get_ylim() for ax in filled), strict=True)
    values = pd.concat([rows["value"] for lines in panels for rows in lines.values()])
    values = values[np.isfinite(values)]
    if row.scale == "log" and (values > 0).any():
        return min(lows), min(max(highs), _WORST * float(values[values > 0].median()))
    return min(lows), max(highs)
