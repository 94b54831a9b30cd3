"""The row below plots over hyperparameters: the optimum against the size, with guide lines."""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.markers import CARETDOWN, CARETUP
from matplotlib.patches import Patch, Rectangle

from scaling_limits.figures.quantities import Quantity
from scaling_limits.files import JsonObject
from scaling_limits.plots.options import SIZES
from scaling_limits.plotting import page, style

HEIGHT = 1.1
"""Height of the row in inches, with its labels."""
_EXPONENTS = {0.0: "0", 0.5: r"$\frac{1}{2}$", -0.5: r"$-\frac{1}{2}$"}
"""Exponents of the guide lines. An optimum with an exponent wrong by one half follows one of the sloped lines."""
_STEEP, _STEEP_EXPONENTS = 0.75, {1.0: "1", -1.0: "\N{MINUS SIGN}1"}
"""Guide lines that are added for an optimum whose exponent is closer to them than to the others."""
_OCTAVES = 0.4  # margin above and below all optima, guide lines and claimed ranges
_LEAST_OCTAVES = 1.2  # smallest distance of the ends of the axis from its middle
_LABELS = 4  # most labels of the axis of optima
_CROWDED = (
    0.2  # fraction of the axis between guide lines below which only the sloped ones are labelled
)
_APART = 4.0  # factor between the first optima of a column above which tracks are relative to them
_RELATIVE = ", relative"
"""Addition to the labels of optima and of sizes if tracks are relative to their start."""
_LOCATED = "interpolated optimum (95 % CI)"
_BEYOND = (CARETDOWN, CARETUP)
"""Markers at the lower and upper end of the axis, where an interval extends beyond the grid."""
_SHIFT = 1.05  # factor along x between the tracks of a column
_GUIDE = "0.75"
_CLAIMED: style.Look = {"color": "#4FA968", "alpha": 0.16, "linewidth": 0.0}
"""Style of the background of the optima for which a claim is true."""
_UNJUDGED: style.Look = {"color": "0.5", "markerfacecolor": "white", "markeredgewidth": 0.8}
"""Style of optima that no claim judges."""
_LOOKS: tuple[style.Look, ...] = (
    {"color": "black", "marker": "o", "linestyle": "-"},
    {"color": "0.35", "marker": "s", "linestyle": (0, (3.5, 1.6))},
    {"color": "0.55", "marker": "D", "linestyle": (0, (1, 1.3))},
)


@dataclass(frozen=True)
class Scale:
    """A hyperparameter on an axis of a panel: its values and the limits of the axis."""

    values: np.ndarray
    limits: tuple[float, float]


Scales = dict[tuple[int, str], Scale]
"""The scale of each hyperparameter with tracks, by the number of the panel and the name of the hyperparameter."""


Shifts = tuple[float | None, float | None]
"""The smallest and the largest shift from the first optimum, in octaves; None without a bound."""


@dataclass(frozen=True)
class Track:
    """The optima of one panel against the size.

    Each point consists of the size, the optimum and both ends of its 95 % interval. An end is None if the optimum may
    lie anywhere beyond its grid. `claimed` is the range of shifts from the first optimum, in octaves, for which the
    claim is true; an end is None without a bound. `panel` is the number of the panel, and `column` its column on the
    page. If its low end is above its high end, the claim is true outside. A track that no claim has `judged` has no
    intervals, nor has the optimum on the grid at the sizes `on_grid`, which the claim does not concern.
    """

    panel: int
    column: int
    name: str
    along: str
    over: str
    points: tuple[Sequence[float | None], ...]
    judged: bool = True
    claimed: Shifts | None = None
    on_grid: tuple[float, ...] = ()

    @property
    def start(self) -> tuple[float, float]:
        """The smallest size that is judged, or the smallest size of a track without a claim, and the optimum there."""
        size, optimum, *_ = next(point for point in self.points if point[0] not in self.on_grid)
        return float(size or np.nan), float(optimum or np.nan)

    @property
    def relative(self) -> "Track":
        """The track with sizes relative to the smallest one, and optima relative to the optimum there."""
        first, start = (float(number) for number in self.points[0][:2] if number is not None)

        def ratio(number: float | None, base: float) -> float | None:
            return None if number is None else number / base

        points = [
            (ratio(size, first), *(ratio(number, start) for number in optima))
            for size, *optima in self.points
        ]
        on_grid = tuple(size / first for size in self.on_grid)
        return replace(self, points=tuple(points), on_grid=on_grid)


