"""Marks on lines: optima, the range of nearly optimal values, divergence, and guide lines."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation
from numpy.typing import ArrayLike, NDArray

from scaling_limits.figures.quantities import Quantity
from scaling_limits.files import JsonObject
from scaling_limits.plots.lines import Level, Panel, Slope
from scaling_limits.plots.options import SIZES
from scaling_limits.plots.tables import visible
from scaling_limits.plotting import style
from scaling_limits.plotting.colours import Colour
from scaling_limits.records import AXES

STRIP_ROW = 0.07
"""Height of one row of a strip, in inches."""
_STEP, _EDGE = 0.042, 0.03  # fractions of an axis: between marks at its ends, and from the end
_JUDGED, _RING = "optimum (judged)", "optimum"
_STABLE, _END = "edge of stability", "best at the end of the sweep"
_ERROR = "error (1 \N{MINUS SIGN} accuracy) "
_OF_LOWEST = " % of the lowest"
_ERROR_OF_MEAN = "error of the mean over seeds (judged), with 95 % interval"
_RATIO = "judged ratio, with 95 % interval"
_VALUE_MARK: style.Look = {
    "marker": "D",
    "markersize": 3.4,
    "markerfacecolor": "white",
    "markeredgewidth": 0.9,
    "linestyle": "none",
}
_VALUE_STEP = 0.05  # distance of the marks of judged values at one size, in inches
_UNTRAINED = "nowhere better than chance"
_Transformation = Callable[[ArrayLike], NDArray[np.float64]]
_SCALES: dict[str, tuple[_Transformation, _Transformation]] = {
    "linear": (np.asarray, np.asarray),
    "log": (np.log, np.exp),
    # linear between neighbouring values
    "even": (np.asarray, np.asarray),
}
"""The transformation of an axis and its inverse."""
_GREY = "0.55"
_UNJUDGED: style.Look = {"color": _GREY, "markeredgewidth": 0.9}
"""Style of the rings of optima that no claim judges."""
_GUIDE: style.Look = {"color": "0.6", "linewidth": 0.8, "linestyle": (0, (8, 2, 1, 2))}
"""Style of guide lines, unlike any line of data."""
_TINY = 1e-12  # lower end of intervals that contain 0, below all axes; 1 / _TINY is above them
_NAMES_APART = 0.08  # smallest distance of names of guide lines, as a fraction of the values' range


def has_optima(panel: Panel) -> bool:
    """Return whether x is a hyperparameter with an optimum for each line."""
    return panel.best is not None and panel.x not in (*SIZES, *AXES)


def is_tuned(panel: Panel) -> bool:
    """Return whether x is a hyperparameter with an optimum for each value of the hue."""
    return has_optima(panel) and panel.hue is not None


@dataclass(frozen=True)
class Tuned:
    """A line over a hyperparameter: quantity, rows of the table, colour, and the claim that judges its optimum.

    A line that is not `solid` is a control or another comparison.
    """

    quantity: Quantity
    rows: pd.DataFrame
    colour: Colour
    claim: JsonObject | None
    solid: bool = True


def optima(
    ax: Axes, panel: Panel, lines: Sequence[Tuned], num_rows: int, row_height: float
) -> Axes:
    """Ring the optimum of each line, and add a strip below the axes with a row for each line.

    A row shows the optimum, as an arrowhead at an end of the sweep, a bar over all nearly optimal x, and where training
    diverges. Rings of optima that no claim judges are grey. Rings of comparisons are smaller, with a hollow mark in the
    strip. If a claim asks for the largest x `within` a factor of the best value, and no other claim judges the optimum,
    this x is ringed. A line that is nowhere better than chance has no optimum but a dotted row.

    Args:
        ax: the axes of the panel.
        panel: the panel.
        lines: its lines, the smallest size first.
        num_rows: the number of rows of the strip, equal for panels side by side.
        row_height: the height of a row as a fraction of the axes.

    Returns:
        The axes of the strip, which carry the ticks of x.
    """
    height = num_rows * row_height
    bar = ("" if panel.best == "min" else _ERROR) + f"within {100 * panel.nearly:g}{_OF_LOWEST}"
    strip = ax.inset_axes((0.0, -height, 1.0, height), sharex=ax)
    strip.set(ylim=(num_rows - 0.4, -0.6), yticks=[], facecolor="0.96")
    strip.spines[["top", "left", "right"]].set_visible(False)
    ax.tick_params(labelbottom=False, bottom=False, which="both")
    for row, line in enumerate(lines):
        xs, values, lack = _curve(panel, line.rows)
        _edges(strip, panel, line, row)
        if not xs.size:
            continue
        if not line.quantity.learned(float(lack.min())):
            dots: style.Look = {"color": line.colour, "linestyle": ":", "linewidth": 1.0}
            strip.plot(xs[[0, -1]], [row] * 2, label=_UNTRAINED, **dots)
            continue
        within = (line.claim or {}).get("within")
        at = _best(lack, within)
        judged = line.claim is not None
        ring = style.RING | {"color": line.colour, "label": _JUDGED if judged else _RING}
        if not judged:
            ring |= _UNJUDGED
        if not line.solid:
            ring |= {"markersize": 3.4, "markeredgewidth": 0.8}
        ax.plot(xs[[at]], values[[at]], zorder=2.6, **ring)
        nearly = xs[lack <= (1 + panel.nearly) * lack.min()]
        look: style.Look = {"color": line.colour, "solid_capstyle": "round"}
        if nearly.size > 1:
            strip.plot(nearly[[0, -1]], [row] * 2, linewidth=2.4, alpha=0.4, label=bar, **look)
        mark = optimum_mark(line.colour, solid=line.solid)
        # the first and the last x of the sweep, unless training diverges there
        for end, marker in ((line.rows[panel.x].min(), "<"), (line.rows[panel.x].max(), ">")):
            if xs[at] == end and (lack == lack[at]).sum() == 1:
                mark |= {"marker": marker, "markersize": 3.8, "label": _END}
        strip.plot(xs[[at]], [row], **{"label": "_", **look, **mark})
    return strip


def optimum_mark(colour: Colour, *, solid: bool) -> style.Look:
    """Return the style of the mark of an optimum in a strip; comparisons, which are not `solid`, have a hollow one."""
    return {"marker": "o", "markersize": 2.6, "markerfacecolor": colour if solid else "white"}


def ring(ax: Axes, panel: Panel, rows: pd.DataFrame, quantity: Quantity) -> None:
    """Ring the optimum of a line in grey, unless several points are best or none is better than chance."""
    xs, values, lack = _curve(panel, rows)
    at = np.flatnonzero(lack == lack.min(initial=np.inf))
    if len(xs) > 1 and len(at) == 1 and quantity.learned(float(lack.min())):
        ax.plot(xs[at], values[at], zorder=2.6, label=_RING, **style.RING | _UNJUDGED)


def best_x(
    panel: Panel, rows: pd.DataFrame, quantity: Quantity, within: float | None = None
) -> float | None:
    """Return the x at which the centre of a line is best, or None if nothing is visible or better than chance.

    With `within`, it is the largest x at which the centre exceeds the best one by at most this fraction, unless the
    grid ends there.
    """
    xs, _, lack = _curve(panel, rows)
    if not xs.size or not quantity.learned(float(lack.min())):
        return None
    x = float(xs[_best(lack, within)])
    return None if within and x == rows[panel.x].max() else x


def _best(lack: NDArray[np.float64], within: float | None) -> int:
    """Return the position of the smallest value, or of the last one at most the fraction `within` above it."""
    return int(np.flatnonzero(lack <= (1 + within) * lack.min())[-1] if within else lack.argmin())


def _curve(panel: Panel, rows: pd.DataFrame) -> tuple[NDArray[np.float64], ...]:
    """Return the x of a line's visible points, their centres, and what is smallest where the centre is best."""
    xs, values = _centres(visible(rows, log=panel.scale == "log"), panel)
    return xs, values, 1.0 - values if panel.best == "max" else values


