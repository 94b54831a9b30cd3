"""Drawing of the plane of depth exponents.

All borders come from `parameterisations.theory`, all marks from slopes fitted to the records.
"""

from functools import cached_property

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from scaling_limits.parameterisations.theory import (
    DepthExponents,
    DepthRegion,
    depth_exponents_of,
    depth_region,
)
from scaling_limits.plots.exponent_plane import ALONG, Options, X, Y, size
from scaling_limits.plots.figure_folder import FigureFolder
from scaling_limits.plotting import colours, page, style, text

UNDECIDED = "undecided"
"""The region of a point at which some quantity is not positive, so that its log-log slope is undefined."""
_MARKERS = {
    "unstable at initialisation": "X",
    "unstable in training": "^",
    "trivial": "v",
    "unfaithful": "s",
    "redundant": "D",
    "diverse": "o",
    UNDECIDED: "P",
}
_NAMES = {region: region for region in _MARKERS} | {"diverse": "diverse (Depth-µP)"}
_STROKE = withStroke(linewidth=2.0, foreground="white")
_RING: style.Look = {
    "marker": "o",
    "markersize": 11.0,
    "markerfacecolor": "none",
    "markeredgecolor": "black",
    "markeredgewidth": 1.2,
    "linestyle": "none",
    "zorder": 5,
}
_COLUMNS, _SHARES = 161, 17
_NARROW, _ASPECT = 0.3, 4.0
_NOWHERE = (np.nan, np.nan)
_NONE: tuple[None, float] = (None, np.nan)


