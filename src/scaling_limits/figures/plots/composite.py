"""Several plots in one figure."""

from typing import Annotated, Literal

from pydantic import Field

from scaling_limits.figures.plots.histograms import HistogramsPlot
from scaling_limits.figures.plots.landscapes import LandscapesPlot
from scaling_limits.figures.plots.lines import LinesPlot
from scaling_limits.figures.plots.maps import MapsPlot
from scaling_limits.strict import Strict

Single = Annotated[
    HistogramsPlot | LandscapesPlot | LinesPlot | MapsPlot, Field(discriminator="kind")
]
"""What may stand beside others: each kind that draws panels."""


class CompositePlot(Strict):
    """Plots of any of these kinds, `wrap` to a row, each over a legend of its own."""

    kind: Literal["composite"] = "composite"
    plots: tuple[Single, ...] = Field(min_length=2)
    wrap: int = Field(default=2, ge=1)

    @property
    def grids(self) -> list[str]:
        """The grids that its plots show."""
        return [grid for plot in self.plots for grid in plot.grids]