def _centres(points: pd.DataFrame, panel: Panel) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the x of a line's points and the mean or median over seeds at each."""
    centres = points.groupby(panel.x)["value"].agg(panel.centre)
    return centres.index.to_numpy(float), centres.to_numpy(float)


def _edges(strip: Axes, panel: Panel, line: Tuned, row: int) -> None:
    """Mark the last stable x next to divergence, and each x between stable ones at which training diverged."""
    lost = line.rows.groupby(panel.x)["diverged"].any()
    xs, is_lost = lost.index.to_numpy(float), lost.to_numpy(bool)
    stable = np.flatnonzero(~is_lost)
    look: style.Look = {"color": line.colour, "linestyle": "none"}
    if stable.size == 0:
        strip.plot(xs[:1], [row], label=style.DIVERGED, **style.CROSS | look)
        return
    first, last = int(stable[0]), int(stable[-1])
    ends = [xs[last]] * (last < xs.size - 1) + [xs[first]] * (first > 0)
    tick: style.Look = {"marker": "|", "markersize": 4.5, "markeredgewidth": 1.0}
    if ends:
        strip.plot(ends, [row] * len(ends), label=_STABLE, **tick, **look)
    between = xs[first:last][is_lost[first:last]]
    if between.size:
        strip.plot(between, [row] * between.size, label=style.DIVERGED, **style.CROSS | look)


