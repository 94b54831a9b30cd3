"""Metrics over the training step, side by side, in colours ordered by size.

Made for pcn-limits' Fig 2, where the rescaling, energy and gradients of predictive coding tend to
those of backpropagation as the width grows.
"""

from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from scaling_limits.figures.plots.curves import CurveLine, CurvesPlot
from scaling_limits.plotting import aggregation, legends, line_axes, line_panels, style, text
from scaling_limits.plotting.colours import BLACK, Colour, size_colours
from scaling_limits.plotting.figure_folder import FigureFolder
from scaling_limits.records import Results


@dataclass(frozen=True)
class _Curve:
    """A metric up to the step `diverged` where a seed is no longer finite; `size` colours it."""

    line: CurveLine
    size: float | None
    rows: pd.DataFrame
    diverged: float | None


@style.applied()
def draw(folder: FigureFolder) -> Figure:
    """The panels of the plot; means over seeds in bands of their range.

    A line ends where a seed is no longer finite, and is a cross at the edge if none ever was. Raises
    ScalingLimitsError if a grid, column or metric does not exist, if a grid varies over more than
    `hue` and seed, or if it has none of the plot's sizes.
    """
    plot = folder.plot
    assert isinstance(plot, CurvesPlot)
    panels = [
        [curve for line in panel.lines for curve in _curves(folder.results, line, plot)]
        for panel in plot.panels
    ]
    curves = [curve for panel in panels for curve in panel]
    colours = size_colours(curve.size for curve in curves if curve.size is not None)
    sizes = legends.size_handles(plot.hue, colours, folder.results, plot.symbols)
    marks: dict[str, legends.Handle] = {
        curve.line.label: Line2D([], [], color=_grey(curve.line), ls=style.LINES[curve.line.style])
        for curve in curves
        if curve.line.label
    }
    if any(line_panels.several_seeds(curve.rows, "step") for curve in curves):
        marks |= legends.band_handle()
    if any(curve.diverged is not None for curve in curves):
        marks |= legends.diverged_handle()
    figure, axes = line_panels.lay_out(
        folder.title, [panel.title for panel in plot.panels], [sizes, marks]
    )
    for ax, panel, shown in zip(axes, plot.panels, panels, strict=True):
        undrawn = []
        for curve in shown:
            colour = BLACK if curve.size is None else colours[curve.size]
            drawn = _draw_curve(ax, curve, colour, log=panel.scale == "log")
            if curve.diverged is not None and not drawn:
                undrawn.append(([curve.diverged], colour))
        line_panels.draw_crosses(ax, undrawn)
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        ax.set_xlabel(text.axis_label("step", folder.results, plot.symbols))
        line_axes.finish_y(ax, panel.label, panel.scale, panel.limits)
    return figure


def _curves(results: Results, line: CurveLine, plot: CurvesPlot) -> list[_Curve]:
    by = [plot.hue] if line.each else []
    table = aggregation.seed_curves(results, line.grid, line.metric, by)
    if not line.each:
        return [_curve(line, None, table)]
    lines = aggregation.lines_of(table, plot.hue, plot.values, line.grid)
    return [_curve(line, size, rows) for size, rows in lines.items()]


def _curve(line: CurveLine, size: float | None, rows: pd.DataFrame) -> _Curve:
    diverged = min(line_panels.diverged_at(rows, "step"), default=None)
    return _Curve(line, size, rows if diverged is None else rows[rows["step"] < diverged], diverged)


def _draw_curve(ax: Axes, curve: _Curve, colour: Colour, *, log: bool) -> bool:
    """Draw a curve, with a cross at its end if it diverged; whether it has a point at all."""
    limit = curve.size is None
    steps, means = line_panels.draw_means(
        ax,
        curve.rows,
        "step",
        log=log,
        color=colour,
        linestyle=style.LINES[curve.line.style],
        linewidth=1.2 if limit else 1.0,
        marker="." if curve.rows["step"].nunique() == 1 else None,
        markeredgecolor=colour,
        label=curve.line.metric,
        zorder=2.5 if limit else 2.0,
    )
    if curve.diverged is not None:
        ax.plot(steps[-1:], means[-1:], color=colour, label="diverged", **style.DIVERGED)
    return len(steps) > 0


def _grey(line: CurveLine) -> str:
    """The colour of a line in the legend, where sizes have the colours."""
    return "0.45" if line.each else "black"