def judging(
    judged: Iterable[JsonObject],
    over_along: tuple[str, str | None],
    grids: Collection[str],
    quantity: Quantity,
    best_over: Iterable[str],
) -> JsonObject | None:
    """Return the first claim that judges the optimum of a quantity in a grid, or None.

    The grid may have several names. Claims that judge the grid precede claims that use it as a control. A claim whose
    optima are the best over further columns judges what is the best over these.

    Args:
        judged: the claims about optima, as in `FigureFolder.judged`.
        over_along: the hyperparameter, and the size along which its optimum is judged.
        grids: the name of the grid, or all names of grids that contain its cells.
        quantity: the quantity that is shown.
        best_over: the columns over which the best value is shown.
    """
    # an error and the accuracy have the same optimum
    shown = quantity.model_dump(exclude={"label", "complement"})
    best = set(best_over)
    as_control = None
    for claim in judged:
        claimed = Quantity.model_validate(claim["quantity"])
        same = (claim["over"], claim["along"]) == over_along
        same &= set(claim.get("profile", ())) <= best
        named = any(not set(arm["grids"]).isdisjoint(grids) for arm in claim["arms"])
        if same and named and claimed.model_dump(exclude={"label", "complement"}) == shown:
            if not set(claim["arms"][0]["grids"]).isdisjoint(grids):
                return claim
            as_control = as_control or claim
    return as_control


def track_of(claim: JsonObject, grid: str, panel: int, column: int, name: str) -> Track | None:
    """Return the optima that a claim located in a grid, or None if there are fewer than two sizes.

    Args:
        claim: a claim about an optimum, as in `FigureFolder.judged`.
        grid: the name of the grid.
        panel: the number of the panel.
        column: its column on the page.
        name: the name of the track in the legend.
    """
    for arm in claim["arms"]:
        points = [point for point in arm["optima"] if point[1] is not None]
        if grid in arm["grids"] and len(points) > 1:
            claimed = tuple(arm["claimed"]) if "claimed" in arm else None
            optima = tuple(points)
            return Track(panel, column, name, claim["along"], claim["over"], optima, True, claimed)
    return None


def draw(
    axes: Sequence[Axes],
    tracks: Sequence[Track],
    labels: Mapping[str, str],
    quantity: str,
    scales: Scales,
    titles: Mapping[int, str],
) -> None:
    """Draw the tracks of each column, and remove the axes of columns without tracks.

    Columns whose panels have equal scales have the same limits, the others the same number of octaves. If tracks of a
    column start at different sizes or far apart, as for several networks, all are relative to their start.

    Args:
        axes: the axes of the row, one for each column.
        tracks: the tracks.
        labels: the axis label of each size, and the label of the optimum of each hyperparameter.
        quantity: the quantity whose optima all tracks show, or an empty text if there are several.
        scales: the scale of each hyperparameter of each panel with tracks.
        titles: the titles of the panels, by number, below or above which others show the same quantity. The only track
            of a column has such a title.
    """
    names = _names(tracks)
    relative = _differ_in_start(tracks)
    if relative:
        tracks, labels = _relative(tracks, labels)
    columns = [[track for track in tracks if track.column == column] for column in range(len(axes))]
    groups: dict[Hashable, list[int]] = {}
    for column, (ax, column_tracks) in enumerate(zip(axes, columns, strict=True)):
        if not column_tracks:
            ax.remove()
            continue
        limits = None if relative else _scale(scales, column_tracks[0]).limits
        groups.setdefault((column_tracks[0].over, limits), []).append(column)
        _plot_tracks(ax, column_tracks, names)
        if len(column_tracks) == 1 and column_tracks[0].panel in titles:
            ax.set_title(titles[column_tracks[0].panel])
        ax.set_xlabel(labels[column_tracks[0].along])
    shown = {key: _octaves([columns[column] for column in group]) for key, group in groups.items()}
    half = max(map(np.ptp, shown.values()), default=0.0) / 2 + _OCTAVES
    half = max(half, _LEAST_OCTAVES)
    for key, group in groups.items():
        middle = (shown[key].min() + shown[key].max()) / 2
        limits = 2 ** (middle - half), 2 ** (middle + half)
        for column in group:
            ax, first = axes[column], columns[column][0]
            ax.set_ylim(*limits)
            _ticks(ax, limits, None if relative else _scale(scales, first))
            label = labels[first.over] + (f"\n({quantity})" if quantity else "")
            ax.set_ylabel(label if column == group[0] else "", size=style.SMALL)
            ax.tick_params(labelleft=column == group[0])
            _mark_limits(ax, columns[column], names)


def _scale(scales: Scales, track: Track) -> Scale:
    return scales[track.panel, track.over]


def _relative(
    tracks: Sequence[Track], labels: Mapping[str, str]
) -> tuple[list[Track], dict[str, str]]:
    """Return tracks relative to their start, and the labels of their axes."""
    return [track.relative for track in tracks], {
        key: label + _RELATIVE for key, label in labels.items()
    }


