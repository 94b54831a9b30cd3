"""Metrics over the training step."""

from typing import Literal

from pydantic import Field, model_validator

from scaling_limits.figures.plots.parts import Limits, Line, Scale, check_labels
from scaling_limits.strict import Strict


class CurveLine(Line):
    """A metric of one grid over the training step."""

    metric: str
    style: Literal["solid", "dashed", "dotted"] = "solid"


class CurvesPanel(Strict):
    """Lines with a common y axis, named by `label`; `limits` are its ends."""

    title: str
    label: str
    scale: Scale = "linear"
    limits: Limits | None = None
    lines: tuple[CurveLine, ...] = Field(min_length=1)


class CurvesPlot(Strict):
    """Metrics over the training step, side by side, in the colours of the sizes in column `hue`.

    `values` selects sizes; those that a preset leaves out are not shown (default: all there are).
    """

    kind: Literal["curves"] = "curves"
    hue: str = "width"
    values: tuple[float, ...] | None = Field(default=None, min_length=1)
    panels: tuple[CurvesPanel, ...] = Field(min_length=1)
    symbols: dict[str, str] = Field(default_factory=dict)

    @property
    def grids(self) -> list[str]:
        """The grids that the plot shows."""
        return [line.grid for panel in self.panels for line in panel.lines]

    @model_validator(mode="after")
    def _labels_are_unique(self) -> "CurvesPlot":
        check_labels(line for panel in self.panels for line in panel.lines)
        return self
