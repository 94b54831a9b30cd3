"""What several kinds of plot have in common."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import AfterValidator

from scaling_limits.strict import Strict

Scale = Literal["linear", "log"]
Best = Literal["min", "max"]


def _increasing(limits: tuple[float, float]) -> tuple[float, float]:
    if not limits[0] < limits[1]:
        raise ValueError(f"limits must increase, not {list(limits)}")
    return limits


Limits = Annotated[tuple[float, float], AfterValidator(_increasing)]


class GridPanel(Strict):
    """A titled part of a figure that shows one grid of cells; so is a control."""

    grid: str
    title: str | None = None


class Line(Strict):
    """What is drawn of a grid inside of one pair of axes: one line for each size, in its colour.

    With `each: false` the grid has no sizes, as that of a limit: one line, in black. `label`
    explains the line's style in the legend.
    """

    grid: str
    style: str = "solid"
    label: str | None = None
    each: bool = True


def check_labels(lines: Iterable[Line]) -> None:
    """Refuse lines of different looks with the same label."""
    looks: dict[str, tuple[str, bool]] = {}
    for line in lines:
        look = (line.style, line.each)
        if line.label and looks.setdefault(line.label, look) != look:
            raise ValueError(f"the label '{line.label}' stands for lines of two styles")