def _mark_limits(ax: Axes, tracks: Sequence[Track], names: Sequence[str]) -> None:
    """Draw what ends at the limits of a column's axes: arrows of tracks, guide lines, and the claimed range."""
    for track in tracks:
        colour = _look(track, names)["color"]
        _open_ends(ax, track, colour)
    leading = _leading(tracks)
    if leading.along in SIZES:
        _guides(ax, leading)
    first, start = leading.start
    left, right = ax.get_xlim()
    left = first / _SHIFT ** len(tracks) if leading.on_grid else left
    for claimed, last in _claimed_ranges(tracks).items():
        stop = right if last == _last_size(tracks) else last * _SHIFT ** len(tracks)
        bottom, top = ax.get_ylim()
        low, high = (
            limit if shift is None else start * 2**shift
            for shift, limit in zip(claimed, (bottom, top), strict=True)
        )
        for ends in [(low, high)] if low < high else [(bottom, high), (low, top)]:
            size = stop - left, ends[1] - ends[0]
            ax.add_patch(Rectangle((left, ends[0]), *size, zorder=0.5, **_CLAIMED))


def _plot_tracks(ax: Axes, tracks: Sequence[Track], names: Sequence[str]) -> None:
    """Plot the tracks of a column with their intervals, on logarithmic axes with a tick at each size.

    Tracks are shifted along x, so that their intervals do not hide each other.
    """
    shifts = _SHIFT ** (np.arange(len(tracks)) - (len(tracks) - 1) / 2)
    for track, shift in zip(tracks, shifts, strict=True):
        sizes, at, low, high = np.array(track.points, float).T
        sizes = sizes * shift
        errors = np.nan_to_num([at - low, high - at], nan=1e9)
        look = _look(track, names)
        ax.errorbar(sizes, at, errors, markersize=3.0, linewidth=0.9, elinewidth=0.7, **look)
        if track.on_grid:
            hollow = np.array([point[0] in track.on_grid for point in track.points])
            mark = look | _UNJUDGED | {"linestyle": "none"}
            ax.plot(sizes[hollow], at[hollow], markersize=3.0, zorder=2.2, **mark)
    sizes = np.array([point[0] for track in tracks for point in track.points], float)
    ax.set(xscale="log", yscale="log")
    ax.set_xlim(sizes.min() / 1.15, sizes.max() * 1.15)
    page.size_ticks(ax.xaxis, sizes)


def _differ_in_start(tracks: Sequence[Track]) -> bool:
    """Return whether tracks of a column start at different sizes, or at optima that are far apart."""
    for column in {track.column for track in tracks}:
        starts = [track.points[0] for track in tracks if track.column == column]
        optima = [float(optimum or np.nan) for _, optimum, *_ in starts]
        if len({size for size, *_ in starts}) > 1 or max(optima) > _APART * min(optima):
            return True
    return False


def _look(track: Track, names: Sequence[str]) -> style.Look:
    look = _LOOKS[names.index(track.name) % len(_LOOKS) if track.name in names else 0]
    return look if track.judged else look | _UNJUDGED


def _octaves(columns: Sequence[Sequence[Track]]) -> np.ndarray:
    """Return what the axes of a group show, in octaves: optima, ends of guide lines, bounds of claimed ranges."""
    shown: list[float] = []
    for tracks in columns:
        size, start = _leading(tracks).start
        optima = [float(point[1] or np.nan) for track in tracks for point in track.points]
        ranges = _claimed_ranges(tracks)
        shifts = [shift for claimed in ranges for shift in claimed if shift is not None]
        if tracks[0].along in SIZES:
            doublings = np.log2(_last_size(tracks) / size)
            shifts += [exponent * doublings for exponent in _exponents(_leading(tracks))]
        shown += [*np.log2(optima), *(np.log2(start) + np.array(shifts))]
    return np.array(shown)


def _exponents(track: Track) -> dict[float, str]:
    """Return the exponents of the guide lines of a track, with their labels."""
    sizes, optima = np.array([point[:2] for point in track.points], float).T
    slope = np.log(optima[-1] / optima[0]) / np.log(sizes[-1] / sizes[0])
    return _EXPONENTS | {e: label for e, label in _STEEP_EXPONENTS.items() if slope * e > _STEEP}


def _leading(tracks: Sequence[Track]) -> Track:
    """Return the track of a column from whose start guide lines and the claimed range are drawn."""
    return next((track for track in tracks if track.claimed is not None), tracks[0])


def _last_size(tracks: Sequence[Track]) -> float:
    """Return the largest size of a column."""
    return max(float(track.points[-1][0] or np.nan) for track in tracks)


