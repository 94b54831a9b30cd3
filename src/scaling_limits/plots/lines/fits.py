"""Fitted slopes of lines, as measured by claims, written where they hide least of the lines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from scaling_limits.figures.quantities import Quantity
from scaling_limits.files import JsonObject
from scaling_limits.plots.lines import Line, Panel
from scaling_limits.plotting import style
from scaling_limits.plotting.colours import Colour
from scaling_limits.plotting.text import short

MOST = 4
"""Most slopes that are written individually; of more, only the range is written."""
_COMPARISONS = 2  # most slopes of comparisons that are written below such a range
GUIDES = 1.6
"""Lines with a smaller `zorder` are guides, on which slopes may be written."""
LEGEND = "number: slope"
WITH_INTERVAL = " ± half of its 95 % interval"
PART = ", fitted sizes"
"""Addition to the legend if some slopes are fitted to a part of a line."""
OF_ALL = "coloured, "
"""Precedes a slope that is common to the lines of all values of the hue."""
OF_ERRORS = "r.m.s. "
"""Precedes the slope of errors, which claims fit to the root mean square over training."""
_STYLES = {
    "dashed": "\N{BOX DRAWINGS LIGHT DOUBLE DASH HORIZONTAL} ",
    "dotted": "\N{MIDLINE HORIZONTAL ELLIPSIS} ",
}
_SAMPLES = 9  # sampled points on each line segment
GREY = (0.25, 0.25, 0.25)
_LEAST_WIDTH = 0.45  # of the text, as a fraction of the axis
_CHARACTER = 0.05  # mean width of a character of text, in inches
_GAP = 0.01  # smallest distance of the text from lines above it, as a fraction of the axis
_HEIGHTS = 9  # heights at which the text may be placed
_LINE = 0.1  # height of a line of text, in inches


@dataclass(frozen=True)
class FittedSlope:
    """A fitted slope with its confidence interval, the colour and style of its line, and a name that precedes it.

    `sizes` are the smallest and the largest fitted size, and `ends` those of the line.
    """

    value: float
    interval: tuple[float, float] | None
    colour: Colour
    style: str = "solid"
    sizes: tuple[float, float] = (0.0, 0.0)
    ends: tuple[float, float] = (0.0, 0.0)
    name: str = ""

    @classmethod
    def of(
        cls, fit: JsonObject, x: pd.Series, colour: Colour, style: str, name: str = ""
    ) -> "FittedSlope":
        """Return the slope of a claim's fit to a line with the given values of x."""
        interval = tuple(fit["interval"]) if fit["interval"] else None
        ends = (float(x.min()), float(x.max()))
        return cls(fit["slope"], interval, colour, style, tuple(fit["sizes"] or ends), ends, name)

    @property
    def fitted(self) -> str:
        """The ends of the fitted part after a comma; empty if all of the line is fitted."""
        return "" if self.sizes == self.ends else f", {_sizes(self.sizes)}"

    @property
    def is_common(self) -> bool:
        """Whether the slope is common to the lines of all values of the hue, and to panels of all steps."""
        return self.name.startswith(OF_ALL)

    @property
    def text(self) -> str:
        """The slope with half the width of its interval, as text, after its name and a sign for the line's style."""
        text = _STYLES.get(self.style, "") + self.name + _number(self.value)
        if self.interval is not None:
            text += f" ± {(self.interval[1] - self.interval[0]) / 2:.2f}"
        return text


class Judged(NamedTuple):
    """A judged relative error or ratio at a size, and both ends of its interval."""

    size: float
    value: float
    low: float
    high: float


def slopes_of(
    fitted: Sequence[JsonObject], panel: Panel, line: Line, value: float | None
) -> list[JsonObject]:
    """Return the fits along x of claims about a line of a panel, with `slope`, `interval` and `sizes`.

    Panels of transformed values, lines with a reference to other cells, and repeated lines have none. Claims about
    other cells than the line's, or about errors with respect to another reference, are ignored.

    Args:
        fitted: the claims, as in `figure.json`.
        panel: the panel.
        line: one of its lines.
        value: the value of the hue, or None for a line without hue.
    """
    if panel.divided_by is not None or panel.over_hue or panel.slope_along is not None:
        return []
    if line.ratio_to is not None or panel.repeated(line):
        return []
    slopes: list[JsonObject] = []
    for claimed, arm in _arms(fitted, panel, line):
        for fit in arm["fits"] if panel.x not in line.quantity.kept_axes else ():
            # the claim may select one layer of a quantity for which the line keeps all layers
            selects_layer = claimed.layer is not None and claimed.layer != line.quantity.layer
            group = {"layer": claimed.layer, **fit["group"]} if selects_layer else fit["group"]
            group = {key: v for key, v in group.items() if panel.only.get(key) != v}
            if set(group) <= {panel.hue} and group.get(panel.hue, value) == value:
                slopes.append(fit)
    return slopes


