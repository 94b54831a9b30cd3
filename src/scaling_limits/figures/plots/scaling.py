"""Quantities against the size of the network, or along its depth."""

from typing import Literal

from pydantic import Field, model_validator

from scaling_limits.figures.plots.parts import Best, Limits, Line, Scale, check_labels
from scaling_limits.figures.quantities import Quantity
from scaling_limits.strict import Strict


class Slope(Strict):
    """A grey guide line, proportional to x to the power of `exponent`."""

    exponent: float
    label: str


class SizeLine(Line):
    """A quantity of one grid against x: one line for each value of the panel's hue, in its colour.

    `across` draws a grid that has a single x, as a limit has, over the whole of the other lines.
    """

    quantity: Quantity
    style: Literal["markers", "solid", "dashed", "dotted"] = "solid"
    across: bool = False


class SizePanel(Strict):
    """Quantities against `x`, in the colours of column `hue`, or without it in one for each `label`.

    Both are columns of the cells, or an axis that the quantities keep (`layer`, `index`, `step`), or
    one over the depth (`relative_layer`, `relative_index`). `values` selects values of the hue, and
    `ring` marks the smallest or largest mean of each line.
    With `relative_to_first` every line is divided by its value at the smallest x. `over` names columns
    of which every point shows the best combination, that of the smallest or largest mean (`best`).
    """

    title: str
    x: str
    hue: str | None = None
    over: tuple[str, ...] = ()
    best: Best = "min"
    label: str
    x_label: str | None = None
    x_scale: Scale = "log"
    scale: Scale = "log"
    limits: Limits | None = None
    values: tuple[float, ...] | None = Field(default=None, min_length=1)
    relative_to_first: bool = False
    ring: Best | None = None
    lines: tuple[SizeLine, ...] = Field(min_length=1)
    slopes: tuple[Slope, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> "SizePanel":
        if self.slopes and "linear" in (self.scale, self.x_scale):
            raise ValueError("slopes are straight lines on logarithmic axes only")
        if self.hue is None and any(line.label is None or not line.each for line in self.lines):
            raise ValueError("without `hue` every line has a `label` and a colour of its own")
        if self.hue is None and self.values is not None:
            raise ValueError("`values` selects values of the `hue`")
        if all(line.across for line in self.lines):
            raise ValueError("a panel needs a line with an x of its own, one that is not `across`")
        if self.relative_to_first and any(line.across for line in self.lines):
            raise ValueError("a line `across` is the same everywhere: it has no first value")
        return self


class ScalingPlot(Strict):
    """Quantities against the size of the network, or along its depth, side by side.

    `hue_labels` names values of the hue, written as on an axis, in the legend (default: symbol =
    value).
    """

    kind: Literal["scaling"] = "scaling"
    panels: tuple[SizePanel, ...] = Field(min_length=1)
    hue_labels: dict[str, str] = Field(default_factory=dict)
    symbols: dict[str, str] = Field(default_factory=dict)

    @property
    def grids(self) -> list[str]:
        """The grids that the plot shows."""
        return [line.grid for panel in self.panels for line in panel.lines]

    @model_validator(mode="after")
    def _labels_are_unique(self) -> "ScalingPlot":
        check_labels(line for panel in self.panels for line in panel.lines)
        return self
