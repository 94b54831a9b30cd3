"""Quantities against the size of networks, or along their depth, with limits and guide lines.

Made for pcn-limits' Fig 3, where the rescaling of the energy tends to one as depth over width, for
depth-mup's Figs 8, 9 and 17, where networks tend to their limit, and for pc-tp's Fig 2.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.figures.plots.scaling import ScalingPlot, SizeLine, SizePanel, Slope
from scaling_limits.plotting import aggregation, legends, line_axes, line_panels, style, text
from scaling_limits.plotting.colours import BLACK, Colour, label_colours, size_colours
from scaling_limits.plotting.figure_folder import FigureFolder
from scaling_limits.records import Results

_MARKERS = ("o", "s", "D", "^")  # one for each column that colours
_MARKER: dict[str, Any] = {"markersize": 3.0, "markeredgewidth": 0.0}
_LOOKS: dict[str, dict[str, Any]] = {
    "markers": {"linestyle": "none"},
    "solid": {"linestyle": style.LINES["solid"], "linewidth": 0.8},
    "dashed": {"linestyle": style.LINES["dashed"], "linewidth": 0.9, "marker": "none"},
    "dotted": {"linestyle": style.LINES["dotted"], "linewidth": 0.9, "marker": "none"},
}
_GUIDE: dict[str, Any] = {"color": "0.6", "linewidth": 0.8, "zorder": 1.5}


@dataclass(frozen=True)
class _Line:
    """What a panel shows of a grid: for each value of its hue, or for its label, a row for each point and seed."""

    panel: SizePanel
    line: SizeLine
    rows: dict[float | str | None, pd.DataFrame]

    @property
    def points(self) -> pd.DataFrame:
        """The rows of all values of the hue."""
        return pd.concat(self.rows.values())


@style.applied()
def draw(folder: FigureFolder) -> Figure:
    """The panels of the plot; means over seeds with bars of their range.

    Raises ScalingLimitsError if a grid, column or metric does not exist, if a grid varies over more
    than x, `hue` and seed, if it has none of a panel's values, or several x in a line `across`.
    """
    plot = folder.plot
    assert isinstance(plot, ScalingPlot)
    panels = [[_line(folder.results, panel, line) for line in panel.lines] for panel in plot.panels]
    lines = [line for panel in panels for line in panel]
    colours: dict[str | None, dict[Any, Colour]] = {}
    markers: dict[str | None, dict[str, Any]] = {}
    legend = []
    for which, column in enumerate(dict.fromkeys(panel.hue for panel in plot.panels)):
        shown = [line for line in lines if line.panel.hue == column]
        if column is None:
            colours[None] = label_colours(str(line.line.label) for line in shown)
            markers[None] = _MARKER | {"marker": _MARKERS[0]}
            continue
        sizes = {size for line in shown for size in line.rows if isinstance(size, float | int)}
        colours[column] = size_colours(sizes, which)
        markers[column] = _MARKER | {"marker": _MARKERS[which % len(_MARKERS)]}
        joined = any(line.line.style == "solid" for line in shown)
        look = markers[column] | _LOOKS["solid" if joined else "markers"]
        names = folder.results, plot.symbols, plot.hue_labels
        legend.append(legends.size_handles(column, colours[column], *names, **look))
    titles = [panel.title for panel in plot.panels]
    figure, axes = line_panels.lay_out(folder.title, titles, [*legend, _explained(lines)])
    for ax, panel, shown in zip(axes, plot.panels, panels, strict=True):
        _draw_panel(ax, shown, colours[panel.hue], markers[panel.hue])
        for slope in panel.slopes:
            _draw_guide(ax, slope, shown)
        label = panel.x_label or text.axis_label(panel.x, folder.results, plot.symbols)
        line_axes.finish_x(ax, label, panel.x_scale, _own_points(shown)[panel.x])
        line_axes.finish_y(ax, panel.label, panel.scale, panel.limits)
    return figure


def _line(results: Results, panel: SizePanel, line: SizeLine) -> _Line:
    by = [panel.hue, panel.x] if panel.hue and line.each else [panel.x]
    table = aggregation.seed_values(results, line.grid, line.quantity, [*by, *panel.over])
    if panel.over:
        table = aggregation.best_over(table, by, panel.over, panel.best)
    rows: dict[float | str | None, pd.DataFrame]
    rows = {line.label if panel.hue is None else None: table}
    if panel.hue and line.each:
        rows = dict(aggregation.lines_of(table, panel.hue, panel.values, line.grid).items())
    if line.across and any(points[panel.x].nunique() > 1 for points in rows.values()):
        raise ScalingLimitsError(
            f"the grid '{line.grid}' has several values of '{panel.x}': it cannot go across"
        )
    if panel.relative_to_first:
        rows = {size: _relative(points, panel.x) for size, points in rows.items()}
    return _Line(panel, line, rows)


def _relative(rows: pd.DataFrame, x: str) -> pd.DataFrame:
    first = rows.loc[rows[x] == rows[x].min(), "value"].mean()
    # relative to what diverged everything did
    return rows.assign(value=rows["value"] / first if np.isfinite(first) else np.inf)


def _explained(lines: Sequence[_Line]) -> dict[str, legends.Handle]:
    """The legend's entries for styles of lines, bars and crosses."""
    handles: dict[str, legends.Handle] = {}
    for spec in (line.line for line in lines):
        if spec.label:
            look = _MARKER | {"marker": "o"} | _LOOKS[spec.style]
            handles[spec.label] = Line2D([], [], color="0.35" if spec.each else "black", **look)
    handles |= _labelled(lines)
    shown = [(line, rows) for line in lines for rows in line.rows.values()]
    if any(line.panel.ring for line in lines):
        handles |= legends.best_handle()
    if any(
        line_panels.several_seeds(rows, line.panel.x)
        for line, rows in shown
        if not line.line.across
    ):
        handles |= legends.bar_handle()
    if any(np.isinf(rows["value"]).any() for _, rows in shown):
        handles |= legends.diverged_handle()
    return handles