def crosses(
    ax: Axes, diverged: Iterable[tuple[Sequence[float], Colour]], direction: str | None
) -> None:
    """Draw crosses at the worse end of the y axis where lines diverged.

    Crosses of several lines are stacked, those of the last line at the end of the axis.

    Args:
        ax: the axes.
        diverged: for each line, the x at which it diverged and its colour.
        direction: "max" if large values are best; crosses are then at the bottom instead of the top.
    """
    lines = [(xs, colour) for xs, colour in diverged if len(xs)]
    for rank, (xs, colour) in enumerate(lines, start=1):
        height = _EDGE + (len(lines) - rank) * _STEP
        height = height if direction == "max" else 1.0 - height
        look: style.Look = {"color": colour, "transform": ax.get_xaxis_transform()}
        ax.plot(xs, [height] * len(xs), zorder=3.0, label=style.DIVERGED, **style.CROSS, **look)


def within_limits(points: pd.DataFrame, panel: Panel) -> pd.DataFrame:
    """Return the points of a line up to the point at which its centre first leaves the panel's limits.

    This point is the last one. A line that starts outside has no points.
    """
    assert panel.limits is not None
    xs, outside, exits = _exits(points, panel, panel.limits)
    if not outside.any():
        return points
    inside = points[points[panel.x].isin(xs[: int(outside.argmax())])]
    end = pd.DataFrame([] if outside[0] else exits[:1], columns=[panel.x, "value"])
    return pd.concat([inside, end], ignore_index=True)


def arrows(
    ax: Axes, points: pd.DataFrame, panel: Panel, colour: Colour, limits: tuple[float, float]
) -> None:
    """Draw arrowheads where the centre of a line crosses limits of y; only the first if the line ends there."""
    _, outside, exits = _exits(points, panel, limits)
    if panel.stops_at_limits:
        exits = [] if outside[:1].any() else exits[:1]
    for x, y in exits:
        look: style.Look = {
            **style.ARROW,
            "marker": "^" if y == limits[1] else "v",
            "color": colour,
        }
        ax.plot(x, y, label=style.LEAVES, clip_on=False, zorder=2.6, **look)


def _exits(
    points: pd.DataFrame, panel: Panel, limits: tuple[float, float]
) -> tuple[NDArray[np.float64], NDArray[np.bool_], list[tuple[float, float]]]:
    """Return the x of a line, whether its centre is outside of limits there, and the points where it crosses them."""
    xs, values = _centres(points, panel)
    outside = (values < limits[0]) | (values > limits[1])
    # between two points the line is straight on the axes, which may be logarithmic
    (x, x_back), (y, _) = _SCALES[panel.x_scale], _SCALES[panel.scale]
    exits = []
    for first in np.flatnonzero(outside[1:] != outside[:-1]):
        both = slice(first, first + 2)
        limit = limits[int(values[both].max() > limits[1])]
        ends = sorted(zip(y(values[both]), x(xs[both]), strict=True))
        exits.append((float(x_back(np.interp(y(limit), *np.transpose(ends)))), limit))
    return xs, outside, exits