def judged_of(fitted: Sequence[JsonObject], panel: Panel, line: Line) -> list[Judged]:
    """Return what claims about a line of relative errors or ratios have judged, at each size the first claim's value.

    Lines with a hue have none: a claim judges one value at a size.
    """
    if panel.hue is not None:
        return []
    judged = _errors if line.reference is not None else _ratios
    found: dict[float, Judged] = {}
    for value in judged(fitted, panel, line):
        found.setdefault(value.size, value)
    return list(found.values())


def _errors(fitted: Sequence[JsonObject], panel: Panel, line: Line) -> Iterator[Judged]:
    """Yield the errors of means over seeds that claims about a line of errors have judged."""
    for _, arm in _arms(fitted, panel, line):
        if "error" in arm:
            size, value, ends = arm["error"]
            yield Judged(size, value, *(ends or (value, value)))


def _ratios(fitted: Sequence[JsonObject], panel: Panel, line: Line) -> Iterator[Judged]:
    """Yield the ratios that claims about a line of ratios have judged.

    The line is at the points that are best over the claim's hyperparameters, and shows all cells that it selects.
    """
    to = "smallest" if panel.relative else None
    if line.ratio_to is not None:
        to = "reference" if line.compared_with else "best"
    # only ratios to the best value are of points that are not best themselves
    if panel.tuned_by is not None or (panel.tuned_at is not None) != (to == "best"):
        return
    claims = [
        claim
        for claim in fitted
        if set(claim.get("over", ())) == set(panel.over) and _selects(claim, panel)
    ]
    for _, arm in _arms(claims, panel, line):
        ratio = arm.get("ratio")
        if ratio and ratio["to"] == to:
            low, high = ratio["interval"] or [ratio["value"]] * 2
            ends = -np.inf if low is None else low, np.inf if high is None else high
            yield Judged(ratio["size"], ratio["value"], *ends)


def _selects(claim: JsonObject, panel: Panel) -> bool:
    """Return whether a panel shows the cells that a claim selects; a size that it selects is one x."""
    only = {key: value for key, value in claim.get("only", {}).items() if key != panel.x}
    return only.items() <= panel.only.items()


def _arms(
    fitted: Sequence[JsonObject], panel: Panel, line: Line
) -> Iterator[tuple[Quantity, JsonObject]]:
    """Yield the arms of claims along x about a line's quantity, grid and reference, each with the claimed quantity."""
    quantity = line.quantity.model_dump(exclude={"label", "layer", "per"})
    for claim in fitted:
        claimed = Quantity.model_validate(claim["quantity"])
        steps = claim.get("at") or ()
        # a claim about every step fits no single one
        if steps != "all" and line.quantity.step in steps:
            claimed = claimed.model_copy(update={"reduce": "at", "step": line.quantity.step})
        is_judged = (
            claim["along"] == panel.x
            and line.compared_with in (claim.get("reference") or [None])
            and claimed.model_dump(exclude={"label", "layer", "per"}) == quantity
        )
        if is_judged:
            yield from ((claimed, arm) for arm in claim["arms"] if line.grid in arm["grids"])


@dataclass(frozen=True)
class _Place:
    """A place for text on axes: its side, the height of its upper edge, and the number of points that it would hide."""

    right: bool
    top: float
    hidden: int


def chosen(slopes: Sequence[FittedSlope]) -> list[FittedSlope]:
    """Return the slopes to write: all, or without room for them those of solid lines, or else of the first style.

    Few slopes of comparisons have room below the range of many slopes.
    """
    slopes = list(dict.fromkeys(slopes))
    leading, others = _leading(slopes)
    has_room = len(leading) >= MOST and len(others) <= _COMPARISONS
    return slopes if len(slopes) <= MOST or has_room else leading


