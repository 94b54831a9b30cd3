"""Drawing of maps of a quantity over two columns.

If hyperparameters transfer, the optimum (star) stays inside the circle, which marks the optimum of the reference in all
maps of a row (mupc Fig. 5).
"""

from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, ListedColormap, LogNorm, Normalize
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.transforms import Bbox

from scaling_limits.errors import ScalingLimitsError, unknown
from scaling_limits.figures.level_sets import fit_level_set
from scaling_limits.figures.metrics import metric_info
from scaling_limits.plots import optima
from scaling_limits.plots.along import Along
from scaling_limits.plots.figure_folder import FigureFolder
from scaling_limits.plots.maps import MapPanel, Options, heights, size
from scaling_limits.plots.maps.tracks import tracks_of
from scaling_limits.plotting import page, style, text

_STAR: style.Look = {
    "marker": "*",
    "markersize": 7.0,
    "markerfacecolor": "white",
    "markeredgecolor": "black",
    "markeredgewidth": 0.7,
    "linestyle": "none",
}
_CIRCLE: style.Look = {
    "marker": "o",
    "markersize": 10.0,
    "markerfacecolor": "none",
    "markeredgecolor": "white",
    "markeredgewidth": 1.0,
    "linestyle": "none",
    "path_effects": [withStroke(linewidth=2.2, foreground="black")],
}
_LEVEL: style.Look = {
    "color": "black",
    "linewidth": 1.2,
    "path_effects": [withStroke(linewidth=2.6, foreground="white")],
}
_WORST = 2.0  # with `best`, a logarithmic colour scale ends at this multiple of the median
_SMOOTH = 8  # smallest number of rows and columns for smooth contours
_SAMPLES = 65  # points of a fitted line
_CHARACTER = 0.065  # mean width of a character of an axis label in inches
_GREY = "0.88"
_NEXT = (1.07, 0.0, 0.07, 1.0)  # place of a colour bar next to the last map of a short row
_OPTIMA = 1.15 * optima.HEIGHT  # height in inches of the row of optima against the size
_HATCHED: style.Look = {"hatch": "//////", "edgecolor": "0.45", "linewidth": 0}


