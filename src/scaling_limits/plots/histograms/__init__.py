"""Densities of values within single cells, such as the eigenvalues of a matrix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from scaling_limits.figures.needs import Use
from scaling_limits.figures.quantities import Quantity
from scaling_limits.figures.shapes import BY_GRID, QUANTITY, Shape
from scaling_limits.figures.written import Names, Path, Written
from scaling_limits.plots.options import GridPanel, Limits, PanelsOptions, by_grid
from scaling_limits.strict import Strict

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from scaling_limits.plots import histograms
    from scaling_limits.plots.contract import Kind
    from scaling_limits.plots.figure_folder import FigureFolder
    from scaling_limits.plots.tables import GridResults
    from scaling_limits.plotting.page import Size

    _: Kind[Options] = histograms


class Mark(Strict):
    """An expected value, drawn as a vertical line and named in the legend."""

    at: float
    label: str


class HistogramPanel(GridPanel):
    """A panel with the densities of a grid, one for each value of the plot's `hue`."""


class Options(PanelsOptions):
    """Densities of a quantity that keeps its `index`, pooled over seeds, with `wrap` panels in each row.

    The axis of densities is logarithmic, so that the ends of a spectrum are seen next to its peak. All panels share the
    `bins` and the `limits` (default: the range of all values and `marks`). The `marks` are drawn in every panel.
    `symbols` maps a column of the cells to the paper's symbol.
    """

    SHAPE: ClassVar[Shape] = {"quantity": QUANTITY, "panels": (str, *BY_GRID)}

    kind: Literal["histograms"] = "histograms"
    quantity: Quantity
    hue: str
    panels: tuple[HistogramPanel, ...] = Field(min_length=1)
    bins: int = Field(default=40, ge=2)
    limits: Limits | None = None
    marks: tuple[Mark, ...] = ()
    wrap: int = Field(default=3, ge=1)
    symbols: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_many_values(self) -> Options:
        if self.quantity.kept_axes != ("index",):
            raise ValueError("a histogram is of many numbers: a quantity `per: index`")
        return self

    @classmethod
    def expand(cls, plot: Written, names: Names, path: Path) -> Written:
        """Resolve the quantity, and panels written by grid or as a node of the grids."""
        quantity = names.quantity(plot.get("quantity"), path)
        panels = plot.get("panels")
        if isinstance(panels, str):
            titled = names.titled(panels, (*path, "panels"))
            panels = [{"grid": grid, "title": title} for grid, title in titled]
        return {**plot, "quantity": quantity, **by_grid({"panels": panels})}

    def uses(self) -> Iterator[Use]:
        """Yield the quantity for each panel's grid."""
        for panel in self.panels:
            yield Use(("plot", "panels"), (panel.grid,), self.quantity, (self.hue, "index"))


def table(plot: Options, grids: GridResults) -> pd.DataFrame:
    """Return all values of each panel."""
    from scaling_limits.plots.histograms.rows import of_panel
    from scaling_limits.plots.tables import panel_rows

    return panel_rows(of_panel(grids, plot, panel) for panel in plot.panels)


def size(plot: Options, table: pd.DataFrame, widest: float) -> Size:
    """Return the size of the axes on a page that is `widest` inches wide."""
    from scaling_limits.plotting.page import shape

    rows, columns = shape(len(plot.panels), plot.wrap)
    width = min(widest / columns, 3.2)
    return columns * width, rows * (0.7 * width + 0.35)


def draw(figure: FigureFolder[Options], table: pd.DataFrame) -> Figure:
    """Draw the densities."""
    import seaborn as sns

    from scaling_limits.plots.histograms.drawing import Histograms

    page = Histograms(figure, table)
    for panel, ax in page.panels:
        # each size is normalised separately; seeds are pooled
        sns.histplot(
            page.rows(panel),
            x="value",
            hue=page.plot.hue,
            hue_order=page.hue_order,
            palette=page.palette,
            bins=page.bins,
            ax=ax,
            **page.look,
        )
    return page.finish()
