"""The contract of a kind of plot: the members of a folder here, or of a module of an installed package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from scaling_limits.plots import registry
from scaling_limits.plots.options import PlotOptions

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from scaling_limits.plots.figure_folder import FigureFolder
    from scaling_limits.plots.tables import GridResults

PlotT = TypeVar("PlotT", bound=PlotOptions)
PlotT_co = TypeVar("PlotT_co", bound=PlotOptions, covariant=True)


class Kind(Protocol[PlotT]):
    """A kind of plot. Its module may define more:

    - `size(plot, table, widest)`: the width and height in inches that its axes take on a page that is `widest` inches
      wide; then it can be one of a `composite`;
    - `text(figure, table)`: the figure as a table of text, which is written as CSV and LaTeX as well;
    - `cells(plot)`: the cells of the notebook, if the lines of `draw` are not what a reader should see.
    """

    @property
    def Options(self) -> type[PlotT]:  # noqa: N802
        """The model of a figure's `plot:`."""
        ...

    def table(self, plot: PlotT, grids: GridResults) -> pd.DataFrame:
        """Return a row for each panel, line, point and seed, with the columns `tables.FIRST`."""
        ...

    def draw(self, figure: FigureFolder[PlotT], table: pd.DataFrame) -> Figure:
        """Draw the figure: the statements that its notebook shows, ending with the only `return`."""
        ...


def kind_of(plot: PlotT) -> Kind[PlotT]:
    """Return the kind of a plot."""
    return cast(Kind[PlotT], registry.part(plot.kind))