def guide(
    ax: Axes, slope: Slope, lines: Sequence[pd.DataFrame], panel: Panel, named: Sequence[float]
) -> list[float]:
    """Draw a grey guide line with its name at its right end, or above its left end if another name is in the way.

    It lies below the line whose slope is closest to its own, or passes through the common starting point if values are
    relative. It ends at half of the smallest value, or at the lower one of the panel's limits.

    Args:
        ax: the panel's axes.
        slope: exponent and name of the line.
        lines: the means or medians of each of the panel's lines, with x and `value`.
        panel: the panel.
        named: the heights of the right ends at which names of other guide lines are written.

    Returns:
        The height of the line's right end if its name is written there.
    """
    points = pd.concat(lines)
    if points.empty:
        return []
    xs, values = points[panel.x].to_numpy(float), points["value"].to_numpy(float)
    ends, exponent = np.array([xs.min(), xs.max()]), panel.shown_exponent(slope)
    if panel.relative:
        start = xs[np.argmin(np.abs(np.log(values)))]
        factor = start**-exponent
    else:
        factor = 0.6 * _nearest(lines, panel.x, exponent).min()
    heights = factor * ends**exponent
    lower = int(np.argmin(heights))
    lowest = panel.limits[0] if panel.limits else 0.5 * values.min()
    cut = exponent != 0 and heights[lower] < lowest
    if cut:
        ends[lower], heights[lower] = (lowest / factor) ** (1 / exponent), lowest
    ax.plot(ends, heights, zorder=1.5, label=slope.label, **_GUIDE)
    at: style.Look = {"xy": (ends[-1], heights[-1]), "textcoords": "offset points"}
    least = _NAMES_APART * np.log(values.max() / lowest)
    at_end = False
    if cut and lower == 1:
        # a less steep guide line may end to its right
        below: style.Look = {"xytext": (-2, -1), "va": "top"}
        within: style.Look = {"xytext": (-9, -1), "va": "bottom"}
        at |= {"ha": "right", **(within if panel.limits else below)}
    elif any(abs(np.log(heights[-1] / other)) < least for other in named):
        at |= {"xy": (ends[0], heights[0]), "xytext": (0, 1.5), "va": "bottom"}
    else:
        at |= {"xytext": (2, 0), "va": "center"}
        at_end = True
    ax.annotate(slope.label, size=style.SMALL, color="0.4", **at)
    return [float(heights[-1])] if at_end else []


def _nearest(lines: Sequence[pd.DataFrame], x: str, exponent: float) -> NDArray[np.float64]:
    """Return the values of the line whose slope is closest to `exponent`, divided by x to this power."""

    def distance(line: pd.DataFrame) -> float:
        if len(line) < 2:
            return np.inf
        first, last = np.log(line[[x, "value"]].to_numpy(float)[[0, -1]])
        return abs(float((last[1] - first[1]) / (last[0] - first[0])) - exponent)

    nearest = min((line for line in lines if len(line)), key=distance)
    return nearest["value"].to_numpy(float) / nearest[x].to_numpy(float) ** exponent


def level(ax: Axes, line: Level) -> None:
    """Draw a grey horizontal line with its label at the right end."""
    ax.axhline(line.value, zorder=1.4, **_GUIDE)
    look: style.Look = {"size": style.SMALL, "color": "0.4", "va": "center"}
    at: style.Look = {"xycoords": ax.get_yaxis_transform(), "textcoords": "offset points"}
    ax.annotate(line.label, (1.0, line.value), (2, 0), **at, **look)