class Maps(Along[Options, MapPanel]):
    """A row of maps with a colour bar for each panel, and optima against the size."""

    last = 0.06

    def __init__(self, figure: FigureFolder[Options], table: pd.DataFrame) -> None:
        """Lay out the maps."""
        self._heights = heights(figure.plot, table, page.WIDTH)
        self.tracks = tracks_of(figure.plot, figure.judged)
        super().__init__(figure, table, size(figure.plot, table, page.WIDTH), self._heights)
        self._lines: dict[str, Artist] = {}

    @property
    def further(self) -> tuple[int, float]:
        """Number and height in inches of the axes of optima against the size."""
        return len({track.column for track in self.tracks}), _OPTIMA

    def matrix(self, panel: MapPanel, value: float) -> pd.DataFrame:
        """Return the centres of the seeds with y down and x across: NaN without a cell, infinite if a seed diverged."""
        rows = self.rows(panel, value)
        values = rows["value"].where(~rows["diverged"], np.inf)
        centres = values.groupby([rows[self.plot.y], rows[self.plot.x]]).agg(self.plot.centre)
        return centres.unstack(self.plot.x)

    @cached_property
    def norm(self) -> Normalize:
        """The colour scale of all maps, from the best cell to the worst relevant one."""
        values = self._shown
        log = self.plot.scale == "log"
        values = values[values > 0] if log else values
        values = values if len(values) else np.array([1.0, 2.0])
        low, high = values.min(), values.max()
        if log and self.plot.best:
            high = min(high, _WORST * np.median(values))
        low, high = self.plot.limits or (low, high if high > low else low + abs(low) + 1.0)
        return LogNorm(low, high) if log else Normalize(low, high)

    @cached_property
    def _shown(self) -> np.ndarray:
        """The finite centres of the seeds of all cells of all maps."""
        centres = [self.matrix(panel, value).to_numpy(float) for panel, value, _ in self.panels]
        every = np.concatenate([each.ravel() for each in centres])
        finite: np.ndarray = every[np.isfinite(every)]
        return finite

    def marks(self, panel: MapPanel, value: float, ax: Axes) -> None:
        """Draw the marks of a map: values or optima, ratio lines and a fitted level set."""
        matrix = self.matrix(panel, value)
        ax.set_facecolor("white")
        if self.plot.scale == "log" and (matrix <= 0).to_numpy().any():
            self._lines["zero or negative"] = Patch(
                facecolor="white", edgecolor="0.45", linewidth=0.5
            )
        lost = np.isinf(matrix.to_numpy())
        if lost.any():
            shape = np.ma.masked_where(~lost, np.ones(matrix.shape))
            ax.pcolor(shape, cmap=ListedColormap([_GREY]), **_HATCHED)
            self._lines[style.DIVERGED] = Patch(facecolor=_GREY, **_HATCHED)
        if self.plot.best:
            self._contours(ax, matrix)
            if self._is_compared(panel):
                self._optimum(ax, self.matrix(panel, self._reference(panel)), _CIRCLE)
            self._optimum(ax, matrix, _STAR)
        else:
            self._write(ax, matrix)
        self._ratios(ax, matrix)
        if self.plot.level_set is not None:
            self._level_set(ax, matrix, self.plot.level_set)

    def complete(self) -> None:
        """Label and limit the axes, and draw the colour bar and the legend."""
        results, plot = self.figure.results, self.plot
        for panel, value, ax in self.panels:
            self._scale(ax, self.matrix(panel, value))
        if not self.plot.best:
            self._equalise()
        self.head()
        x = plot.x_label or text.axis_label(plot.x, results.cells, plot.symbols)
        y = plot.y_label or text.axis_label(plot.y, results.cells, plot.symbols)
        self.label(x, [text.wrap(y, _characters(height)) for height in self._heights])
        self._bars()
        self._optima()
        entries: dict[str, Artist] = {}
        if self.plot.best:
            entries["optimum"] = Line2D([], [], **_STAR)
            where = {self.at(panel, self._reference(panel)) for panel in self.plot.panels}
            first = all(panel.reference is None for panel in self.plot.panels)
            of_each = "in the first map of the row" if first else f"at {'; '.join(sorted(where))}"
            at = f"at {next(iter(where))}" if len(where) == 1 else of_each
            if any(
                line.get_marker() == _CIRCLE["marker"] for ax in self.axes.flat for line in ax.lines
            ):
                entries[f"optimum {at}"] = Line2D([], [], **_CIRCLE | {"markersize": 7.0})
        self.body.legend(
            page.Block("", entries | self._lines),
            page.Block(optima.title(self.tracks), optima.legend(self.tracks)),
        )

    @property
    def colours(self) -> Colormap:
        """The colour map; the best values are dark."""
        return colormaps[style.COLOUR_MAP]

    def _bars(self) -> None:
        """Add a colour bar to each row, with ticks at both ends; the name has room next to the highest rows.

        The bar of a short row is next to its last map.
        """
        shown = ScalarMappable(self.norm, self.colours)
        label = metric_info(self.plot.quantity).label
        low, high = float(self.norm.vmin or 0.0), float(self.norm.vmax or 1.0)
        columns, values = self.axes.shape[1], self._shown
        if self.plot.scale == "log":
            values = values[values > 0]
        for row, (ax, height) in enumerate(zip(self.beyond, self._heights, strict=True)):
            name = text.wrap(label, _characters(height)) if height == max(self._heights) else ""
            if self.lengths[row] < columns:
                ax.remove()
                ax = self.axes[row, self.lengths[row] - 1].inset_axes(_NEXT)
                # the place is empty, so that no other axes have to make room
                ax.set_in_layout(False)
            bar = self.body.area.colorbar(shown, cax=ax, label=name)
            outside = {"below": bool((values < low).any()), "beyond": bool((values > high).any())}
            page.bar_ticks(bar.ax.yaxis, self.plot.scale, low, high, **outside)
            bar.outline.set_visible(False)

    def _optima(self) -> None:
        """Draw the optima against the size below the maps."""
        cells, symbols = self.figure.results.cells, self.plot.symbols
        labels: dict[str, str] = {}
        scales: optima.Scales = {}
        for track in self.tracks:
            labels[track.along] = text.axis_label(track.along, cells, symbols)
            labels[track.over] = f"optimal\n${text.symbol(track.over, cells, symbols)}$"
            # all rows of a page have one axis
            values = np.unique(self.table[track.over].to_numpy(float))
            scales[track.panel, track.over] = optima.Scale(values, (values[0], values[-1]))
        optima.draw(self.lowest, self.tracks, labels, "", scales, {})

    def _scale(self, ax: Axes, matrix: pd.DataFrame) -> None:
        for axis, values in ((ax.xaxis, matrix.columns), (ax.yaxis, matrix.index)):
            page.cell_ticks(axis, values.to_numpy(float))
        ax.set(xlim=(0, matrix.shape[1]), ylim=(0, matrix.shape[0]))

    def _equalise(self) -> None:
        """Shrink smaller maps towards their upper left corner, so that cells of all maps have equal size."""
        counts = {ax: self.matrix(panel, value).shape for panel, value, ax in self.panels}
        most_x = max(x for _, x in counts.values())
        tallest, most_y = max(((ax, y) for ax, (y, _) in counts.items()), key=lambda item: item[1])

        def place(ax: Any, _renderer: object) -> Bbox:
            box, (y, x) = ax.get_position(original=True), counts[ax]
            height = min(tallest.get_position(original=True).height * y / most_y, box.height)
            width = box.width * x / most_x
            return Bbox.from_bounds(box.x0, box.y1 - height, width, height)

        for ax, count in counts.items():
            if count != (most_y, most_x):
                ax.set_axes_locator(place)

    def _is_compared(self, panel: MapPanel) -> bool:
        """Return whether a row has several maps, so that their optima are compared with the reference's."""
        return len(self.values[self.plot.panels.index(panel)]) > 1

    def _reference(self, panel: MapPanel) -> float:
        values = self.values[self.plot.panels.index(panel)]
        chosen = values[0] if panel.reference is None else panel.reference
        if chosen not in values:
            raise ScalingLimitsError(unknown("reference", chosen, values))
        return chosen

    def _optimum(self, ax: Axes, matrix: pd.DataFrame, look: style.Look) -> None:
        values = matrix.to_numpy(float)
        finite = np.isfinite(values)
        # there is no optimum if all values are equal
        if finite.any() and np.ptp(values[finite]) > 0:
            badness = np.where(finite, values if self.plot.best == "min" else -values, np.inf)
            y, x = np.unravel_index(np.argmin(badness), values.shape)
            ax.plot([x + 0.5], [y + 0.5], clip_on=False, zorder=3, **look)

    def _contours(self, ax: Axes, matrix: pd.DataFrame) -> None:
        """Draw contours on maps with enough cells for smooth ones."""
        if min(matrix.shape) < _SMOOTH:
            return
        finite = matrix.to_numpy()[np.isfinite(matrix.to_numpy())]
        spaced = np.geomspace if self.plot.scale == "log" else np.linspace
        levels = spaced(self.norm.vmin, self.norm.vmax, 9)[1:-1]  # type: ignore[arg-type]
        inside = [v for v in levels if finite.size and finite.min() < v < finite.max()]
        if inside:
            z = np.ma.masked_invalid(matrix.to_numpy())
            look: style.Look = {"colors": "white", "linewidths": 0.5, "alpha": 0.7}
            x, y = (np.arange(count) + 0.5 for count in matrix.shape[::-1])
            ax.contour(x, y, z, inside, **look)

    def _ratios(self, ax: Axes, matrix: pd.DataFrame) -> None:
        """Draw lines x = k y along the edges of cells; the cells to their right have x ≥ k y."""
        results, symbols = self.figure.results, self.plot.symbols
        names = [
            text.symbol(column, results.cells, symbols) for column in (self.plot.x, self.plot.y)
        ]
        xs, ys = matrix.columns.to_numpy(float), matrix.index.to_numpy(float)
        for ratio, dashes in zip(self.plot.ratio_lines, style.DASHES, strict=False):
            factor = "" if ratio == 1 else f"{text.short(ratio)}\\,"
            steps = np.searchsorted(xs, ratio * ys * (1 - 1e-9))
            # no dashes along the border of the map, where no cells are separated
            inside = np.where((steps > 0) & (steps < len(xs)), steps, np.nan)
            edges = np.stack([steps, inside, steps], axis=1).ravel()
            heights = (np.arange(len(ys))[:, None] + [0, 0, 1]).ravel()
            # the white line keeps the dashes visible on dark cells
            ax.plot(edges, heights, color="white", linewidth=1.8)
            (line,) = ax.plot(edges, heights, linestyle=dashes, color="black", linewidth=1.0)
            self._lines[f"${names[0]} = {factor}{names[1]}$"] = line

    def _level_set(self, ax: Axes, matrix: pd.DataFrame, level: float) -> None:
        x, y = (axis.to_numpy(float) for axis in (matrix.columns, matrix.index))
        values = matrix.where(matrix > 0).to_numpy(float)
        fit = fit_level_set(x, y, values[:, :, None], level)
        slope = float(fit.slopes[0])
        if np.isnan(slope):
            return
        line_x, line_y = (np.geomspace(ends[0], ends[1], _SAMPLES) for ends in fit.ends[..., 0].T)
        (line,) = ax.plot(
            _axis_positions(x, line_x), _axis_positions(y, line_y), zorder=3, **_LEVEL
        )
        stroke = [withStroke(linewidth=1.8, foreground="white")]
        look: style.Look = {"ha": "left", "va": "bottom", "path_effects": stroke}
        # no optimum lies in the undertrained corner of small x and y
        at = (0.03, 0.04)
        written = f"{slope:.2f}".replace("-", "\N{MINUS SIGN}")
        ax.text(*at, written, transform=ax.transAxes, size=7.0, zorder=4, **look)
        label = metric_info(self.plot.quantity).label
        self._lines[f"level set: {label} = {text.short(level)}, with fitted slope"] = line

    def _write(self, ax: Axes, matrix: pd.DataFrame) -> None:
        values = matrix.to_numpy(float)
        for y, x in np.argwhere(np.isfinite(values)):
            value = values[y, x]
            red, green, blue, _ = self.colours(self.norm(value))
            has_colour = value > 0 or self.plot.scale != "log"
            light = not has_colour or 0.30 * red + 0.59 * green + 0.11 * blue > 0.5
            look: style.Look = {
                "ha": "center",
                "va": "center",
                "color": "black" if light else "white",
            }
            ground = (red, green, blue) if has_colour else "white"
            look["path_effects"] = [withStroke(linewidth=1.6, foreground=ground)]
            ax.text(x + 0.5, y + 0.5, _compact(value), size=5.0, zorder=3, **look)


