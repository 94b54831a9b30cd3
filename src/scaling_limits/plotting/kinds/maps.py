"""Maps of a quantity over two columns, side by side for growing sizes or training time.

Made for mupc's Fig 5: if hyperparameters transfer, the best cell (star) stays inside the circle,
which marks the best cell of the reference in all maps of a panel. And for pcn-limits' Fig 1, where
the gradients of predictive coding and backpropagation agree if N >> L.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from scaling_limits.errors import ScalingLimitsError, unknown
from scaling_limits.figures.metrics import words_of
from scaling_limits.figures.plots.maps import MapPanel, MapsPlot
from scaling_limits.plotting import aggregation, legends, map_panels, style, text
from scaling_limits.plotting.figure_folder import FigureFolder
from scaling_limits.records import Results

_STAR: dict[str, Any] = {
    "marker": "*",
    "markersize": 7.0,
    "markerfacecolor": "white",
    "markeredgecolor": "black",
    "markeredgewidth": 0.7,
}
_CIRCLE: dict[str, Any] = {
    "marker": "o",
    "markersize": 10.0,
    "markerfacecolor": "none",
    "markeredgecolor": "white",
    "markeredgewidth": 1.0,
    "path_effects": [withStroke(linewidth=2.2, foreground="black")],
}
_DASHES = ("--", ":", "-.")
_CELL, _WRITTEN_CELL = 0.09, 0.17  # the least width of a cell in inches


@dataclass(frozen=True)
class _Panel:
    """What a panel shows: a map [y, x] for each value of its column, in colours of `norm`."""

    spec: MapPanel
    xs: list[float]
    ys: list[float]
    maps: dict[float, np.ndarray]
    norm: Normalize

    @property
    def reference(self) -> float:
        """Which map's optimum is shown in all of them."""
        values = list(self.maps)
        chosen = values[0] if self.spec.reference is None else self.spec.reference
        if chosen not in values:
            raise ScalingLimitsError(unknown("reference", chosen, values))
        return chosen


@style.applied()
def draw(folder: FigureFolder) -> Figure:
    """The panels of the plot; means over seeds, a colour scale for each panel.

    Raises ScalingLimitsError if a grid, column or reference does not exist, or if a grid has none of
    a panel's values.
    """
    plot = folder.plot
    assert isinstance(plot, MapsPlot)
    panels = [_panel(folder.results, plot, panel) for panel in plot.panels]
    page = _page(folder.title, plot, panels)
    handles: dict[str, legends.Handle] = {}
    if plot.best:
        handles["optimum"] = Line2D([], [], linestyle="none", **_STAR)
        at = text.listed(_at(p, p.reference, folder.results, plot) for p in panels)
        handles[f"optimum at {at}"] = Line2D([], [], linestyle="none", **_CIRCLE)
    for panel, places in zip(panels, page.panels, strict=True):
        for ax, value in zip(places.axes, panel.maps, strict=True):
            ax.set_title(_at(panel, value, folder.results, plot))
            handles |= _draw_map(ax, panel, value, folder.results, plot)
        arrays = list(panel.maps.values())
        map_panels.colour_bar(places, panel.norm, arrays, words_of(plot.quantity).label)
    page.label_axes(
        plot.x_label or text.axis_label(plot.x, folder.results, plot.symbols),
        plot.y_label or text.axis_label(plot.y, folder.results, plot.symbols),
    )
    if any(np.isinf(array).any() for panel in panels for array in panel.maps.values()):
        handles |= map_panels.diverged_handle()
    page.legend(handles)
    return page.figure


def _panel(results: Results, plot: MapsPlot, spec: MapPanel) -> _Panel:
    by = [spec.along, plot.y, plot.x]
    means = aggregation.seed_means(results, spec.grid, plot.quantity, by)
    xs, ys = (aggregation.axis_values(results, spec.grid, name) for name in (plot.x, plot.y))
    maps = {
        value: aggregation.matrix(table, plot.x, plot.y, xs, ys)
        for value, table in aggregation.lines_of(means, spec.along, spec.values, spec.grid).items()
    }
    norm = map_panels.colour_norm(list(maps.values()), plot.limits, log=plot.scale == "log")
    return _Panel(spec, xs, ys, maps, norm)


def _page(title: str, plot: MapsPlot, panels: list[_Panel]) -> map_panels.MapPage:
    num_x, num_y = max(len(p.xs) for p in panels), max(len(p.ys) for p in panels)
    counts = [len(panel.maps) for panel in panels]
    cell = _CELL if plot.best else _WRITTEN_CELL
    return map_panels.lay_out(
        title,
        [panel.spec.title for panel in panels],
        counts,
        columns=map_panels.columns_that_fit(max(counts), num_x, cell),
        aspect=min(2.2 * num_y / num_x, 0.8) if plot.best else 1.1 * num_y / num_x,
        xs=[panel.xs for panel in panels],
    )


def _at(panel: _Panel, value: float, results: Results, plot: MapsPlot) -> str:
    size = text.symbol(panel.spec.along, results, plot.symbols)
    return f"${size}$ = {text.short(value)}"