def room(ax: Axes) -> tuple[float, float]:
    """Return the fractions of the y axis that marks at its lower and upper end occupy."""
    positions = [
        float(np.asarray(line.get_ydata())[0])
        for line in ax.lines
        if line.get_transform() == ax.get_xaxis_transform()
    ]
    low = [position for position in positions if position < 0.5]
    high = [1 - position for position in positions if position >= 0.5]
    return max(low, default=-_STEP) + _STEP, max(high, default=-_STEP) + _STEP


def judged(
    ax: Axes,
    found: tuple[float, float, float, float],
    colour: Colour,
    *,
    errors: bool,
    place: float = 0.0,
) -> None:
    """Draw a judged value with its interval, which is open below if it contains 0.

    Args:
        ax: the axes of the panel.
        found: the size, the value, and both ends of its interval.
        colour: the colour of the line.
        errors: whether the value is an error of a mean over seeds, otherwise a ratio.
        place: the distance to the right at which it is drawn, in steps that keep several marks at one size apart.
    """
    size, value, low, high = found
    shift = ScaledTranslation(place * _VALUE_STEP, 0, ax.figure.dpi_scale_trans)
    look: style.Look = {"color": colour, "transform": ax.transData + shift}
    # 0 and infinity have no place on a logarithmic axis
    ends = max(low, _TINY), min(high, 1 / _TINY)
    ax.vlines(size, *ends, linewidth=0.9, zorder=2.5, **look)
    label = _ERROR_OF_MEAN if errors else _RATIO
    ax.plot([size], [value], zorder=2.6, label=label, **look, **_VALUE_MARK)


def heights(ax: Axes) -> list[float]:
    """Return the y values of the rings and of the judged values in a panel."""
    rings = [
        line for line in ax.lines if line.get_label() in (_JUDGED, _RING, _ERROR_OF_MEAN, _RATIO)
    ]
    return [float(np.asarray(line.get_ydata())[0]) for line in rings]


def guides(ax: Axes, panel: Panel) -> list[float]:
    """Return the lower ends of a panel's sloped guide lines and the values of its horizontal ones."""
    names = [slope.label for slope in panel.slopes]
    lines = [line for line in ax.lines if line.get_label() in names]
    lower = [float(np.asarray(line.get_ydata()).min()) for line in lines]
    return [*lower, *(line.value for line in panel.levels)]


def legend(axes: Iterable[Axes]) -> dict[str, Artist]:
    """Return the legend entries of the marks that occur on the axes and their strips."""
    all_axes = [child for ax in axes for child in (ax, *ax.child_axes)]
    labels = {line.get_label() for ax in all_axes for line in ax.lines}
    tick: style.Look = {"marker": "|", "markersize": 4.5, "linestyle": "none"}
    dot: style.Look = {"marker": "o", "markersize": 2.6, "markerfacecolor": "0.35"}
    bar = Line2D([], [], color="0.75", linewidth=2.4, markeredgecolor="0.35", **dot)
    bars = {label: bar for label in sorted(map(str, labels)) if label.endswith(_OF_LOWEST)}
    errors = {label for label in bars if label.startswith(_ERROR)}
    if 0 < len(errors) < len(bars):
        bars = {f"loss or {label}": bar for label in errors}
        labels |= set(bars)
    entries: dict[str, Artist] = {
        _JUDGED: Line2D([], [], color="0.15", **style.RING),
        _RING: Line2D([], [], color=_GREY, **style.RING),
        **bars,
        _END: Line2D([], [], color="0.35", linestyle="none", marker=">", markersize=3.8),
        _STABLE: Line2D([], [], color="0.35", **tick),
        **{
            label: Line2D([], [], color="0.35", **_VALUE_MARK) for label in (_ERROR_OF_MEAN, _RATIO)
        },
        _UNTRAINED: Line2D([], [], color="0.35", linestyle=":", linewidth=1.0),
        style.DIVERGED: style.cross(),
        style.LEAVES: Line2D([], [], color="0.35", marker="^", **style.ARROW),
    }
    return {label: entry for label, entry in entries.items() if label in labels}
