"""Metrics over the training step, side by side, in colours ordered by size.

Made for pcn-limits' Fig 2, where the rescaling, energy and gradients of predictive coding tend to
those of backpropagation as the width grows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.plotting import charts, page, style, tables, text
from scaling_limits.plotting.figure_folder import FigureFolder
from scaling_limits.plotting.specs import CurveLine, CurvesPlot
from scaling_limits.records import Results

_STYLES: dict[str, Any] = {"solid": "-", "dashed": (0, (3.5, 1.6)), "dotted": (0, (1, 1.3))}


@dataclass(frozen=True)
class _Curve:
    """The mean of a metric over seeds up to where it is no longer finite; `size` colours it."""

    line: CurveLine
    size: float | None
    steps: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    diverged: bool


@style.applied()
def draw(folder: FigureFolder) -> Figure:
    """The panels of the plot; means over seeds in bands of one standard deviation.

    A line ends where a seed is no longer finite. Raises ScalingLimitsError if a grid, column or
    metric does not exist, if a grid varies over more than `hue` and seed, or if it has none of the
    plot's sizes.
    """
    plot = folder.plot
    assert isinstance(plot, CurvesPlot)
    panels = [
        [curve for line in panel.lines for curve in _curves(folder.results, line, plot)]
        for panel in plot.panels
    ]
    curves = [curve for panel in panels for curve in panel]
    colours = charts.size_colours(
        sorted({curve.size for curve in curves if curve.size is not None}), plot.hue
    )
    sizes = charts.size_handles(plot.hue, colours, folder.results, plot.symbols)
    marks: dict[str, page.Handle] = {
        curve.line.label: Line2D([], [], color=_grey(curve.line), ls=_STYLES[curve.line.style])
        for curve in curves
        if curve.line.label
    }
    if any(np.isfinite(curve.std).any() for curve in curves):
        marks |= charts.band_handle()
    if any(curve.diverged for curve in curves):
        marks |= charts.diverged_handle()
    figure, axes = charts.chart_grid(
        folder.title, [panel.title for panel in plot.panels], [sizes, marks]
    )
    for ax, panel, shown in zip(axes, plot.panels, panels, strict=True):
        ax.set_yscale(panel.scale)
        for curve in shown:
            colour = charts.BLACK if curve.size is None else colours[curve.size]
            _draw_curve(ax, curve, colour)
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        ax.set_xlabel(text.axis_label("step", folder.results, plot.symbols))
        charts.finish_y(ax, panel.label, panel.limits)
    return figure


def _curves(results: Results, line: CurveLine, plot: CurvesPlot) -> list[_Curve]:
    by = [plot.hue] if line.each else []
    table = tables.spread(tables.seed_curves(results, line.grid, line.metric, by), [*by, "step"])
    if not line.each:
        return [_curve(line, None, table)]
    there = sorted(table[plot.hue].unique().tolist())
    sizes = [size for size in there if plot.values is None or size in plot.values]
    if not sizes:
        raise ScalingLimitsError(
            f"the grid '{line.grid}' has none of the values of '{plot.hue}' to be shown: "
            f"{', '.join(map(text.short, plot.values or ()))}"
        )
    return [_curve(line, size, table[table[plot.hue] == size]) for size in sizes]


def _curve(line: CurveLine, size: float | None, table: pd.DataFrame) -> _Curve:
    finite = np.isfinite(table["mean"].to_numpy())
    end = len(finite) if finite.all() else int(np.argmin(finite))
    steps, mean, std = (table[name].to_numpy(dtype=float)[:end] for name in ("step", "mean", "std"))
    return _Curve(line, size, steps, mean, std, diverged=end < len(finite))


def _draw_curve(ax: Axes, curve: _Curve, colour: charts.Colour) -> None:
    mean = np.where(charts.showable(ax, curve.mean), curve.mean, np.nan)
    limit = curve.size is None
    ax.plot(
        curve.steps,
        mean,
        color=colour,
        linestyle=_STYLES[curve.line.style],
        linewidth=1.2 if limit else 1.0,
        marker="." if len(mean) == 1 else None,
        label=curve.line.metric,
        zorder=2.5 if limit else 2.0,
    )
    if np.isfinite(curve.std).any():
        low, high = charts.interval(ax, mean, curve.std)
        ax.fill_between(curve.steps, low, high, color=colour, alpha=0.2, linewidth=0.0, zorder=1.5)
    if curve.diverged and len(mean):
        ax.plot(curve.steps[-1:], mean[-1:], color=colour, label="diverged", **charts.DIVERGED)


def _grey(line: CurveLine) -> str:
    """The colour of a line in the legend, where sizes have the colours."""
    return "0.45" if line.each else "black"
