"""Maps of a quantity over width and depth, side by side for growing training time.

Made for pcn-limits' Fig 1, where the gradients of predictive coding and backpropagation agree if N
>> L.
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from scaling_limits.errors import ScalingLimitsError, unknown
from scaling_limits.plotting import page, panels, style, tables, text
from scaling_limits.plotting.figure_folder import FigureFolder
from scaling_limits.plotting.specs import WidthDepthMapPlot
from scaling_limits.records import Results

_DASHES = ("--", ":", "-.")


@style.applied()
def draw(folder: FigureFolder) -> Figure:
    """One row of panels for each grid of the plot, one panel for each step; means over seeds,
    written in the cells.

    Raises ScalingLimitsError if a grid or column does not exist, or if a step was not recorded.
    """
    plot = folder.plot
    assert isinstance(plot, WidthDepthMapPlot)
    results = folder.results
    tables_of = []
    for spec in plot.rows:
        steps = _steps(results.grids([spec.grid]), plot)
        at = [plot.quantity.model_copy(update={"reduce": "at", "step": step}) for step in steps]
        means = [
            tables.seed_means(results, spec.grid, quantity, [plot.x, plot.y]) for quantity in at
        ]
        tables_of.append(dict(zip(steps, means, strict=True)))
    xs_of, ys_of = (
        [tables.axis_values(results, row.grid, name) for row in plot.rows]
        for name in (plot.x, plot.y)
    )
    num_x, num_y = max(map(len, xs_of)), max(map(len, ys_of))
    most = max(len(row) for row in tables_of)
    grid = panels.panel_grid(
        folder.title,
        [row.title for row in plot.rows],
        [len(row) for row in tables_of],
        columns=panels.columns_that_fit(most, num_x, 0.17),
        aspect=1.1 * num_y / num_x,
        xs=xs_of,
    )
    names = [text.symbol(column, results, plot.symbols) for column in (plot.x, plot.y)]
    hatched = False
    handles: dict[str, page.Handle] = {}
    for row, row_tables, xs, ys in zip(grid.rows, tables_of, xs_of, ys_of, strict=True):
        maps = [tables.matrix(table, plot.x, plot.y, xs, ys) for table in row_tables.values()]
        norm = panels.colour_norm(maps, plot.limits, log=False)
        for ax, array, step in zip(row.axes, maps, row_tables, strict=True):
            panels.draw_map(ax, array, norm)
            panels.tick_values(ax, xs, ys)
            handles |= _ratio_lines(ax, xs, ys, plot.ratio_lines, names)
            _write_values(ax, array, norm)
            ax.set_title(f"$t$ = {step}")
            hatched = hatched or bool(np.isinf(array).any())
        panels.colour_bar(
            row, norm, maps, plot.quantity.label or plot.quantity.metric.replace("_", " ")
        )
    grid.label_axes(
        plot.x_label or text.axis_label(plot.x, results, plot.symbols),
        plot.y_label or text.axis_label(plot.y, results, plot.symbols),
    )
    grid.legend(handles | (panels.diverged_handle() if hatched else {}))
    return grid.figure


def _steps(results: Results, plot: WidthDepthMapPlot) -> list[int]:
    recorded = results.steps(plot.quantity.metric)
    for step in plot.steps or ():
        if step not in recorded:
            raise ScalingLimitsError(unknown(f"step of '{plot.quantity.metric}'", step, recorded))
    return list(plot.steps or recorded)


def _ratio_lines(
    ax: Axes, xs: list[float], ys: list[float], ratios: tuple[float, ...], names: list[str]
) -> dict[str, page.Handle]:
    lines: dict[str, page.Handle] = {}
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
    room = panels.cell_width(ax, array.shape[1])
    decimals = 3 if room > 0.28 else 2
    words = {(x, y): _compact(array[y, x], decimals) for y, x in np.argwhere(np.isfinite(array))}
    longest = max((len(word) for word in words.values()), default=1)
    size = min(style.SMALL, 72 * room / (0.66 * longest + 0.3))
    for (x, y), word in words.items():
        red, green, blue, _ = colour = panels.colour_map()(norm(array[y, x]))
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
