"""Maps of a quantity over two columns, one for each network size or training step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from scaling_limits.figures.metrics import Best, Scale
from scaling_limits.figures.needs import Grids, Use, logarithm_problem
from scaling_limits.figures.quantities import Quantity
from scaling_limits.figures.shapes import BY_GRID, QUANTITY, Shape
from scaling_limits.figures.written import MisplacedError, Names, Path, Written
from scaling_limits.plots.options import AlongOptions, AlongPanel, Limits, axis_keys, by_grid

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
"""Width of the colour bar in inches."""
_LOWEST, _HIGHEST = 0.75, 1.6  # height of a map in inches
_HEAD = 0.4  # height of the title and the ticks of a row in inches
_CONTROL = 0.6  # height of the maps of a control relative to the others


class MapPanel(AlongPanel):
    """A row of maps of a grid, one for each value of the column `along`.

    `values` restricts the values; values that a preset leaves out are not shown (default: all). Every map also shows
    the optimum of the map at `reference` (default: the first). The row of a `control` is lower.
    """

    reference: float | None = None


class Options(AlongOptions):
    """Colour maps over the columns `x` and `y`, one for each network size or training step.

    With `best`, the optimum of every map is marked and contours are drawn, to show whether the optimum moves; if claims
    judge the optimal `x` or `y`, small panels below the maps show it against the size. Without `best`, the values are
    written in the cells. All cells of a map have equal size. All maps share one colour scale, whose
    ends are `limits` (default: the range of the values; with `best` on a logarithmic scale, at most twice the median).
    `ratio_lines` lists the factors k of lines x = k y. `level_set` draws the line fitted to the level set of this value
    (`figures/level_sets.py`) and its slope on every map that it crosses. `symbols` maps a column of the cells to the
    paper's symbol (default: N for width, H or L for depth). Maps show the `centre` of the seeds: their mean or, for
    quantities that claims bound in every run, their minimum `min`.
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
    centre: Literal["mean", "min"] = "mean"
    panels: tuple[MapPanel, ...] = Field(min_length=1)
    ratio_lines: tuple[float, ...] = ()
    level_set: float | None = Field(default=None, gt=0)

    @property
    def centres(self) -> set[str]:
        """The statistic over seeds that the maps show."""
        return {"minimum" if self.centre == "min" else self.centre}

    @model_validator(mode="after")
    def _along_matches_quantity(self) -> Options:
        for panel in self.panels:
            if (panel.along == "step") != ("step" in self.quantity.kept_axes):
                raise ValueError(
                    "`along: step` goes with a quantity `per: step`, and other columns with one without"
                )
            if panel.reference is not None and self.best is None:
                raise ValueError("a `reference` is the place of an optimum: it needs `best`")
        return self

    @classmethod
    def expand(cls, plot: Written, names: Names, path: Path) -> Written:
        """Resolve the quantity, its metric's scale and direction, and panels written by grid."""
        quantity = names.quantity(plot.get("quantity"), path)
        keys = {key: value for key, value in axis_keys(quantity).items() if key != "label"}
        return {**keys, **plot, "quantity": quantity, **by_grid(plot)}

    def uses(self) -> Iterator[Use]:
        """Yield the quantity for each panel's grid."""
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
    return columns * _width(columns, widest) + BAR, sum(heights(plot, table, widest))


def heights(plot: Options, table: pd.DataFrame, widest: float) -> list[float]:
    """Return the height of each row in inches with its title and ticks.

    Cells of all rows are equally high, except for those of controls, which are lower.
    """
    from scaling_limits.plots.along import columns_of, rows_of

    cell = 1.1 * _width(columns_of(plot, table), widest) / table[plot.x].nunique()
    counts = table.groupby("panel")[plot.y].nunique()
    highest = max(counts.max() * cell, _LOWEST)
    cell *= min(1.0, _HIGHEST / highest)
    shares = [_CONTROL if panel.control else 1.0 for panel in plot.panels]
    needed = [counts[number] * cell * share for number, share in enumerate(shares)]
    rows = rows_of(plot, table)
    return [max(*(needed[number] for number in row), _LOWEST) + _HEAD for row in rows]


def _width(columns: int, widest: float) -> float:
    return min((widest - BAR) / columns, 1.9)


def draw(figure: FigureFolder[Options], table: pd.DataFrame) -> Figure:
    """Draw the maps."""
    from scaling_limits.plots.maps.drawing import Maps

    page = Maps(figure, table)
    for panel, value, ax in page.panels:
        centres = page.matrix(panel, value)  # mean or minimum over seeds
        # cells of equal size
        ax.pcolormesh(centres.where(centres < float("inf")), norm=page.norm, cmap=page.colours)
        page.marks(panel, value, ax)  # optimum or values, divergence, lines
    return page.finish()
