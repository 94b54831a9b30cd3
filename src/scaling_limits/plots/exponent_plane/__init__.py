"""The plane of the depth exponents α and γ: regions predicted by theory, and the measured region of each point."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from scaling_limits.figures.needs import Grids, Use, listed, theory_problem
from scaling_limits.figures.quantities import Quantity
from scaling_limits.figures.shapes import QUANTITY, TEXTS, Shape
from scaling_limits.figures.written import MisplacedError, Names, Path, Written
from scaling_limits.plots.options import PlotOptions
from scaling_limits.strict import Strict

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from scaling_limits.plots import exponent_plane
    from scaling_limits.plots.contract import Kind
    from scaling_limits.plots.figure_folder import FigureFolder
    from scaling_limits.plots.tables import GridResults
    from scaling_limits.plotting.page import Size

    _: Kind[Options] = exponent_plane

X, Y, ALONG = "depth_exponent", "depth_lr_exponent", "depth"
"""The columns of the axes (α and γ of depth-mup) and the size along which slopes are fitted."""


class RegionQuantities(Strict):
    """The quantities whose slopes determine the region; see `parameterisations.theory.depth_region`."""

    activity: Quantity
    initial_change: Quantity
    preactivation: Quantity
    output_change: Quantity

    def __iter__(self) -> Iterator[tuple[str, Quantity]]:  # type: ignore[override]
        """Iterate over the names and quantities."""
        return ((name, getattr(self, name)) for name in type(self).model_fields)


class Options(PlotOptions):
    """The regions of depth-mup Fig. 1 over `depth_exponent` (x) and `depth_lr_exponent` (y).

    The background shows the prediction for the cells' parameterisation and optimiser. Each mark is a point of the grids
    `points`, in the colour of the region given by its measured log-log slopes against depth; slopes with an absolute
    value below `tolerance` count as zero. `symbols` maps a column of the cells to the paper's symbol.
    """

    SHAPE: ClassVar[Shape] = {"points": TEXTS, "quantities": {"*": QUANTITY}}

    kind: Literal["exponent_plane"] = "exponent_plane"
    points: tuple[str, ...] = Field(min_length=1)
    quantities: RegionQuantities
    tolerance: float = Field(default=0.125, gt=0)
    symbols: dict[str, str] = Field(default_factory=dict)

    @property
    def grids(self) -> list[str]:
        """The grids that the plot shows."""
        return list(self.points)

    @classmethod
    def expand(cls, plot: Written, names: Names, path: Path) -> Written:
        """Resolve the quantities, and replace nodes in `points` by the grids below them."""
        expanded = dict(plot)
        if plot.get("points") is not None:
            nodes = plot["points"] if isinstance(plot["points"], list) else [plot["points"]]
            expanded["points"] = names.grids(nodes, (*path, "points"))
        if plot.get("quantities") is not None:
            expanded["quantities"] = {
                name: names.quantity(quantity, (*path, "quantities", name))
                for name, quantity in plot["quantities"].items()
            }
        return expanded

    def uses(self) -> Iterator[Use]:
        """Yield each quantity for each grid, with the columns that it needs."""
        for name, quantity in self.quantities:
            for grid in self.points:
                yield Use(("plot", "quantities", name), (grid,), quantity, (X, Y, ALONG))

    def problems(self, grids: Grids) -> Iterator[MisplacedError]:
        """Yield grids without a theory, several parameterisations or optimisers, and grids with a single depth."""
        path = ("plot", "points")
        for grid in self.points:
            problem = theory_problem(grid, grids[grid])
            if problem is not None:
                yield MisplacedError(path, problem)
        for column in ("parameterisation", "optimiser"):
            known = set().union(*(grids[grid].values(column) for grid in self.points))
            if len(known) > 1:
                problem = f"have several values of {column}, {listed(known)}; take one"
                yield MisplacedError(path, problem)
        for grid in self.points:
            sizes = grids[grid].values(ALONG)
            if len(sizes) == 1:
                problem = f"the grid '{grid}' has a single {ALONG}, {listed(sizes)}"
                yield MisplacedError(path, f"{problem}; two are needed")


def table(plot: Options, grids: GridResults) -> pd.DataFrame:
    """Return each quantity at each point and depth."""
    from scaling_limits.plots.exponent_plane.rows import rows

    return rows(plot, grids)


def size(plot: Options, table: pd.DataFrame, widest: float) -> Size:
    """Return the size of the axes on a page that is `widest` inches wide."""
    width = min(widest, 5.0)
    return width, 0.75 * width


def draw(figure: FigureFolder[Options], table: pd.DataFrame) -> Figure:
    """Draw the regions and the points."""
    from scaling_limits.plots.exponent_plane.drawing import ExponentPlane

    page = ExponentPlane(figure, table)
    page.background(page.ax)
    # the region of a point follows from its log-log slopes against depth
    for region, points in page.measured.groupby("region"):
        look = page.look(str(region))
        page.ax.plot(points["depth_exponent"], points["depth_lr_exponent"], **look)
    return page.finish()