def _draw_map(
    ax: Axes, panel: _Panel, value: float, results: Results, plot: MapsPlot
) -> dict[str, legends.Handle]:
    """Draw one map of a panel; returns the legend's entries for its lines."""
    array, norm = panel.maps[value], panel.norm
    map_panels.draw_map(ax, array, norm)
    if plot.best:
        _contours(ax, array, norm)
    map_panels.tick_values(ax, panel.xs, panel.ys)
    names = [text.symbol(column, results, plot.symbols) for column in (plot.x, plot.y)]
    lines = _ratio_lines(ax, panel.xs, panel.ys, plot.ratio_lines, names)
    if plot.best:
        _mark(ax, panel.maps[panel.reference], plot.best, _CIRCLE, "reference optimum")
        _mark(ax, array, plot.best, _STAR, "optimum")
    else:
        _write_values(ax, array, norm)
    return lines


def _mark(ax: Axes, array: np.ndarray, best: str, look: dict[str, Any], name: str) -> None:
    """Mark where the best finite value of a map is, if it has any."""
    finite = np.isfinite(array)
    if finite.any():
        badness = np.where(finite, array if best == "min" else -array, np.inf)
        y, x = np.unravel_index(np.argmin(badness), array.shape)
        ax.plot([int(x)], [int(y)], linestyle="none", label=name, clip_on=False, zorder=3, **look)


def _contours(ax: Axes, array: np.ndarray, norm: Normalize) -> None:
    assert norm.vmin is not None
    assert norm.vmax is not None
    spaced = np.geomspace if isinstance(norm, LogNorm) else np.linspace
    finite = array[np.isfinite(array)]
    levels = spaced(norm.vmin, norm.vmax, 9)[1:-1]
    levels = (
        levels[(levels > finite.min()) & (levels < finite.max())] if finite.size else levels[:0]
    )
    if min(array.shape) > 1 and levels.size:
        ax.contour(np.ma.masked_invalid(array), levels, colors="white", linewidths=0.5, alpha=0.7)


def _ratio_lines(
    ax: Axes, xs: list[float], ys: list[float], ratios: tuple[float, ...], names: list[str]
) -> dict[str, legends.Handle]:
    lines: dict[str, legends.Handle] = {}
    heights = np.linspace(-0.5, len(ys) - 0.5, 101)
    for ratio, dashes in zip(ratios, _DASHES, strict=False):
        factor = "" if ratio == 1 else f"{text.short(ratio)}\\,"
        places = _index_of(xs, ratio * _value_at(ys, heights))
        # White under black dashes shows on dark and on light cells.
        ax.plot(places, heights, color="white", linewidth=1.8)
        (line,) = ax.plot(places, heights, linestyle=dashes, color="black", linewidth=1.0)
        lines[f"${names[0]} = {factor}{names[1]}$"] = line
    return lines


def _index_of(values: list[float], at: np.ndarray) -> np.ndarray:
    """Places on an axis whose ticks are the indices of `values`, linear in the logarithm."""
    return _line(np.log2(values), np.arange(len(values)), np.log2(at))


def _value_at(values: list[float], places: np.ndarray) -> np.ndarray:
    """The inverse of `_index_of`."""
    return np.asarray(np.exp2(_line(np.arange(len(values)), np.log2(values), places)))


def _line(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Piecewise linear through (x, y), its first and last piece extended; of slope 1 if a point."""
    if len(x) == 1:
        x, y = np.append(x, x + 1), np.append(y, y + 1)
    piece = np.clip(np.searchsorted(x, at) - 1, 0, len(x) - 2)
    slope = np.diff(y) / np.diff(x)
    return np.asarray(y[piece] + slope[piece] * (at - x[piece]))


def _write_values(ax: Axes, array: np.ndarray, norm: Normalize) -> None:
    room = map_panels.cell_width(ax, array.shape[1])
    decimals = 3 if room > 0.28 else 2
    words = {(x, y): _compact(array[y, x], decimals) for y, x in np.argwhere(np.isfinite(array))}
    longest = max((len(word) for word in words.values()), default=1)
    size = min(style.SMALL, 72 * room / (0.66 * longest + 0.3))
    for (x, y), word in words.items():
        red, green, blue, _ = colour = map_panels.colour_map()(norm(array[y, x]))
        light = 0.30 * red + 0.59 * green + 0.11 * blue > 0.5
        ax.text(
            x,
            y,
            word,
            size=size,
            ha="center",
            va="center_baseline",
            color="black" if light else "white",
            bbox={"boxstyle": "square,pad=0.05", "facecolor": colour, "edgecolor": "none"},
            zorder=3,
        )


def _compact(value: float, decimals: int) -> str:
    """`decimals`, or two digits, in as little room as possible: `.97`, `-.20`, `1`, `2.5`, `25`."""
    rounded = f"{value:.{decimals}f}"
    if abs(float(rounded)) < 1:
        return rounded.replace("0.", ".", 1)
    return f"{value:.2g}" if abs(value) < 9.95 or abs(value) >= 1000 else f"{value:.0f}"
