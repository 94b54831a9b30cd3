"""The energy around its equilibrium, with the path of inference."""

from typing import Literal

from pydantic import Field

from scaling_limits.figures.plots.parts import GridPanel, Limits
from scaling_limits.strict import Strict


class LandscapePanel(GridPanel):
    """A grid's landscapes, one for each value of the column `along`; `values` selects some of them."""

    along: str
    values: tuple[float, ...] | None = Field(default=None, min_length=1)


class LandscapesPlot(Strict):
    """Contours over the directions of the least and the largest curvature, a row for each panel, of the first seed.

    The measurement is `landscape`. `limits` are those of both axes.
    """

    kind: Literal["landscapes"] = "landscapes"
    panels: tuple[LandscapePanel, ...] = Field(min_length=1)
    limits: Limits = (-2.0, 2.0)
    symbols: dict[str, str] = Field(default_factory=dict)

    @property
    def grids(self) -> list[str]:
        """The grids that the plot shows."""
        return [panel.grid for panel in self.panels]
