"""How the numbers of one cell are distributed, as the eigenvalues of a matrix."""

from typing import Literal

from pydantic import Field, model_validator

from scaling_limits.figures.plots.parts import GridPanel, Limits
from scaling_limits.figures.quantities import Quantity
from scaling_limits.strict import Strict


class Mark(Strict):
    """A value that is expected, drawn across and explained by its label."""

    at: float
    label: str


class HistogramPanel(GridPanel):
    """A grid's densities, one for each value of the plot's `hue`."""


class HistogramsPlot(Strict):
    """Densities of a quantity that keeps its `index`, all seeds taken together, `wrap` panels to a row.

    All panels have the same `bins` between the same `limits` (default: those of all values and `marks`, which
    stand in all of them).
    `symbols` maps a column of the cells to the paper's symbol.
    """

    kind: Literal["histograms"] = "histograms"
    quantity: Quantity
    hue: str
    panels: tuple[HistogramPanel, ...] = Field(min_length=1)
    bins: int = Field(default=40, ge=2)
    limits: Limits | None = None
    marks: tuple[Mark, ...] = ()
    wrap: int = Field(default=3, ge=1)
    symbols: dict[str, str] = Field(default_factory=dict)

    @property
    def grids(self) -> list[str]:
        """The grids that the plot shows."""
        return [panel.grid for panel in self.panels]

    @model_validator(mode="after")
    def _has_many_values(self) -> "HistogramsPlot":
        if self.quantity.kept != ("index",):
            raise ValueError("a histogram is of many numbers: a quantity `per: index`")
        return self
