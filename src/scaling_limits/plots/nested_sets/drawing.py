"""Layout and drawing of nested sets as boxes."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from scaling_limits.plots.nested_sets import NestedSet, Options
from scaling_limits.plotting import style, text
from scaling_limits.plotting.colours import SETS

_LINE, _CHARACTER, _MARGIN = 0.24, 0.075, 0.16  # inches
_EMPTY = 0.3  # height below the label of a set that contains no other set


def boxes(plot: Options) -> pd.DataFrame:
    """Return a row for each set, outer sets first.

    The columns are `label`, `level` (0: the outermost), `dashed`, and the box in inches (`left`, `bottom`, `width`,
    `height`).
    """
    placed: list[dict[str, object]] = []
    _append_boxes(plot.outermost, 0.0, 0.0, _size(plot.outermost)[1], 0, placed)
    return pd.DataFrame(placed)


def _size(nested_set: NestedSet) -> tuple[float, float]:
    """Return width and height of a box with room for its label and, below it, the boxes of the contained sets."""
    inner = [_size(part) for part in nested_set.contains]
    across = sum(width for width, _ in inner) + _MARGIN * (len(inner) + 1)
    label = text.length(nested_set.label) * _CHARACTER + 2 * _MARGIN
    below = max((height for _, height in inner), default=_EMPTY)
    return max(across, label), below + _LINE + 2 * _MARGIN


def _append_boxes(
    nested_set: NestedSet,
    left: float,
    bottom: float,
    height: float,
    level: int,
    placed: list[dict[str, object]],
) -> None:
    """Append the box of a set and the boxes of the sets inside it, which are equally high and centred.

    Args:
        nested_set: the set.
        left: the left edge of its box in inches.
        bottom: the lower edge in inches.
        height: the height of the box in inches.
        level: the number of sets around it.
        placed: the boxes; new ones are appended.
    """
    width = _size(nested_set)[0]
    box = {"left": left, "bottom": bottom, "width": width, "height": height}
    placed.append({"label": nested_set.label, "level": level, "dashed": nested_set.dashed, **box})
    inner = [_size(part)[0] for part in nested_set.contains]
    lack = width - sum(inner) - _MARGIN * (len(inner) + 1)
    x = left + _MARGIN + lack / 2
    for part, part_width in zip(nested_set.contains, inner, strict=True):
        _append_boxes(part, x, bottom + _MARGIN, height - _LINE - 2 * _MARGIN, level + 1, placed)
        x += part_width + _MARGIN


def draw_box(ax: Axes, box: pd.Series) -> None:
    """Draw a row of `boxes` with its label; inner sets are darker."""
    inset = 0.02
    ax.add_patch(
        FancyBboxPatch(
            (box["left"] + inset, box["bottom"] + inset),
            box["width"] - 2 * inset,
            box["height"] - 2 * inset,
            boxstyle="round,pad=0,rounding_size=0.12",
            facecolor="none" if box["dashed"] else SETS[min(int(box["level"]), len(SETS) - 1)],
            edgecolor="black",
            linestyle="dashed" if box["dashed"] else "solid",
            clip_on=False,
        )
    )
    centre = box["left"] + box["width"] / 2
    top = box["bottom"] + box["height"] - _MARGIN / 2 - _LINE / 2
    ax.text(centre, top, str(box["label"]), size=style.NORMAL, ha="center", va="center")
