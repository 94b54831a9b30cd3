"""Fitted slopes of lines, as measured by claims, written in the emptiest corner of a panel."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from scaling_limits.figures.quantities import Quantity
from scaling_limits.files import JsonObject
from scaling_limits.plots.lines import Line, Panel
from scaling_limits.plotting import style
from scaling_limits.plotting.colours import Colour

MOST = 4
"""Most slopes that are written individually; of more, only the range is written."""
_SAMPLES = 9  # sampled points on each line segment
_WIDTH = 0.5  # width of the text as a fraction of the axis
_LINE = 0.1  # height of a line of text, in inches


@dataclass(frozen=True)
class Slope:
    """A fitted slope with its confidence interval and the colour of its line."""

    value: float
    interval: tuple[float, float] | None
    colour: Colour

    @property
    def text(self) -> str:
        """The slope with half the width of its interval, as text."""
        if self.interval is None:
            return _number(self.value)
        half = (self.interval[1] - self.interval[0]) / 2
        return f"{_number(self.value)} ± {half:.2f}"


def slopes_of(
    fitted: Sequence[JsonObject], panel: Panel, line: Line, value: float | None
) -> list[tuple[float, tuple[float, float] | None]]:
    """Return the slopes along x, with intervals, that claims have fitted to a line of a panel.

    Panels that divide their values and lines with a reference have none. Claims about other cells than the line's are
    ignored.

    Args:
        fitted: the claims, as in `figure.json`.
        panel: the panel.
        line: one of its lines.
        value: the value of the hue, or None for a line without hue.
    """
    if panel.divided_by is not None or line.reference is not None:
        return []
    quantity = line.quantity.model_dump(exclude={"label", "layer", "per"})
    slopes: list[tuple[float, tuple[float, float] | None]] = []
    for claim in fitted:
        claimed = Quantity.model_validate(claim["quantity"])
        if (
            claim["along"] != panel.x
            or claimed.model_dump(exclude={"label", "layer", "per"}) != quantity
        ):
            continue
        for arm in claim["arms"] if panel.x not in line.quantity.kept_axes else ():
            for fit in arm["fits"] if line.grid in arm["grids"] else ():
                # the claim may select one layer of a quantity for which the line keeps all layers
                selects_layer = claimed.layer is not None and claimed.layer != line.quantity.layer
                group = {"layer": claimed.layer, **fit["group"]} if selects_layer else fit["group"]
                group = {key: v for key, v in group.items() if panel.only.get(key) != v}
                if set(group) <= {panel.hue} and group.get(panel.hue, value) == value:
                    interval = fit["interval"]
                    slopes.append((fit["slope"], tuple(interval) if interval else None))
    return slopes


def write(ax: Axes, slopes: Sequence[Slope], height: float) -> None:
    """Write slopes in the corner of the axes that is farthest from the lines.

    Args:
        ax: the axes, with limits set.
        slopes: the slopes.
        height: the height of the axes in inches.
    """
    slopes = list(dict.fromkeys(slopes))
    if not slopes:
        return
    texts = [(slope.text, slope.colour) for slope in slopes]
    if len(slopes) > MOST:
        values = [slope.value for slope in slopes]
        texts = [(f"{_number(min(values))} to {_number(max(values))}", (0.25, 0.25, 0.25))]
    texts = [("slope" if len(slopes) == 1 else "slopes", (0.25, 0.25, 0.25)), *texts]
    points, step = _line_points(ax), _LINE / height
    block = np.array([_WIDTH, 0.05 + step * len(texts)])
    right, top = min(
        ((right, top) for top in (True, False) for right in (True, False)),
        key=lambda corner: _crowd(points, np.array(corner, float), block),
    )
    first = 0.98 if top else 0.02 + step * (len(texts) - 1)
    for number, (line_text, colour) in enumerate(texts):
        # a line may still pass behind the text
        box: style.Look = {"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 0.3}
        look: style.Look = {
            "bbox": box,
            "ha": "right" if right else "left",
            "va": "top" if top else "bottom",
        }
        at = 0.98 if right else 0.02, first - number * step
        ax.text(
            *at, line_text, transform=ax.transAxes, size=style.SMALL - 0.5, color=colour, **look
        )


def _line_points(ax: Axes) -> np.ndarray:
    """Return points [P, 2] along all lines, in coordinates of the axes from 0 to 1."""
    parts = [np.zeros((0, 2))]
    for line in ax.lines:
        if line.get_transform().contains_branch(ax.transData):
            xy = np.asarray(line.get_transform().transform(line.get_xydata()))
            ends = np.linspace(xy[:-1], xy[1:], _SAMPLES).reshape(-1, 2)
            parts.append(ax.transAxes.inverted().transform(ends))
    return np.concatenate(parts)


def _crowd(points: np.ndarray, corner: np.ndarray, block: np.ndarray) -> tuple[int, float]:
    """Return how many points lie in a block at a corner, and the sum of inverse squared distances to the corner."""
    distances = np.abs(points[np.isfinite(points).all(axis=1)] - corner)
    inside = int((distances < block).all(axis=1).sum())
    return inside, float((1 / (np.square(distances).sum(axis=1) + 0.01)).sum())


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "\N{MINUS SIGN}")
