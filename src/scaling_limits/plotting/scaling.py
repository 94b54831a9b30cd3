"""A quantity against the width or the depth, with what theory expects and guide lines.

Made for pcn-limits' Fig 3, where the rescaling of the energy tends to one as depth over width.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from scaling_limits.plotting import charts, page, style, tables, text
from scaling_limits.plotting.figure_folder import FigureFolder
from scaling_limits.plotting.specs import ScalingPlot, ScalingRow, Slope
from scaling_limits.records import Results

_MARKERS = ("o", "s", "D", "^")  # one for each column that colours
_EXPECTED: dict[str, Any] = {"linestyle": (0, (3.5, 1.6)), "linewidth": 0.9}
_GUIDE: dict[str, Any] = {"color": "0.6", "linewidth": 0.8}


@dataclass(frozen=True)
class _Panel:
    """What a row shows: tables with the columns `row.hue`, `row.x`, and `mean`, `std` or `value`."""

    row: ScalingRow
    measured: pd.DataFrame
    expected: pd.DataFrame | None


@style.applied()
def draw(folder: FigureFolder) -> Figure:
    """One panel for each row of the plot; means over seeds with bars of one standard deviation.

    Raises ScalingLimitsError if a grid or column does not exist, or if a grid varies over more than
    x, `hue` and seed.
    """
    plot = folder.plot
    assert isinstance(plot, ScalingPlot)
    panels = [_panel(folder.results, row, plot) for row in plot.rows]
    columns = list(dict.fromkeys(row.hue for row in plot.rows))
    colours, looks = {}, {}
    for index, column in enumerate(columns):
        used = [panel.measured[column] for panel in panels if panel.row.hue == column]
        sizes = sorted(pd.concat(used).unique().tolist())
        colours[column] = charts.size_colours(sizes, column, index)
        looks[column] = {
            "marker": _MARKERS[index % len(_MARKERS)],
            "markersize": 3.0,
            "linestyle": "none" if plot.expected else "-",
            "linewidth": 0.8,
        }
    groups = [
        charts.size_handles(column, colours[column], folder.results, plot.symbols, **looks[column])
        for column in columns
    ]
    titles = [panel.row.title for panel in panels]
    figure, axes = charts.chart_grid(folder.title, titles, [*groups, _explained(panels, plot)])
    for ax, panel in zip(axes, panels, strict=True):
        ax.set_yscale(plot.scale)
        _draw_panel(ax, panel, colours[panel.row.hue], looks[panel.row.hue])
        charts.finish_sizes(
            ax,
            text.axis_label(panel.row.x, folder.results, plot.symbols),
            tables.axis_values(folder.results, panel.row.grid, panel.row.x),
        )
        charts.finish_y(ax, plot.quantity.label or plot.quantity.metric.replace("_", " "))
    return figure


def _panel(results: Results, row: ScalingRow, plot: ScalingPlot) -> _Panel:
    by = [row.hue, row.x]
    measured = tables.spread(tables.seed_values(results, row.grid, plot.quantity, by), by)
    if plot.expected is None:
        return _Panel(row, measured, None)
    return _Panel(row, measured, tables.seed_means(results, row.grid, plot.expected, by))


def _explained(panels: list[_Panel], plot: ScalingPlot) -> dict[str, page.Handle]:
    handles: dict[str, page.Handle] = {}
    if plot.expected:
        expected = Line2D([], [], color="0.35", **_EXPECTED)
        handles[plot.expected.label or plot.expected.metric.replace("_", " ")] = expected
    if any(panel.measured["std"].notna().any() for panel in panels):
        handles |= charts.bar_handle()
    if any(np.isinf(panel.measured["mean"]).any() for panel in panels):
        handles |= charts.diverged_handle()
    return handles


def _draw_panel(
    ax: Axes, panel: _Panel, colours: dict[float, charts.Colour], look: dict[str, Any]
) -> None:
    row = panel.row
    for size, colour in colours.items():
        table = panel.measured[panel.measured[row.hue] == size]
        x, mean, std = (table[name].to_numpy(dtype=float) for name in (row.x, "mean", "std"))
        shown = charts.showable(ax, mean)
        ax.plot(x[shown], mean[shown], color=colour, label="measured", **look)
        several = shown & np.isfinite(std)
        low, high = charts.interval(ax, mean[several], std[several])
        ax.vlines(x[several], low, high, color=colour, linewidth=0.8)
        diverged = x[np.isinf(mean)]
        top = np.full(len(diverged), 0.96)
        ax.plot(
            diverged,
            top,
            color=colour,
            transform=ax.get_xaxis_transform(),
            label="diverged",
            **charts.DIVERGED,
        )
        if panel.expected is not None:
            table = panel.expected[panel.expected[row.hue] == size]
            x, value = (table[name].to_numpy(dtype=float) for name in (row.x, "value"))
            shown = charts.showable(ax, value)
            ax.plot(x[shown], value[shown], color=colour, label="expected", zorder=1.8, **_EXPECTED)
    for slope in row.slopes:
        _draw_guide(ax, slope, panel)


def _draw_guide(ax: Axes, slope: Slope, panel: _Panel) -> None:
    """A line under all points, named at its lower end."""
    points = panel.measured[charts.showable(ax, panel.measured["mean"].to_numpy(dtype=float))]
    if points.empty:
        return
    sizes = points[panel.row.x].astype(float)
    factor = 0.6 * (points["mean"] / sizes**slope.exponent).min()
    ends = np.array([sizes.min(), sizes.max()])
    values = factor * ends**slope.exponent
    lower = int(np.argmin(values))
    ax.plot(ends, values, label=slope.label, zorder=1.5, **_GUIDE)
    ax.annotate(
        slope.label,
        (ends[lower], values[lower]),
        xytext=(-9 if lower else 9, 1),
        textcoords="offset points",
        ha="right" if lower else "left",
        va="top",
        size=style.SMALL,
        color="0.4",
    )
