"""Drawing of panels of lines."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.figures.metrics import metric_info
from scaling_limits.plots import optima
from scaling_limits.plots.figure_folder import FigureFolder
from scaling_limits.plots.lines import (
    Line,
    Options,
    Panel,
    fits,
    legend,
    marks,
    size,
    tracks,
)
from scaling_limits.plots.lines.headers import headers_of, wrapped
from scaling_limits.plots.lines.legend import MARKERS, shows_half
from scaling_limits.plots.lines.twins import without_twins
from scaling_limits.plots.options import SIZES
from scaling_limits.plots.tables import visible
from scaling_limits.plotting import colours as palettes
from scaling_limits.plotting import page, style, text
from scaling_limits.records import AXES

_BAND = {"err_style": "band", "err_kws": {"linewidth": 0.3, "alpha": 0.12}}
_BARS = {"err_style": "bars", "err_kws": {"elinewidth": 0.8}}
_SINGLE_POINT: style.Look = {"marker": "o", "markersize": 3.0, "markerfacecolor": "white"}
"""Mark of a dashed or dotted line with a single point, which would otherwise be invisible."""
_SEED: style.Look = {
    "units": "seed",
    "estimator": None,
    "linewidth": 0.5,
    "alpha": 0.45,
    "zorder": 1.7,
    "label": "_seed",
}
_Part = tuple[Line, float | None, pd.DataFrame]
"""A line, a value of the hue (None without hue), and the rows."""
_IDENTITIES = ("layer", "index", "output_init_exponent")  # hues whose values are labels, not sizes
_SHARE = 0.62  # approximate height of the axes relative to the panel with titles and labels
_SHARE_OF_WIDTH = 0.8  # the same for the width
_FREE = 0.08  # fraction of an axis left free at each end
_BAND_ROOM = 0.5  # most of the range of lines by which bands over seeds extend an end of the axis
_LEAST_SAMPLES = 20  # smallest range of an axis with shares of samples
_FREE_OF_LIMITS = 0.03  # the same if the plot sets the limits
_NARROW = 4  # columns from which panels have room for few ticks
_NARROWER = 6  # columns from which they have room for symbols, not for names


class Lines(page.Drawing):
    """A pair of axes for each panel."""

    def __init__(self, figure: FigureFolder[Options], table: pd.DataFrame) -> None:
        """Lay out the panels."""
        plot, table = without_twins(figure.plot, table)
        self.figure, self.plot, self.table = figure, plot, table
        self._rows = {int(number): rows for number, rows in table.groupby("panel")}  # type: ignore[arg-type]
        self._parts = [self._split(panel, self._rows[k]) for k, panel in enumerate(plot.panels)]
        self._kinds = [self._kind_of(self._rows[k]) for k in range(len(plot.panels))]
        self.body = figure.body(size(plot, table, page.WIDTH))
        count, self.columns = page.shape(len(plot.panels), plot.wrap)
        self._strip_rows = strip_rows(plot, table)
        self._panel_height = self.body.axes_height / count
        self.headers = headers_of([panel.title for panel in plot.panels], self.columns)
        self.tracks = tracks.tracks_of(self)
        heights = [self._panel_height] * count
        if self.tracks:
            self.body.grow(optima.HEIGHT)
            heights.append(optima.HEIGHT)
        axes = self.body.axes(len(heights), self.columns, heights)
        self._lowest = axes[-1] if self.tracks else []
        self.axes: list[Axes] = list(axes.flat[: len(plot.panels)])
        for spare in axes[:count].flat[len(plot.panels) :]:
            spare.remove()
        self._strips: dict[int, Axes] = {}

    @property
    def panels(self) -> Iterator[tuple[Panel, Axes]]:
        """Each panel with its axes."""
        yield from zip(self.plot.panels, self.axes, strict=True)

    @property
    def all_axes(self) -> list[Axes]:
        """The axes of all panels and of the optima below them."""
        return [*self.axes, *self._lowest]

    def rows(self, panel: Panel) -> pd.DataFrame:
        """Return the rows of the table that a panel shows."""
        return self._rows[self._number(panel)]

    def lines(self, panel: Panel) -> Iterator[tuple[pd.DataFrame, style.Look]]:
        """Yield the visible points of each line and seaborn's options for drawing them.

        With `spread: seeds`, a line is yielded twice: as single seeds, and as their centre.
        """
        ends = self._rows_with_x(panel)[panel.x].agg(["min", "max"])
        for line, value, rows in self.parts(panel):
            points = visible(rows, log=panel.scale == "log")
            look = self.look(panel, line, value) | (_BARS if line.style == "markers" else _BAND)
            if line.across and len(points):
                centre = points["value"].agg(panel.centre)
                points = pd.DataFrame({panel.x: ends, "value": centre})
                look["zorder"] = 1.8
            elif panel.stops_at_limits:
                points = marks.within_limits(points, panel)
            if look["marker"] is None and points[panel.x].nunique() == 1:
                look |= _SINGLE_POINT
            repeated = panel.repeated(line)
            if len(points) and repeated:
                centres = points.groupby([panel.x, *repeated])["value"].agg(panel.centre)
                single: style.Look = {"units": repeated[0], "estimator": None, "errorbar": None}
                yield centres.reset_index(), {**self.look(panel, line, value), **single}
            elif len(points):
                look["estimator"] = panel.centre
                look["errorbar"] = ("pi", 50 if shows_half(line, points, panel) else 100)
                if panel.spread != "band":
                    look["errorbar"] = None
                if panel.spread == "seeds" and points.duplicated(panel.x).any():
                    yield points, {**self.look(panel, line, value), "marker": None, **_SEED}
                yield points, {**look, "label": str(rows["quantity"].iloc[0])}

    def marks(self, panel: Panel, ax: Axes) -> None:
        """Draw guide lines, and optima with their strip below the axes or crosses where training diverged."""
        centres = [points.dropna() for points in self._centres(panel)]
        # guides are about the lines that a panel shows, not about those that are drawn for comparison
        solid = [line.style == "solid" for line, _, _ in self.parts(panel)]
        leading = [points for points, leads in zip(centres, solid, strict=True) if leads]
        named: list[float] = []
        for slope in panel.slopes:
            named += marks.guide(ax, slope, leading or centres, panel, named)
        for level in panel.levels:
            marks.level(ax, level)
        judged = [
            (line, value)
            for line in panel.lines
            for value in fits.judged_of(self.figure.fitted, panel, line)
        ]
        sizes = [value.size for _, value in judged]
        for number, (line, value) in enumerate(judged):
            colour, errors = self._colour(panel, line, None), line.reference is not None
            place = sizes[:number].count(value.size) - (sizes.count(value.size) - 1) / 2
            marks.judged(ax, value, colour, errors=errors, place=place)
        if marks.is_tuned(panel):
            tuned = [
                marks.Tuned(
                    line.quantity,
                    rows,
                    self._colour(panel, line, value),
                    tracks.judging(self.figure.judged, panel, line, self.sharing(line, rows)),
                    line.style == "solid",
                )
                for line, value, rows in self.parts(panel)
                if value is not None and not line.across
            ]
            number = self._number(panel)
            row_height = marks.STRIP_ROW / (_SHARE * self._panel_height)
            num_rows = self._strip_rows[number // self.columns]
            self._strips[number] = marks.optima(ax, panel, tuned, num_rows, row_height)
            return
        if marks.has_optima(panel):
            for line, _, rows in self.parts(panel):
                marks.ring(ax, panel, rows, line.quantity)
        # a run that diverged at one step stays diverged
        first = slice(1 if panel.x in AXES else None)
        lost = [
            (
                sorted(rows.loc[rows["diverged"], panel.x].unique())[first],
                self._colour(panel, line, value),
            )
            for line, value, rows in self.parts(panel)
            if not line.across
        ]
        marks.crosses(ax, lost, panel.best)

    def complete(self) -> None:
        """Set scales, labels and limits, equal on comparable axes, and write the legend."""
        for panel, ax in self.panels:
            if panel.x_scale == "log" and self._rows_with_x(panel)[panel.x].min() <= 0:
                raise ScalingLimitsError(f"{panel.x}: 0 has no place on a logarithmic axis")
            if panel.x_scale != "even":
                ax.set_xscale(panel.x_scale)
            ax.set_yscale(panel.scale)
        for group in self._alike(self._abscissa):
            for near in self._overlapping(group):
                values = self._shown_x([panel for panel, _ in near])
                for panel, ax in near:
                    self._finish_x(panel, ax, values)
        for group in self._alike(self._comparable):
            low, high = self._limits(group)
            for _, ax in group:
                ax.set_ylim(low, high)
            low = self._with_room_for_slopes(group, (low, high))
            for panel, ax in group:
                ax.set_ylim(low, high)
                page.scale_ticks(ax.yaxis, panel.scale, low, high)
                self._mark_exits(panel, ax)
        for number, (panel, ax) in enumerate(zip(self.plot.panels, self.axes, strict=True)):
            self._name(number, panel, ax)
        cells, symbols = self.figure.results.cells, self.plot.symbols
        labels = {track.along: self._axis_label(track.along) for track in self.tracks}
        for track in self.tracks:
            labels[track.over] = f"optimal ${text.symbol(track.over, cells, symbols)}$"
        quantities = {self.plot.panels[track.panel].label for track in self.tracks}
        quantity = quantities.pop() if len(quantities) == 1 else ""
        scales = self._scales_of_tracks()
        optima.draw(self._lowest, self.tracks, labels, quantity, scales, self._titles_of_tracks())
        written: set[fits.FittedSlope] = set()
        for panel, ax in self.panels:
            # panels of several steps have a slope in common
            slopes = [slope for slope in self.slopes(panel) if slope not in written]
            fits.write(ax, slopes, _each(panel), self._axes_size)
            written |= {slope for slope in slopes if slope.is_common}
        self.body.legend(*legend.blocks(self))

    # content of the page

    def _number(self, panel: Panel) -> int:
        return next(k for k, other in enumerate(self.plot.panels) if other is panel)

    def parts(self, panel: Panel) -> list[_Part]:
        """Return the rows of each line and value of the hue."""
        return self._parts[self._number(panel)]

    @staticmethod
    def _split(panel: Panel, rows: pd.DataFrame) -> list[_Part]:
        parts: list[_Part] = []
        for line, name in zip(panel.lines, panel.names, strict=True):
            line_rows = rows[rows["line"] == name]
            if panel.hue is None or not line.each:
                parts.append((line, None, line_rows))
            else:
                values = sorted(line_rows[panel.hue].unique())
                parts += [(line, float(v), line_rows[line_rows[panel.hue] == v]) for v in values]
        return parts

    @staticmethod
    def _kind_of(rows: pd.DataFrame) -> tuple[str, ...]:
        return tuple(" ".join(sorted(rows[c].unique())) for c in ("dataset", "network"))

    @cached_property
    def _cells_of_grids(self) -> dict[str, set[str]]:
        """The cells of each grid."""
        by_grid = self.figure.results.cells.groupby("grid")["cell_id"]
        return {str(grid): set(ids) for grid, ids in by_grid}

    def sharing(self, line: Line, rows: pd.DataFrame) -> list[str]:
        """Return the parts of a line's grid that are grids themselves and contain all cells of some of its rows."""
        shown, grids = set(rows["cell_id"]), self._cells_of_grids
        return [grid for grid, ids in grids.items() if shown <= ids <= grids[line.grid]]

    def _centres(self, panel: Panel) -> list[pd.DataFrame]:
        """Return x and the mean or median over seeds of each line's visible points."""
        return [
            visible(rows, log=panel.scale == "log")
            .groupby([panel.x, *panel.repeated(line)], dropna=False)["value"]
            .agg(panel.centre)
            .reset_index()
            for line, _, rows in self.parts(panel)
        ]

    def _rows_with_x(self, panel: Panel) -> pd.DataFrame:
        """Return the rows of a panel's lines that are not drawn across."""
        rows = self.rows(panel)
        across = [name for name, line in zip(panel.names, panel.lines, strict=True) if line.across]
        return rows[~rows["line"].isin(across)]

    @cached_property
    def colours(
        self,
    ) -> dict[tuple[str | None, str], palettes.Palette]:
        """The colours of the hue's values, by hue column and kind of network; without hue, the colours of lines."""
        groups: dict[tuple[str | None, str], list[pd.DataFrame]] = {}
        for panel in self.plot.panels:
            rows = self.rows(panel)
            if panel.hue is not None:
                names = [n for n, line in zip(panel.names, panel.lines, strict=True) if line.each]
                rows = rows[rows["line"].isin(names)]
            groups.setdefault(self._palette(panel), []).append(rows)
        colours: dict[tuple[str | None, str], palettes.Palette] = {}
        sequences = 0
        for (hue, network), parts in groups.items():
            rows = pd.concat(parts)
            if hue is None:
                colours[hue, network] = palettes.line_colours(rows)
            elif hue == "energy_weight_exponent":
                colours[hue, network] = palettes.exponent_colours(rows[hue])
            elif hue in _IDENTITIES:
                colours[hue, network] = palettes.identity_colours(rows[hue])
            else:
                colours[hue, network] = palettes.size_colours(rows[hue], sequences)
                sequences += 1
        return colours

    def _palette(self, panel: Panel) -> tuple[str | None, str]:
        """Return the key of a panel's palette: its hue and, with a hue, the networks whose sizes include its own."""
        if panel.hue is None:
            return (None, "")
        sizes = self._sizes_of_networks[panel.hue]
        network_sizes = sizes[self.kind(panel)[1]]
        return (
            panel.hue,
            next(network for network, candidate in sizes.items() if network_sizes <= candidate),
        )

    @cached_property
    def _sizes_of_networks(self) -> dict[str, dict[str, set[float]]]:
        """The values of each hue by networks, those with most values first."""
        sizes: dict[str, dict[str, set[float]]] = {}
        for panel in self.plot.panels:
            if panel.hue is not None:
                values = sizes.setdefault(panel.hue, {}).setdefault(self.kind(panel)[1], set())
                values |= {value for _, value, _ in self.parts(panel) if value is not None}
        return {
            hue: dict(sorted(by_network.items(), key=lambda item: -len(item[1])))
            for hue, by_network in sizes.items()
        }

    def sharing_palette(self, palette: tuple[str | None, str]) -> list[Panel]:
        """Return the panels that share a palette."""
        return [panel for panel in self.plot.panels if self._palette(panel) == palette]

    def _colour(self, panel: Panel, line: Line, value: float | None) -> palettes.Colour:
        palette = self.colours[self._palette(panel)]
        if panel.hue is None:
            return palette[str(line.label)]
        return palettes.BLACK if value is None else palette[value]

    def look(self, panel: Panel, line: Line, value: float | None) -> style.Look:
        """Return the style, colour and marker of a line at a value of the hue."""
        look = {**style.LINES[line.style], "color": self._colour(panel, line, value)}
        if "marker" not in look:
            names = list(self.colours[self._palette(panel)])
            index = names.index(str(line.label)) if panel.hue is None else 0
            look["marker"] = MARKERS[index % len(MARKERS)] if self.is_marked(panel) else None
        if line.across:
            look["marker"] = None
        return look

    def is_marked(self, panel: Panel) -> bool:
        """Return whether a panel has so few points that each gets a marker."""
        return bool(self.rows(panel)[panel.x].nunique() <= 20)

    def slopes(self, panel: Panel) -> list[fits.FittedSlope]:
        """Return the fitted slopes to write in a panel."""
        slopes: list[fits.FittedSlope] = []
        for line, value, rows in self.parts(panel):
            # of several claims about a line, show the first
            for found in fits.slopes_of(self.figure.fitted, panel, line, value)[:1]:
                colour = self._colour(panel, line, value)
                name = fits.OF_ERRORS if line.reference and not line.rms else ""
                if line.reference and panel.hue and panel.hue not in found["group"]:
                    colour, name = fits.GREY, fits.OF_ALL + name
                slopes.append(fits.FittedSlope.of(found, rows[panel.x], colour, line.style, name))
        return fits.chosen(slopes)

    def _with_room_for_slopes(
        self, group: list[tuple[Panel, Axes]], limits: tuple[float, float]
    ) -> float:
        """Return the lower limit of a group of panels, moved down if slopes would hide their lines."""
        room = max(
            fits.room(ax, self.slopes(panel), _each(panel), self._axes_size) for panel, ax in group
        )
        log = group[0][0].scale == "log"
        low, high = np.log(limits) if log else limits
        low -= (high - low) * room / (1 - room)
        return float(np.exp(low) if log else low)

    # axes

    @property
    def _axes_size(self) -> tuple[float, float]:
        """The approximate width and height of the axes of a panel, in inches."""
        return _SHARE_OF_WIDTH * page.WIDTH / self.columns, _SHARE * self._panel_height

    def _alike(self, key: Callable[[Panel], Hashable]) -> list[list[tuple[Panel, Axes]]]:
        """Return the panels in groups that share an axis."""
        groups: dict[Hashable, list[tuple[Panel, Axes]]] = {}
        for panel, ax in self.panels:
            groups.setdefault(key(panel), []).append((panel, ax))
        return list(groups.values())

    def _abscissa(self, panel: Panel) -> tuple[Hashable, ...]:
        """Return the key that panels with the same x axis share; optimisers have hyperparameters of their own."""
        optimisers = ()
        if marks.is_tuned(panel):
            cells = self.figure.results.cells
            shown = cells["grid"].isin([line.grid for line in panel.lines])
            optimisers = tuple(sorted(cells.loc[shown, "optimiser"].unique()))
        key = (panel.x, panel.x_scale, panel.x_label, panel.over_hue, panel.x_limits)
        return (*key, self.kind(panel), optimisers)

    def _scales_of_tracks(self) -> optima.Scales:
        """Return the scale of the x axis of each panel with optima."""
        scales: optima.Scales = {}
        for track in self.tracks:
            panel = self.plot.panels[track.panel]
            values = self._rows_with_x(panel)[panel.x].to_numpy(float)
            scales[track.panel, panel.x] = optima.Scale(values, self.axes[track.panel].get_xlim())
        return scales

    def _titles_of_tracks(self) -> dict[int, str]:
        """Return titles for the optima of panels that share their column and their quantity with another panel.

        A title is the header of the panel's row, or the panel's title if there are no headers.
        """
        keys = [
            (k % self.columns, panel.label, panel.x) for k, panel in enumerate(self.plot.panels)
        ]
        headers = self.headers[0] if self.headers else []
        return {
            number: (headers and headers[number // self.columns]) or panel.title
            for number, (key, panel) in enumerate(zip(keys, self.plot.panels, strict=True))
            if keys.count(key) > 1
        }

    def _overlapping(self, group: list[tuple[Panel, Axes]]) -> list[list[tuple[Panel, Axes]]]:
        """Split a group into panels with overlapping ranges of x.

        A shared axis for learning rates of different orders of magnitude would be mostly empty.
        """
        overlapping: list[list[tuple[Panel, Axes]]] = []
        end = -np.inf
        for low, high, item in sorted(
            (
                (shown.min(), shown.max(), (panel, ax))
                for panel, ax in group
                for shown in [self._shown_x([panel])]
            ),
            key=lambda entry: entry[:2],
        ):
            if not overlapping or low > end:
                overlapping.append([])
            overlapping[-1].append(item)
            end = max(end, high)
        return overlapping

    def _comparable(self, panel: Panel) -> tuple[Hashable, ...]:
        """Return the key that panels with the same y axis share, in a row or, with the same limits, in all rows."""
        every_row = self.plot.transposed or panel.limits
        row = None if every_row else self._number(panel) // self.columns
        return (row, panel.label, panel.scale, panel.limits, self.kind(panel))

    def kind(self, panel: Panel) -> tuple[str, ...]:
        """Return the datasets and the networks of a panel."""
        return self._kinds[self._number(panel)]

    def _limits(self, group: list[tuple[Panel, Axes]]) -> tuple[float, float]:
        """Return the limits of the y axis of a group of panels, with room for marks at its ends.

        For hyperparameters tuned at each size, values far worse than the median do not extend the axis, but the best
        value of every line, every ring and every judged value is visible. Otherwise bands over seeds extend it, each
        end by at most `_BAND_ROOM` of the range of the lines, and single seeds are entirely visible. An axis with a
        share of samples spans at least `_LEAST_SAMPLES` samples.
        """
        panel = group[0][0]
        log = panel.scale == "log"
        centres = [points["value"] for other, _ in group for points in self._centres(other)]
        lines = [np.log(points) if log else points for points in centres if len(points)]
        if not lines:
            return (0.1, 10.0) if log else (0.0, 1.0)
        values = pd.concat(lines)
        low, high, middle = values.min(), values.max(), values.median()
        guides = [v for other, ax in group for v in marks.guides(ax, other)]
        guides = list(np.log(guides)) if log else guides
        low, high = min([low, *guides]), max([high, *guides])
        rings = [v for _, ax in group for v in marks.heights(ax)]
        rings = [float(np.log(v)) for v in rings if v > 0] if log else rings
        tuned = panel.hue is not None and panel.x not in (*SIZES, *AXES)
        if tuned and panel.best == "min" and log:
            high = max([min(high, middle + np.log(4.0)), *(line.min() for line in lines), *rings])
        if tuned and panel.best == "max" and not log:
            bests = (line.max() for line in lines)
            low = min([max(low, middle - 3 * (high - middle)), *bests, *rings])
        if not tuned:
            drawn = [band for other, _ in group for band in self._bands(other)]
            bands = pd.concat([*centres, *drawn])
            ends_of_bands = np.log(bands) if log else bands
            single = any(other.spread == "seeds" for other, _ in group)
            room = np.inf if single else _BAND_ROOM * (high - low)
            low = max(min(low, ends_of_bands.min()), low - room)
            high = min(max(high, ends_of_bands.max()), high + room)
            low, high = min([low, *rings]), max([high, *rings])
        if panel.limits:
            low, high = np.log(panel.limits) if log else panel.limits
            low, high = min([low, *rings]), max([high, *rings])
        elif not log:
            low, high = self._resolved(group, low, high)
        span = (high - low) or (abs(high) * 0.1 or 1.0)
        bottom, top = (max(marks.room(ax)[end] for _, ax in group) for end in (0, 1))
        free = _FREE_OF_LIMITS if panel.limits else _FREE
        bottom, top = max(bottom, free), max(top, free)
        length = span / (1 - bottom - top)
        ends = np.array([low - bottom * length, high + top * length])
        return tuple(np.exp(ends) if log else ends)

    def _resolved(
        self, group: list[tuple[Panel, Axes]], low: float, high: float
    ) -> tuple[float, float]:
        """Return the ends of an axis, moved apart if they magnify single samples of a share of samples."""
        infos = [metric_info(line.quantity) for panel, _ in group for line in panel.lines]
        tables = [self.rows(panel) for panel, _ in group]
        counts = [
            rows[info.samples].min()
            for info in infos
            for rows in tables
            if info.samples in rows and rows[info.samples].notna().all()
        ]
        least = _LEAST_SAMPLES / min(counts) if counts else 0.0
        if high - low >= least:
            return low, high
        tops = [info.top for info in infos if info.top is not None]
        high = min([(low + high + least) / 2, *tops])
        return high - least, high

    def _bands(self, panel: Panel) -> Iterator[pd.Series]:
        """Yield the ends of each line's band over seeds, or the smallest and largest values of single seeds.

        A judged value extends a band, but not the lower end of an error's interval, which may be 0.
        """
        for line, _, rows in self.parts(panel):
            for judged in fits.judged_of(self.figure.fitted, panel, line):
                yield pd.Series([judged.value if line.reference else judged.low, judged.high])
            points = visible(rows, log=panel.scale == "log")
            if panel.spread == "none":
                continue
            half = panel.spread == "band" and shows_half(line, points, panel)
            ends = np.array([0.25, 0.75] if half else [0.0, 1.0])
            yield points.groupby(panel.x, dropna=False)["value"].quantile(ends)

    def _mark_exits(self, panel: Panel, ax: Axes) -> None:
        """Draw arrowheads where lines leave the axes, or the limits at which they end."""
        ends = panel.limits if panel.stops_at_limits else None
        for line, value, rows in self.parts(panel):
            if not line.across:
                points = visible(rows, log=panel.scale == "log")
                colour = self._colour(panel, line, value)
                marks.arrows(ax, points, panel, colour, ends or ax.get_ylim())

    def _shown_x(self, panels: Sequence[Panel]) -> np.ndarray:
        """Return the values of x on an axis that panels share, without hyperparameters at which all runs diverged."""
        shown = [self._rows_with_x(panel)[[panel.x, "diverged"]] for panel in panels]
        lost = pd.concat(shown).groupby(panels[0].x)["diverged"].all()
        xs, stable = lost.index.to_numpy(float), np.flatnonzero(~lost.to_numpy(bool))
        if not (all(map(marks.is_tuned, panels)) and stable.size):
            return xs
        return xs[stable[0] : stable[-1] + 1]

    def _finish_x(self, panel: Panel, ax: Axes, values: np.ndarray) -> None:
        if panel.x_scale == "even":
            page.even_scale(ax, values)
            return
        if panel.x_scale == "linear":
            integers = bool(np.all(values == np.round(values)))
            page.scale_ticks(ax.xaxis, "linear", values.min(), values.max(), integers=integers)
            return
        margin = 1.12 * (values.max() / values.min()) ** 0.03
        ax.set_xlim(values.min() / margin, values.max() * margin)
        alike = [
            self._rows_with_x(other)[other.x]
            for other in self.plot.panels
            if (other.x, other.over_hue) == (panel.x, panel.over_hue)
        ]
        few = self.columns >= _NARROW
        page.size_ticks(ax.xaxis, values, pd.concat(alike).to_numpy(float), few=few)

    def _name(self, number: int, panel: Panel, ax: Axes) -> None:
        """Write row and column headers, or else titles where they change, and labels of axes that are not shared."""
        above, left = number - self.columns, number - 1
        characters = round(page.WIDTH / max(self.columns, 3) * 15)
        header = ""
        if self.headers is not None:
            row, column = divmod(number, self.columns)
            header = self.headers[0][row]
            if row == 0:
                ax.set_title(wrapped(self.headers[1], characters)[column])
        elif above < 0 or self.plot.panels[above].title != panel.title:
            ax.set_title(text.wrap(panel.title, characters))
        label = panel.x_label or self._axis_label(panel.x)
        below = number + self.columns
        is_panel_below = below < len(self.axes)
        same_below = is_panel_below and self._same_x(panel, self.plot.panels[below])
        ax.set_xlabel("")
        lowest = self._strips.get(number, ax)
        lowest.set_xlabel("" if same_below else label)
        lowest.tick_params(labelbottom=not same_below)
        alike = number % self.columns > 0 and self._comparable(
            self.plot.panels[left]
        ) == self._comparable(panel)
        label_lines = [] if alike else [text.wrap(panel.label, 28)]
        label_lines = (
            [header, *label_lines] if header and number % self.columns == 0 else label_lines
        )
        ax.set_ylabel("\n".join(label_lines))
        ax.tick_params(labelleft=not alike)

    def _axis_label(self, column: str) -> str:
        """Return the label of an x axis: name and symbol of a column, or its symbol alone if panels are narrow."""
        cells, symbols = self.figure.results.cells, self.plot.symbols
        symbol = text.symbol(column, cells, symbols)
        if self.columns >= _NARROWER and "mathrm" not in symbol:
            return f"${symbol}$"
        return text.axis_label(column, cells, symbols)

    def _same_x(self, panel: Panel, other: Panel) -> bool:
        same = (panel.x, panel.x_scale, panel.x_label) == (other.x, other.x_scale, other.x_label)
        limits = [self.axes[self._number(shown)].get_xlim() for shown in (panel, other)]
        return same and limits[0] == limits[1]


def _each(panel: Panel) -> str:
    """Return the name of a panel's hue in prose, or "line" without a hue."""
    return (panel.hue or "line").replace("_", " ")


def strip_rows(plot: Options, table: pd.DataFrame) -> list[int]:
    """Return the number of lines in the strips below each row of panels, that of the panel with most lines."""
    columns = page.shape(len(plot.panels), plot.wrap)[1]
    counts: list[int] = []
    for number, panel in enumerate(plot.panels):
        lines = zip(panel.names, panel.lines, strict=True)
        names = [name for name, line in lines if line.each and not line.across]
        rows = table[(table["panel"] == number) & table["line"].isin(names)]
        count = len(rows[["line", panel.hue]].drop_duplicates()) if marks.is_tuned(panel) else 0
        if number % columns == 0:
            counts.append(0)
        counts[-1] = max(counts[-1], count)
    return counts
