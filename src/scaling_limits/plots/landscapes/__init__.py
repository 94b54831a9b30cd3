"""The energy of predictive coding around its equilibrium, with the path of inference.

Its axes are the directions of smallest and largest curvature.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from scaling_limits.figures.shapes import BY_GRID, Shape
from scaling_limits.plots.options import AlongOptions, AlongPanel, Limits

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from scaling_limits.plots import landscapes
    from scaling_limits.plots.contract import Kind
    from scaling_limits.plots.figure_folder import FigureFolder
    from scaling_limits.plots.tables import GridResults
    from scaling_limits.plotting.page import Size

    _: Kind[Options] = landscapes


class LandscapePanel(AlongPanel):
    """A panel with the landscapes of a grid, one for each value of the column `along`; `values` restricts them."""


class Options(AlongOptions):
    """Energy contours along the directions of smallest and largest curvature, for the first seed.

    Each panel is a row. The measurement is `landscape`; `limits` apply to both axes.
    """

    SHAPE: ClassVar[Shape] = {"panels": BY_GRID}

    kind: Literal["landscapes"] = "landscapes"
    panels: tuple[LandscapePanel, ...] = Field(min_length=1)
    limits: Limits = (-2.0, 2.0)

    @property
    def centres(self) -> set[str]:
        """The first seed."""
        return {"first"}


def table(plot: Options, grids: GridResults) -> pd.DataFrame:
    """Return the curvatures and the path of inference of each landscape."""
    from scaling_limits.plots.landscapes.rows import of_panel
    from scaling_limits.plots.tables import panel_rows

    return panel_rows(of_panel(grids, panel) for panel in plot.panels)


def size(plot: Options, table: pd.DataFrame, widest: float) -> Size:
    """Return the size of the axes on a page that is `widest` inches wide."""
    from scaling_limits.plots.along import columns_of

    columns = columns_of(plot, table)
    width = min(widest / columns, 1.9)
    return columns * width, len(plot.panels) * (width + 0.3)


def draw(figure: FigureFolder[Options], table: pd.DataFrame) -> Figure:
    """Draw the landscapes."""
    from scaling_limits.plots.landscapes.drawing import Landscapes

    page = Landscapes(figure, table)
    for panel, value, ax in page.panels:
        places, energy = page.energy(panel, value)
        ax.contourf(places, places, energy, page.levels(energy), cmap=page.colours)
        page.marks(panel, value, ax)  # path of inference and equilibrium
    return page.finish()
