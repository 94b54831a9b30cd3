"""The row below plots over hyperparameters: the optimum against the size, with guide lines."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.markers import CARETDOWN, CARETUP

from scaling_limits.figures.quantities import Quantity
from scaling_limits.files import JsonObject
from scaling_limits.plots.options import SIZES
from scaling_limits.plotting import page, style

HEIGHT = 1.05
"""Height of the row in inches, with its labels."""
_EXPONENTS = {0.0: "0", 0.5: r"$\frac{1}{2}$", -0.5: r"$-\frac{1}{2}$"}
"""Exponents of the guide lines. An optimum with an exponent wrong by one half follows one of the sloped lines."""
_STEEP, _STEEP_EXPONENTS = 0.75, {1.0: "1", -1.0: "\N{MINUS SIGN}1"}
"""Guide lines that are added for an optimum whose exponent is closer to them than to the others."""
_OCTAVES = 1.2  # smallest margin above and below all optima
_LABELS = 4  # most labels of the axis of optima
_NEAR_END = (
    0.1  # fraction of the axis next to its ends, where labels of guide lines are shifted inwards
)
_CROWDED = (
    0.2  # fraction of the axis between guide lines below which only the sloped ones are labelled
)
_APART = 4.0  # factor between the first optima of a column above which tracks are relative to them
_RELATIVE, _SIZES_RELATIVE = ", relative", ", relative to smallest"
"""Additions to the labels of optima and of sizes if tracks are relative to their start."""
_BEYOND = (CARETDOWN, CARETUP)
"""Markers at the lower and upper end of the axis, where an interval extends beyond the grid."""
_SHIFT = 1.05  # factor along x between the tracks of a column
_GUIDE = "0.75"
_UNJUDGED = "0.72"  # grey of optima that no claim judges
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


@dataclass(frozen=True)
class Track:
    """The optima of one panel against the size.

    Each point consists of the size, the optimum and both ends of its 95 % interval. An end is None if the optimum may
    lie anywhere beyond its grid. `panel` is the number of the panel, and `column` its column on the page. A track that
    no claim has `judged` has no intervals.
    """

    panel: int
    column: int
    name: str
    along: str
    over: str
    points: tuple[Sequence[float | None], ...]
    judged: bool = True

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
        return replace(self, points=tuple(points))


def judging(
    judged: Iterable[JsonObject],
    over_along: tuple[str, str | None],
    grid: str,
    quantity: Quantity,
    best_over: Iterable[str],
) -> JsonObject | None:
    """Return the first claim that judges the optimum of a quantity in a grid, or None.

    A claim whose optima are the best over further columns judges what is the best over these.

    Args:
        judged: the claims about optima, as in `FigureFolder.judged`.
        over_along: the hyperparameter, and the size along which its optimum is judged.
        grid: the name of the grid.
        quantity: the quantity that is shown.
        best_over: the columns over which the best value is shown.
    """
    # an error and the accuracy have the same optimum
    shown = quantity.model_dump(exclude={"label", "complement"})
    best = set(best_over)
    for claim in judged:
        claimed = Quantity.model_validate(claim["quantity"])
        same = (claim["over"], claim["along"]) == over_along
        same &= set(claim.get("profile", ())) <= best
        named = any(grid in arm["grids"] for arm in claim["arms"])
        if same and named and claimed.model_dump(exclude={"label", "complement"}) == shown:
            return claim
    return None


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
            return Track(panel, column, name, claim["along"], claim["over"], tuple(points))
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
    located = {
        key: _judged_octaves([track for column in group for track in columns[column]])
        for key, group in groups.items()
    }
    half = max(map(np.ptp, located.values()), default=0.0) / 2 + _OCTAVES
    for key, group in groups.items():
        middle = (located[key].min() + located[key].max()) / 2
        limits = 2 ** (middle - half), 2 ** (middle + half)
        for column in group:
            ax, first = axes[column], columns[column][0]
            ax.set_ylim(*limits)
            _ticks(ax, limits, _scale(scales, first))
            label = labels[first.over] + (f"\n({quantity})" if quantity else "")
            ax.set_ylabel(label if column == group[0] else "")
            ax.tick_params(labelleft=column == group[0])
            _mark_limits(ax, columns[column], names)


def _scale(scales: Scales, track: Track) -> Scale:
    return scales[track.panel, track.over]


def _relative(
    tracks: Sequence[Track], labels: Mapping[str, str]
) -> tuple[list[Track], dict[str, str]]:
    """Return tracks relative to their start, and the labels of their axes."""
    return [track.relative for track in tracks], {
        key: label + (_SIZES_RELATIVE if key in SIZES else _RELATIVE)
        for key, label in labels.items()
    }


def _mark_limits(ax: Axes, tracks: Sequence[Track], names: Sequence[str]) -> None:
    """Draw what ends at the limits of a column's axis: arrows of its tracks, and guide lines."""
    for track in tracks:
        colour = _look(track, names)["color"]
        _open_ends(ax, track, colour)
        _beyond(ax, track, colour)
    if tracks[0].along in SIZES:
        _guides(ax, tracks[0])


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
    sizes = np.array([point[0] for track in tracks for point in track.points], float)
    ax.set(xscale="log", yscale="log")
    ax.set_xlim(sizes.min() / 1.15, sizes.max() * 1.35)
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
    return look if track.judged else {**look, "color": _UNJUDGED}


