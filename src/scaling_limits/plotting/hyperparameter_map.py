"""Maps of a quantity over two hyperparameters, side by side for growing sizes.

If the hyperparameters transfer, the best cell (star) stays inside the circle, which marks the best
cell of the reference panel in all panels of a row. Made for mupc's Fig 5.
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from scaling_limits.errors import ScalingLimitsError, unknown
from scaling_limits.plotting import page, panels, style, tables, text
from scaling_limits.plotting.figure_folder import FigureFolder
from scaling_limits.plotting.specs import HyperparameterMapPlot

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


@style.applied()
def draw(folder: FigureFolder) -> Figure:
    """One row of panels for each grid of the plot; means over seeds, a colour scale for each row.

    Raises ScalingLimitsError if a grid, column or reference panel does not exist.
    """
    plot = folder.plot
    assert isinstance(plot, HyperparameterMapPlot)
    results = folder.results
    means = [
        tables.seed_means(results, row.grid, plot.quantity, [row.panels, plot.y, plot.x])
        for row in plot.rows
    ]
    sizes = [tables.axis_values(results, row.grid, row.panels) for row in plot.rows]
    xs_of, ys_of = (
        [tables.axis_values(results, row.grid, name) for row in plot.rows]
        for name in (plot.x, plot.y)
    )
    num_x, num_y = max(map(len, xs_of)), max(map(len, ys_of))
    grid = panels.panel_grid(
        folder.title,
        [row.title for row in plot.rows],
        [len(values) for values in sizes],
        columns=panels.columns_that_fit(max(len(values) for values in sizes), num_x, 0.09),
        aspect=min(2.2 * num_y / num_x, 0.8),
        xs=xs_of,
    )
    handles: dict[str, page.Handle] = {"optimum": Line2D([], [], linestyle="none", **_STAR)}
    references = []
    hatched = False
    for spec, row, table, values, xs, ys in zip(
        plot.rows, grid.rows, means, sizes, xs_of, ys_of, strict=True
    ):
        maps = [
            tables.matrix(table[table[spec.panels] == v], plot.x, plot.y, xs, ys) for v in values
        ]
        norm = panels.colour_norm(maps, plot.limits, log=True)
        reference = values[0] if spec.reference is None else spec.reference
        if reference not in values:
            raise ScalingLimitsError(unknown("reference panel", reference, values))
        size = text.symbol(spec.panels, results, plot.symbols)
        references.append(f"${size}$ = {text.short(reference)}")
        circle = _optimum(maps[values.index(reference)])
        for ax, array, value in zip(row.axes, maps, values, strict=True):
            panels.draw_map(ax, array, norm)
            _contours(ax, array, norm)
            panels.tick_values(ax, xs, ys)
            ax.set_title(f"${size}$ = {text.short(value)}")
            _mark(ax, circle, _CIRCLE, "reference optimum")
            _mark(ax, _optimum(array), _STAR, "optimum")
            hatched = hatched or bool(np.isinf(array).any())
        panels.colour_bar(
            row, norm, maps, plot.quantity.label or plot.quantity.metric.replace("_", " ")
        )
    grid.label_axes(
        plot.x_label or text.axis_label(plot.x, results, plot.symbols),
        plot.y_label or text.axis_label(plot.y, results, plot.symbols),
    )
    handles[f"optimum at {text.listed(references)}"] = Line2D([], [], linestyle="none", **_CIRCLE)
    grid.legend(handles | (panels.diverged_handle() if hatched else {}))
    return grid.figure


def _optimum(array: np.ndarray) -> tuple[int, int] | None:
    if not np.isfinite(array).any():
        return None
    y, x = np.unravel_index(np.argmin(np.where(np.isfinite(array), array, np.inf)), array.shape)
    return int(x), int(y)


def _mark(ax: Axes, place: tuple[int, int] | None, look: dict[str, Any], name: str) -> None:
    if place is not None:
        ax.plot(
            [place[0]], [place[1]], linestyle="none", label=name, clip_on=False, zorder=3, **look
        )


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