def _labelled(lines: Sequence[_Line]) -> dict[str, legends.Handle]:
    """The legend's entries for lines that have a colour of their own."""
    shown = [line.line for line in lines if line.panel.hue is None]
    colours = label_colours(str(line.label) for line in shown)
    look = _MARKER | {"marker": _MARKERS[0]}
    return {
        str(line.label): Line2D([], [], color=colours[str(line.label)], **look | _LOOKS[line.style])
        for line in shown
    }


def _own_points(lines: Sequence[_Line]) -> pd.DataFrame:
    """The points of a panel's lines that have an x of their own."""
    return pd.concat([line.points for line in lines if not line.line.across])


def _draw_panel(
    ax: Axes,
    lines: Sequence[_Line],
    colours: dict[Any, Colour],
    marker: dict[str, Any],
) -> None:
    panel = lines[0].panel
    x, log = panel.x, panel.scale == "log"
    ends = _own_points(lines)[x].agg(["min", "max"])
    diverged = []
    for line in lines:
        for size, rows in line.rows.items():
            colour = BLACK if size is None else colours[size]
            look = marker | _LOOKS[line.line.style]
            look |= {"color": colour, "zorder": 2.0, "label": line.line.quantity.metric}
            if line.line.across:
                level = rows["value"].mean()
                if np.isfinite(level):
                    ax.plot(ends, [level, level], **look | {"marker": "none", "zorder": 1.8})
                continue
            xs, means = line_panels.draw_means(ax, rows, x, log=log, bars=True, **look)
            if panel.ring:
                line_panels.draw_best(ax, xs, means, panel.ring, colour)
            diverged.append((line_panels.diverged_at(rows, x), colour))
    line_panels.draw_crosses(ax, diverged, panel.ring or (panel.best if panel.over else None))


def _draw_guide(ax: Axes, slope: Slope, lines: Sequence[_Line]) -> None:
    """A line under all points, as far as it stays close to them, named at its right end.

    There several do not meet.
    """
    points = _own_points(lines)
    points = points[np.isfinite(points["value"]) & (points["value"] > 0)]
    if points.empty:
        return
    xs, values = (points[column].to_numpy(dtype=float) for column in (lines[0].panel.x, "value"))
    factor = 0.6 * (values / xs**slope.exponent).min()
    ends = np.array([xs.min(), xs.max()])
    heights = factor * ends**slope.exponent
    lower, lowest = int(np.argmin(heights)), 0.5 * values.min()
    if heights[lower] < lowest:
        ends[lower], heights[lower] = (lowest / factor) ** (1 / slope.exponent), lowest
    ax.plot(ends, heights, label=slope.label, **_GUIDE)
    ax.annotate(
        slope.label,
        (ends[-1], heights[-1]),
        xytext=(2, 0),
        textcoords="offset points",
        ha="left",
        va="center",
        size=style.SMALL,
        color="0.4",
    )