def _characters(height: float) -> int:
    """Return how many characters of a vertical label fit next to a row with this height in inches."""
    return int(height / _CHARACTER)


def _axis_positions(values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return the positions of positive numbers on an axis of equal cells.

    Positions are interpolated in the logarithm of the numbers, and extrapolated beyond the ends.
    """
    centres = np.arange(len(values)) + 0.5
    logs, wanted = np.log(values), np.log(at)
    inside = np.interp(wanted, logs, centres)
    first, last = ((logs[k + 1] - logs[k]) for k in (0, -2))
    below, above = (wanted - logs[0]) / first, (wanted - logs[-1]) / last
    return np.asarray(inside + np.minimum(below, 0) + np.maximum(above, 0))


def _compact(value: float) -> str:
    """Return a number with at most three digits in as few characters as possible.

    Examples: `.97`, `3e−4`, `1`, `2.5`, `25`, `640`, `3e4`.
    """
    if 0 < abs(value) < 0.0095 or abs(value) >= 1000:
        digits = f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    elif abs(value) < 1:
        digits = f"{value:.2f}".replace("0.", ".", 1)
    else:
        digits = f"{value:.2g}" if abs(value) < 100 else f"{value:.0f}"
    return digits.replace("-", "\N{MINUS SIGN}")