def _claimed_ranges(tracks: Sequence[Track]) -> dict[Shifts, float]:
    """Return the claimed ranges of shifts in a column, each with the largest size to which it applies.

    There are none if claims differ about tracks up to the same size, or about tracks that start at different optima. A
    range that all claims share starts at the first of these tracks.
    """
    ranges: dict[Shifts, float] = {}
    for track in tracks:
        if track.claimed is not None:
            last = _last_size([track])
            ranges[track.claimed] = max(last, ranges.get(track.claimed, last))
    starts = {track.start for track in tracks if track.claimed is not None}
    comparable = len(starts) == 1 and len(set(ranges.values())) == len(ranges)
    return ranges if len(ranges) == 1 or comparable else {}


def _ticks(ax: Axes, limits: tuple[float, float], scale: Scale | None) -> None:
    """Place ticks in the notation of the panel's x axis, or at powers of two without one, for relative optima."""
    low, high = np.ceil(np.log2(limits[0])), np.floor(np.log2(limits[1]))
    powers = 2.0 ** np.arange(low, high + 1, max(1, -(-(high - low) // (_LABELS - 1))))
    if len(powers) > 1 and (scale is None or page.are_powers(scale.values)):
        page.size_ticks(ax.yaxis, powers, None if scale is None else scale.values)
    else:
        page.rate_ticks(ax.yaxis, *limits, few=True)


def _open_ends(ax: Axes, track: Track, colour: str) -> None:
    """Mark the ends of intervals that extend beyond the grid by arrows at the ends of the axis."""
    for size, _, *ends in track.points:
        for end, marker, limit in zip(ends, _BEYOND, ax.get_ylim(), strict=True):
            if end is None:
                look: style.Look = {"marker": marker, "markersize": 3.0, "linestyle": "none"}
                ax.plot([float(size or 0)], [limit], color=colour, clip_on=False, **look)


def _guides(ax: Axes, track: Track) -> None:
    """Draw powers of the size through the first optimum, with labels at the right end."""
    size, start = track.start
    end, (low, high) = ax.get_xlim()[1], ax.get_ylim()
    exponents = _exponents(track)
    crowded = 0.5 * np.log(end / size) < _CROWDED * np.log(high / low)
    for exponent, label in exponents.items():
        last = start * (end / size) ** exponent
        ax.plot([size, end], [start, last], color=_GUIDE, linewidth=0.8, zorder=1.0)
        # the labels of one half and one would overlap
        if crowded and (exponent == 0 or 2 * exponent in exponents):
            continue
        side = ("bottom" if exponent > 0 else "top") if crowded else "center"
        at: style.Look = {"xytext": (2, 0), "textcoords": "offset points", "va": side}
        ax.annotate(label, (end, last), size=style.SMALL, color="0.45", **at)


def title(tracks: Sequence[Track]) -> str:
    """Return the title of the legend: if the tracks are named, that their optima lie between the values of the grid."""
    judged = any(track.judged for track in tracks)
    return _LOCATED if judged and _names(tracks) else ""


def legend(tracks: Sequence[Track]) -> dict[str, Artist]:
    """Return a legend entry for each name, or one for all tracks if no column has several, and those of marks."""
    names = _names(tracks) or [_LOCATED] * any(track.judged for track in tracks)
    entries: dict[str, Artist] = {
        name: Line2D([], [], markersize=3.0, linewidth=0.9, **_LOOKS[k % len(_LOOKS)])
        for k, name in enumerate(names)
    }
    if not all(track.judged and not track.on_grid for track in tracks):
        look = _LOOKS[0] | _UNJUDGED
        entries["optimum on the grid"] = Line2D([], [], markersize=3.0, linewidth=0.9, **look)
    sizes = dict.fromkeys(track.along.replace("_", " ") for track in tracks if track.along in SIZES)
    if sizes:
        entries[f"power of the {' or '.join(sizes)}"] = Line2D([], [], color=_GUIDE, linewidth=0.8)
    columns = {track.column for track in tracks}
    if _differ_in_start(tracks):
        tracks = [track.relative for track in tracks]
    if any(_claimed_ranges([t for t in tracks if t.column == column]) for column in columns):
        entries["claimed range"] = Patch(**_CLAIMED)
    if any(end is None for track in tracks for point in track.points for end in point[2:]):
        mark: style.Look = {"marker": CARETUP, "markersize": 3.0, "linestyle": "none"}
        entries["interval open: end of the grid"] = Line2D([], [], color="black", **mark)
    return entries


def _names(tracks: Sequence[Track]) -> list[str]:
    """Return the names of tracks, or none if no column has several tracks.

    A track that no claim judges and that is alone in its column needs no name.
    """
    columns = [track.column for track in tracks]
    if len(columns) == len(set(columns)):
        return []
    named = [track for track in tracks if track.judged or columns.count(track.column) > 1]
    return list(dict.fromkeys(track.name for track in named))