class ExponentPlane(page.Drawing):
    """The predicted regions, and the points coloured by measured region."""

    def __init__(self, figure: FigureFolder[Options], table: pd.DataFrame) -> None:
        """Lay out the plane."""
        plot = figure.plot
        self.figure, self.plot, self.table = figure, plot, table
        self.body = figure.body(size(plot, table, page.WIDTH))
        self.axes = self.body.axes(1, 1)

    @property
    def ax(self) -> Axes:
        """The axes of the plane."""
        ax: Axes = self.axes[0, 0]
        return ax

    @cached_property
    def measured(self) -> pd.DataFrame:
        """A row for each point: its exponents, its measured slopes, and the `region` measured and `predicted`."""
        rows = []
        for _, cells in self.table.groupby([X, Y], sort=True):
            x, y = (float(cells[column].iloc[0]) for column in (X, Y))
            slopes = {str(name): _slope(part) for name, part in cells.groupby("line")}
            known = not np.isnan(list(slopes.values())).any()
            region = depth_region(**slopes, tolerance=self.plot.tolerance) if known else UNDECIDED
            regions = {"region": region, "predicted": self.region(x, y)}
            rows.append({X: x, Y: y, **slopes, **regions})
        return pd.DataFrame(rows)

    def region(self, x: float, y: float) -> DepthRegion:
        """Return the region that theory predicts at the exponents `x` and `y`."""
        return self._exponents(x, y).region

    def _exponents(self, x: float, y: float) -> DepthExponents:
        return depth_exponents_of(self._settings | {X: x, Y: y})

    @cached_property
    def _settings(self) -> dict[str, str | float | None]:
        return dict(self.table.iloc[0])

    @cached_property
    def limits(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The limits of both axes: half a grid step beyond the outermost points."""
        ends = []
        for column in (X, Y):
            values = np.unique(self.table[column])
            margin = np.diff(values).max() / 2 if len(values) > 1 else 0.5
            ends.append((float(values[0] - margin), float(values[-1] + margin)))
        return ends[0], ends[1]

    def look(self, region: str) -> style.Look:
        """Return the marker style of points measured in a region."""
        return {
            "marker": _MARKERS[region],
            "markersize": 6.0,
            "markerfacecolor": colours.REGIONS[region],
            "markeredgecolor": "white",
            "markeredgewidth": 0.6,
            "linestyle": "none",
            "zorder": 4,
        }

    def background(self, ax: Axes) -> None:
        """Fill the predicted regions, and draw the lines on which the output change does not depend on depth."""
        alphas = np.unique(self.table[X])
        # regions may begin exactly at a point's exponent
        xs = np.unique([*np.linspace(*self.limits[0], _COLUMNS), *alphas, *(alphas - 1e-6)])
        columns = [self._column(x) for x in xs]
        for region in _MARKERS:
            spans = np.array([spans.get(region, _NOWHERE) for spans, _ in columns])
            ys = np.array([border[1] if border[0] == region else np.nan for _, border in columns])
            if np.isfinite(spans).any():
                ax.fill_between(xs, *spans.T, color=_tint(region, 0.25), linewidth=0)
                self._name(ax, region, xs, spans)
            if np.isfinite(ys).any():
                look: style.Look = {"color": _tint(region, 0.6), "zorder": 2}
                if np.isfinite(ys).sum() == 1:
                    look |= {"marker": "o", "markersize": 13.0}
                ax.plot(xs, ys, linewidth=6.0, solid_capstyle="butt", **look)

    def _column(self, x: float) -> tuple[dict[str, tuple[float, float]], tuple[str | None, float]]:
        """Return the y interval of each region at one x, and the region on the border between two of them with its y.

        The exponent of depth in the output change is linear in y; the border is where it is 0.
        """
        low, high = self.limits[1]
        first, last = (self._exponents(x, y).output_change for y in (low, high))
        if not np.isfinite([first, last]).all():
            return {self.region(x, low): (low, high)}, _NONE
        y = low - first * (high - low) / (last - first)
        ends = ((low, min(y, high)), (max(y, low), high))
        spans: dict[str, tuple[float, float]] = {
            self.region(x, sum(span) / 2): span for span in ends if span[0] < span[1]
        }
        return spans, (self.region(x, y), y) if low < y < high else _NONE

    def _name(self, ax: Axes, region: str, xs: np.ndarray, spans: np.ndarray) -> None:
        """Write a region's name at the position inside it that is farthest from points and borders."""
        inside = np.isfinite(spans[:, 0])
        x, (low, high) = xs[inside], spans[inside].T
        fractions = np.linspace(0.0, 1.0, _SHARES)
        positions = np.stack(
            np.broadcast_arrays(x, low + fractions[:, None] * (high - low)), axis=-1
        )
        points = self.table[[X, Y]].drop_duplicates().to_numpy(float)
        borders = [positions[0], positions[-1], positions[:, 0], positions[:, -1]]
        extent = np.diff(self.limits)[:, 0]
        upright = np.ptp(x) < _NARROW * extent[0]
        # text is several times wider than high, so distances along it count less
        extent[1 - int(upright)] /= _ASPECT
        candidates = positions.reshape(-1, 2) / extent
        obstacles = np.concatenate([points, *borders]) / extent
        farthest = (
            np.linalg.norm(candidates[:, None] - obstacles[None], axis=2).min(axis=1).argmax()
        )
        look: style.Look = {"ha": "center", "va": "center", "path_effects": [_STROKE]}
        rotation = 90.0 if upright else 0.0
        at_x, at_y = candidates[farthest] * extent
        ax.text(at_x, at_y, _NAMES[region], rotation=rotation, zorder=5, **look)

    def complete(self) -> None:
        """Label and limit the axes, ring the points measured in another region than predicted, and write the legend."""
        results, symbols = self.figure.results, self.plot.symbols
        self.ax.set(
            xlim=self.limits[0],
            ylim=self.limits[1],
            xlabel=text.axis_label(X, results.cells, symbols),
            ylabel=text.axis_label(Y, results.cells, symbols),
        )
        for axis in (self.ax.xaxis, self.ax.yaxis):
            axis.set_major_locator(MaxNLocator(8, steps=[2.5, 5, 10]))
        entries: dict[str, Artist] = {
            _NAMES[region]: Line2D([], [], **self.look(region))
            for region in _MARKERS
            if region in {*self.measured["region"], *self.measured["predicted"]}
        }
        differing = self.measured[self.measured["region"] != self.measured["predicted"]]
        if len(differing):
            (ring,) = self.ax.plot(differing[X], differing[Y], **_RING)
            entries[f"measured in another region ({len(differing)} of {len(self.measured)})"] = ring
        self.body.legend(page.Block("", entries))


def _tint(region: str, fraction: float) -> colours.Colour:
    """Return the colour of a region mixed with white; `fraction` is the fraction of the region's colour."""
    red, green, blue = 1 - fraction * (1 - np.array(colours.REGIONS[region]))
    return red, green, blue


def _slope(rows: pd.DataFrame) -> float:
    """Return the log-log slope of means over seeds against depth.

    It is infinite after divergence, and NaN if there is a single depth or a mean is not positive.
    """
    means = rows["value"].groupby(rows[ALONG]).mean()
    if np.isinf(means).any():
        return np.inf
    if len(means) < 2 or (means <= 0).any():
        return np.nan
    return float(np.polyfit(np.log(means.index.to_numpy(float)), np.log(means), 1)[0])
