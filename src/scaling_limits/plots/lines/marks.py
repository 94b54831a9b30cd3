"""Marks on lines: what is best, how far it is shared, where training diverged, and guide lines."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from scaling_limits.plots.figure_folder import Content
from scaling_limits.plots.lines import Panel, Slope
from scaling_limits.plots.tables import visible
from scaling_limits.plotting import style
from scaling_limits.plotting.colours import Colour

NEARLY = 0.1
"""The relative excess over the best up to which a value counts as nearly as good."""
_STEP, _EDGE = 0.042, 0.03  # of an axis: between marks at its ends, and from the end
_RING, _BAR = "best, where a claim judges it", "within 10 % of the best"


def best(ax: Axes, panel: Panel, judged: Sequence[tuple[pd.DataFrame, Colour, Content]]) -> None:
    """A ring where each line is best and, at the end of the axis, a bar over all x that are nearly as good.

    Where a claim asks for the largest x `within` a share of the best, the ring stands there.
    """
    top = panel.best == "max"
    for place, (rows, colour, claim) in enumerate(judged):
        points = visible(rows, log=panel.scale == "log")
        means = points.groupby(panel.x)["value"].mean()
        if means.empty:
            continue
        xs, values = means.index.to_numpy(float), means.to_numpy(float)
        lack = 1.0 - values if top else values
        at = int(lack.argmin())
        if claim["within"] is not None:
            at = int(np.flatnonzero(lack <= (1 + claim["within"]) * lack.min())[-1])
        ring = style.RING | {"color": colour, "label": _RING}
        ax.plot(xs[[at]], values[[at]], zorder=2.6, **ring)
        nearly = xs[lack <= (1 + NEARLY) * lack.min()]
        height = _EDGE + (len(judged) - 1 - place) * _STEP
        height = 1 - height if top else height
        bar: style.Look = {"color": colour, "transform": ax.get_xaxis_transform()}
        bar["zorder"] = 2.5
        ax.plot(nearly[[0, -1]], [height] * 2, linewidth=2.4, alpha=0.45, label=_BAR, **bar)
        ax.plot(
            xs[[at]], [height], marker="|", markersize=4.0, markeredgewidth=1.2, label="_", **bar
        )


def crosses(
    ax: Axes, diverged: Iterable[tuple[Sequence[float], Colour]], direction: str | None
) -> None:
    """Crosses at the worse end of the axis for what diverged of each line: its xs, in its colour.

    Those of several lines stand over each other, the last one's at the end.
    """
    lines = [(xs, colour) for xs, colour in diverged if len(xs)]
    for place, (xs, colour) in enumerate(lines, start=1):
        height = _EDGE + (len(lines) - place) * _STEP
        height = height if direction == "max" else 1.0 - height
        look: style.Look = {"color": colour, "transform": ax.get_xaxis_transform()}
        ax.plot(xs, [height] * len(xs), zorder=3.0, label=style.DIVERGED, **style.CROSS, **look)


def guide(ax: Axes, slope: Slope, points: pd.DataFrame, panel: Panel) -> None:
    """Draw a grey line below all points, or through the common one if values are relative, with its name at the end.

    Args:
        ax: the panel's axes.
        slope: exponent and name of the line.
        points: the means of the panel's lines, with x and `value`.
        panel: the panel.
    """
    if points.empty:
        return
    xs, values = points[panel.x].to_numpy(float), points["value"].to_numpy(float)
    ends = np.array([xs.min(), xs.max()])
    exponent = panel.shown_exponent(slope)
    if panel.relative:
        start = xs[np.argmin(np.abs(np.log(values)))]
        factor = start**-exponent
    else:
        factor = 0.6 * (values / xs**exponent).min()
    heights = factor * ends**exponent
    lower, lowest = int(np.argmin(heights)), 0.5 * values.min()
    cut = exponent != 0 and heights[lower] < lowest
    if cut:
        ends[lower], heights[lower] = (lowest / factor) ** (1 / exponent), lowest
    ax.plot(ends, heights, color="0.6", linewidth=0.8, zorder=1.5, label=slope.label)
    at: style.Look = {"xy": (ends[-1], heights[-1]), "textcoords": "offset points"}
    if cut and lower == 1:
        # beside it one that is less steep may end
        at |= {"xytext": (-2, -1), "va": "top", "ha": "right"}
    else:
        at |= {"xytext": (2, 0), "va": "center"}
    ax.annotate(slope.label, size=style.SMALL, color="0.4", **at)


def room(ax: Axes) -> tuple[float, float]:
    """The shares of a y axis that marks at its lower and its upper end take."""
    places = [
        float(np.asarray(line.get_ydata())[0])
        for line in ax.lines
        if line.get_transform() == ax.get_xaxis_transform()
    ]
    low = [place for place in places if place < 0.5]
    high = [1 - place for place in places if place >= 0.5]
    return max(low, default=-_STEP) + _STEP, max(high, default=-_STEP) + _STEP


def heights(ax: Axes) -> list[float]:
    """Return the y values of the rings of a panel."""
    rings = [line for line in ax.lines if line.get_label() == _RING]
    return [float(np.asarray(line.get_ydata())[0]) for line in rings]


def guides(ax: Axes, panel: Panel) -> list[float]:
    """The lower ends of a panel's guide lines."""
    names = [slope.label for slope in panel.slopes]
    lines = [line for line in ax.lines if line.get_label() in names]
    return [float(np.asarray(line.get_ydata()).min()) for line in lines]


def legend(axes: Iterable[Axes]) -> dict[str, Artist]:
    """The entries of the marks that there are."""
    there = {line.get_label() for ax in axes for line in ax.lines}
    entries: dict[str, Artist] = {
        _RING: Line2D([], [], color="0.35", **style.RING),
        _BAR: Line2D([], [], color="0.35", linewidth=2.4, alpha=0.45),
        style.DIVERGED: style.cross(),
    }
    return {label: entry for label, entry in entries.items() if label in there}
