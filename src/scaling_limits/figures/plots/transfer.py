"""Quantities over one hyperparameter."""

from typing import Literal

from pydantic import Field

from scaling_limits.figures.plots.parts import Best, GridPanel, Limits, Scale
from scaling_limits.figures.quantities import Quantity
from scaling_limits.strict import Strict


class TransferQuantity(Strict):
    """A row of axes: a quantity, and which of its values is best (none: no optimum is marked)."""

    quantity: Quantity
    label: str
    scale: Scale = "log"
    limits: Limits | None = None
    best: Best | None = "min"


class TransferPlot(Strict):
    """A quantity over one hyperparameter, one line for each size: does the optimum move?

    Each of `panels` shows its grid, over one pair of axes for each of `rows`; those of a row share
    their y axis. After `columns` panels the next ones stand below (default: all side by side).
    """

    kind: Literal["transfer"] = "transfer"
    x: str = "learning_rate"
    hue: str = "width"
    columns: int | None = Field(default=None, ge=1)
    rows: tuple[TransferQuantity, ...] = Field(min_length=1)
    panels: tuple[GridPanel, ...] = Field(min_length=1)
    symbols: dict[str, str] = Field(default_factory=dict)

    @property
    def grids(self) -> list[str]:
        """The grids that the plot shows."""
        return [panel.grid for panel in self.panels]
