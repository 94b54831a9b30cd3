"""Contract of a kind of plot: the members of a subpackage of `plots`, or of a module of an installed package."""

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
    """Protocol of the module of a kind of plot.

    Optional members:

    - `size(plot, table, widest)`: width and height in inches of all axes on a page that is `widest` inches wide. A kind
      with this function can be part of a `composite`.
    - `text(figure, table)`: the figure as a table of text, which is also written as CSV and LaTeX.
    - `cells(plot)`: the notebook's cells that draw the plot, if they should differ from the body of `draw`.
    """

    @property
    def Options(self) -> type[PlotT]:  # noqa: N802
        """The model that validates a figure's `plot:` entry."""
        ...

    def table(self, plot: PlotT, grids: GridResults) -> pd.DataFrame:
        """Return one row for each panel, line, point and seed, with the columns `tables.FIRST`."""
        ...

    def draw(self, figure: FigureFolder[PlotT], table: pd.DataFrame) -> Figure:
        """Draw the figure.

        The notebook shows the statements of the body, which must end with its only `return`.
        """
        ...


def kind_of(plot: PlotT) -> Kind[PlotT]:
    """Return the module of a plot's kind."""
    return cast(Kind[PlotT], registry.part(plot.kind))
