"""Maps of a quantity over two columns, one for each size of the network or training step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from scaling_limits.figures.metrics import Best, Scale
from scaling_limits.figures.needs import Grids, Use, logarithm_problem
from scaling_limits.figures.quantities import Quantity
from scaling_limits.figures.shapes import BY_GRID, QUANTITY, Shape
from scaling_limits.figures.written import MisplacedError, Names, Path, Written
from scaling_limits.plots.options import AlongOptions, AlongPanel, Limits, axis_words, by_grid

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from scaling_limits.plots import maps
    from scaling_limits.plots.contract import Kind
    from scaling_limits.plots.figure_folder import FigureFolder
    from scaling_limits.plots.tables import GridResults
    from scaling_limits.plotting.page import Size

    _: Kind[Options] = maps


BAR = 0.6
"""The width of the colour bar, inches."""


class MapPanel(AlongPanel):
    """One row of maps, of a grid (so is a control): one for each value of the column `along`.

    `values` selects values of it; those that a preset leaves out are not shown (default: all there
    are). All maps show the optimum of that at `reference` (default: the first).
    """

    reference: float | None = None


class Options(AlongOptions):
    """Colour over the columns `x` and `y`, one map for each size, or training step.

    With `best` the optimum of every map is marked, with contours: does it move? Without it the
    values are written in the cells. All cells are of equal size. All maps
    share their colours; `limits` are their ends (default: the values' own, up to four times the median).
    `ratio_lines` lists the k of lines x = k y. `level_set` draws the line that is fitted to the level set of this value
    (`figures/level_sets.py`), with its slope, on every map that it crosses. `symbols` maps a column of the cells to
    the paper's symbol (default: N for the width, H or L for the depth).
    """

    SHAPE: ClassVar[Shape] = {"quantity": QUANTITY, "panels": BY_GRID}

    kind: Literal["maps"] = "maps"
    quantity: Quantity
    x: str
    y: str
    x_label: str | None = None
    y_label: str | None = None
    scale: Scale = "log"
    limits: Limits | None = None
    best: Best | None = "min"
    panels: tuple[MapPanel, ...] = Field(min_length=1)
    ratio_lines: tuple[float, ...] = ()
    level_set: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _the_axis_kept_is_shown(self) -> Options:
        for panel in self.panels:
            if (panel.along == "step") != ("step" in self.quantity.kept):
                raise ValueError(
                    "`along: step` goes with a quantity `per: step`, and other columns with one without"
                )
            if panel.reference is not None and self.best is None:
                raise ValueError("a `reference` is the place of an optimum: it needs `best`")
        return self

    @classmethod
    def expand(cls, plot: Written, names: Names, path: Path) -> Written:
        """Write out the quantity, its metric's scale and direction, and panels by grid."""
        quantity = names.quantity(plot.get("quantity"), path)
        words = {key: value for key, value in axis_words(quantity).items() if key != "label"}
        return {**words, **plot, "quantity": quantity, **by_grid(plot)}

    def uses(self) -> Iterator[Use]:
        """Yield the quantity in the cells of each panel."""
        for panel in self.panels:
            columns = (panel.along, self.y, self.x)
            yield Use(("plot", "panels"), (panel.grid,), self.quantity, columns)

    def problems(self, grids: Grids) -> Iterator[MisplacedError]:
        """Yield panels without values to show, and axes on which no level set can be fitted."""
        if self.level_set is not None:
            for panel in self.panels:
                for column in (self.x, self.y):
                    values = grids[panel.grid].values(column)
                    problem = logarithm_problem(column, values, (panel.grid,))
                    if problem is not None:
                        yield MisplacedError(("plot", "level_set"), problem)
        yield from super().problems(grids)


def table(plot: Options, grids: GridResults) -> pd.DataFrame:
    """Return the quantity at each point of each map."""
    from scaling_limits.plots.maps.rows import of_panel
    from scaling_limits.plots.tables import panel_rows

    return panel_rows(of_panel(grids, plot, panel) for panel in plot.panels)


def size(plot: Options, table: pd.DataFrame, widest: float) -> Size:
    """Return the size of the axes on a page that is `widest` inches wide."""
    from scaling_limits.plots.along import columns_of

    columns = columns_of(plot, table)
    width = min((widest - BAR) / columns, 1.9)
    num_x, num_y = (table[column].nunique() for column in (plot.x, plot.y))
    high = min(max(width * 1.1 * num_y / num_x, 0.75), 1.6)
    return columns * width + BAR, len(plot.panels) * (high + 0.4)


def draw(figure: FigureFolder[Options], table: pd.DataFrame) -> Figure:
    """Draw the maps."""
    from scaling_limits.plots.maps.drawing import Maps

    page = Maps(figure, table)
    for panel, value, ax in page.panels:
        means = page.matrix(panel, value)  # over seeds
        # cells of equal size
        ax.pcolormesh(means.where(means < float("inf")), norm=page.norm, cmap=page.colours)
        page.marks(panel, value, ax)  # optimum or values, divergence, lines
    return page.finish()