def write(ax: Axes, slopes: Sequence[FittedSlope], each: str, size: tuple[float, float]) -> None:
    """Write slopes at the side of the axes, where they hide least of the lines.

    Args:
        ax: the axes, with limits set.
        slopes: the slopes.
        each: the name of the hue, for each value of which a line has a slope.
        size: the width and the height of the axes in inches.
    """
    texts = _texts(slopes, each)
    if not texts:
        return
    step = _LINE / size[1]
    place = _place(ax, *_extent(texts, size))
    for number, (line_text, colour) in enumerate(texts):
        # a line may still pass behind the text
        box: style.Look = {"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 0.3}
        look: style.Look = {"bbox": box, "ha": "right" if place.right else "left", "va": "top"}
        at = 0.98 if place.right else 0.02, place.top - number * step
        ax.text(
            *at, line_text, transform=ax.transAxes, size=style.SMALL - 0.5, color=colour, **look
        )


def room(ax: Axes, slopes: Sequence[FittedSlope], each: str, size: tuple[float, float]) -> float:
    """Return the fraction of the extended axes by which slopes lack room below the lines, or 0.0 if they hide no line.

    They need room below the lines at one side only. The arguments are those of `write`.
    """
    texts = _texts(slopes, each)
    width, height = _extent(texts, size)
    if not texts or not _place(ax, width, height).hidden:
        return 0.0
    points = _line_points(ax)
    sides = points[:, 0] < width, points[:, 0] > 1 - width
    free = max(float(points[side, 1].min(initial=1.0)) for side in sides) - _GAP
    return max(0.0, height - free) / (1 - min(free, height))


def _leading(slopes: Sequence[FittedSlope]) -> tuple[list[FittedSlope], list[FittedSlope]]:
    """Return the slopes of solid lines, or without any those of the first style, and the others."""
    styles = [slope.style for slope in slopes]
    style = "solid" if "solid" in styles else next(iter(styles), "")
    leads = [slope.style == style for slope in slopes]
    return (
        [slope for slope, lead in zip(slopes, leads, strict=True) if lead],
        [slope for slope, lead in zip(slopes, leads, strict=True) if not lead],
    )


def _texts(slopes: Sequence[FittedSlope], each: str) -> list[tuple[str, Colour]]:
    """Return the lines of text with their colours; of many slopes only the range."""
    leading, others = _leading(slopes)
    if len(slopes) > MOST:
        return [
            *((line, GREY) for line in _range(leading, each)),
            *((slope.text + slope.fitted, slope.colour) for slope in others),
        ]
    common = slopes[0].fitted if len({slope.fitted for slope in slopes}) == 1 else ""
    if common:
        return [(f"slopes{common}", GREY), *((slope.text, slope.colour) for slope in slopes)]
    return [(slope.text + slope.fitted, slope.colour) for slope in slopes]


def _range(slopes: Sequence[FittedSlope], each: str) -> list[str]:
    """Return lines of text on the range of slopes, and on the fitted sizes if these are a part of the lines."""
    values = [slope.value for slope in slopes]
    parts = {slope.fitted for slope in slopes}
    common = next(iter(parts)) if len(parts) == 1 else ""
    texts = [f"slope at each {each}{common}:", f"{_number(min(values))} to {_number(max(values))}"]
    if len(parts) > 1:
        sizes = sorted(slope.sizes for slope in slopes)
        texts[-1] += ","
        texts.append(f"{_sizes(sizes[0])} to {_sizes(sizes[-1])}")
    return texts


def _sizes(ends: tuple[float, float]) -> str:
    return "\N{EN DASH}".join(map(short, ends))


def _extent(texts: Sequence[tuple[str, Colour]], size: tuple[float, float]) -> tuple[float, float]:
    """Return the width and the height of lines of text as fractions of axes of a size in inches."""
    longest = max((len(line) for line, _ in texts), default=0)
    width = 0.05 + _CHARACTER * longest / size[0]
    return min(max(width, _LEAST_WIDTH), 0.9), 0.08 + _LINE / size[1] * len(texts)


def _place(ax: Axes, width: float, height: float) -> _Place:
    """Return the place of a block that is farthest from the lines; its size is given as fractions of the axes."""
    points = _line_points(ax)
    ranked = []
    for right in (True, False):
        for top in np.linspace(0.98, min(height, 0.98), _HEIGHTS):
            centre = np.array([1 - width / 2 if right else width / 2, top - height / 2])
            distances = np.abs(points - centre)
            hidden = int((distances < [width / 2, height / 2]).all(axis=1).sum())
            near = float((1 / (np.square(distances).sum(axis=1) + 0.01)).sum())
            ranked.append((hidden, near, _Place(right, float(top), hidden)))
    return min(ranked, key=lambda entry: entry[:2])[-1]


def _line_points(ax: Axes) -> np.ndarray:
    """Return finite points [P, 2] along all lines but guides, in coordinates of the axes from 0 to 1."""
    parts = [np.zeros((0, 2))]
    for line in ax.lines:
        if line.get_zorder() >= GUIDES and line.get_transform().contains_branch(ax.transData):
            xy = np.asarray(line.get_transform().transform(line.get_xydata()))
            ends = np.linspace(xy[:-1], xy[1:], _SAMPLES).reshape(-1, 2)
            parts.append(ax.transAxes.inverted().transform(ends))
    points = np.concatenate(parts)
    return points[np.isfinite(points).all(axis=1)]


def _number(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "\N{MINUS SIGN}")