def _judged_octaves(tracks: Sequence[Track]) -> np.ndarray:
    """Return the optima that determine the limits of an axis; optima that no claim judges may leave it."""
    judged = [track for track in tracks if track.judged] or tracks
    return np.concatenate([_octaves(track) for track in judged])


def _octaves(track: Track) -> np.ndarray:
    return np.log2([float(point[1] or np.nan) for point in track.points])


def _ticks(ax: Axes, limits: tuple[float, float], scale: Scale) -> None:
    """Place ticks in the notation of the panel's x axis."""
    low, high = np.ceil(np.log2(limits[0])), np.floor(np.log2(limits[1]))
    powers = 2.0 ** np.arange(low, high + 1, max(1, -(-(high - low) // (_LABELS - 1))))
    if page.are_powers(scale.values) and len(powers) > 1:
        page.size_ticks(ax.yaxis, powers, scale.values)
    else:
        page.scale_ticks(ax.yaxis, "log", *limits, few=True)


def _open_ends(ax: Axes, track: Track, colour: str) -> None:
    """Mark the ends of intervals that extend beyond the grid by arrows at the ends of the axis."""
    for size, _, *ends in track.points:
        for end, marker, limit in zip(ends, _BEYOND, ax.get_ylim(), strict=True):
            if end is None:
                look: style.Look = {"marker": marker, "markersize": 3.0, "linestyle": "none"}
                ax.plot([float(size or 0)], [limit], color=colour, clip_on=False, **look)


def _beyond(ax: Axes, track: Track, colour: str) -> None:
    """Draw an arrowhead at the end of the axis for each optimum beyond it."""
    low, high = ax.get_ylim()
    for size, optimum, *_ in track.points:
        if optimum is not None and size is not None and not low <= optimum <= high:
            limit, marker = (high, "^") if optimum > high else (low, "v")
            look: style.Look = {**style.ARROW, "marker": marker, "color": colour}
            ax.plot([size], [limit], label=style.LEAVES, clip_on=False, **look)


def _guides(ax: Axes, track: Track) -> None:
    """Draw powers of the size through the first optimum, up to the limits of the axes."""
    size, start, *_ = (float(number) for number in track.points[0] if number is not None)
    end = max(float(point[0] or size) for point in track.points) * 1.12
    low, high = ax.get_ylim()
    crowded = 0.5 * np.log(end / size) < _CROWDED * np.log(high / low)
    last_size, last_optimum = (float(number or np.nan) for number in track.points[-1][:2])
    slope = np.log(last_optimum / start) / np.log(last_size / size)
    steep = {e: label for e, label in _STEEP_EXPONENTS.items() if slope * e > _STEEP}
    # there is no room for the label of one half next to that of one
    labels = {e: label for e, label in _EXPONENTS.items() if not (crowded and e / 0.5 in steep)}
    for exponent, label in (labels | steep).items():
        last = float(np.clip(start * (end / size) ** exponent, low, high))
        stop = end if exponent == 0 else min(end, size * (last / start) ** (1 / exponent))
        ax.plot([size, stop], [start, last], color=_GUIDE, linewidth=0.8, zorder=1.0)
        fraction = np.log(last / low) / np.log(high / low)
        side = "bottom" if fraction < _NEAR_END else "top" if fraction > 1 - _NEAR_END else "center"
        if crowded:
            side = "bottom" if exponent > 0 else "top"
        look: style.Look = {"size": style.SMALL, "color": "0.45", "va": side}
        if exponent or not crowded:
            ax.annotate(label, (stop, last), (2, 0), textcoords="offset points", **look)


def title(tracks: Sequence[Track]) -> str:
    """Return the title of the legend: if the tracks are named, that their optima lie between the values of the grid."""
    judged = any(track.judged for track in tracks)
    return "interpolated optimum, 95 % interval" if judged and _names(tracks) else ""


def legend(tracks: Sequence[Track]) -> dict[str, Artist]:
    """Return a legend entry for each name, or one for all tracks if no column has several, and those of marks."""
    names = _names(tracks) or ["interpolated optimum, 95 % interval"] * any(
        track.judged for track in tracks
    )
    entries: dict[str, Artist] = {
        name: Line2D([], [], markersize=3.0, linewidth=0.9, **_LOOKS[k % len(_LOOKS)])
        for k, name in enumerate(names)
    }
    if not all(track.judged for track in tracks):
        look = {**_LOOKS[0], "color": _UNJUDGED}
        entries["optimum on the grid, without a claim"] = Line2D(
            [], [], markersize=3.0, linewidth=0.9, **look
        )
    sizes = dict.fromkeys(track.along.replace("_", " ") for track in tracks if track.along in SIZES)
    if sizes:
        entries[f"power of the {' or '.join(sizes)}"] = Line2D([], [], color=_GUIDE, linewidth=0.8)
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
