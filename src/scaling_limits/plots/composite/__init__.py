"""Several plots in one figure, each drawn as it would be in a separate figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, SerializeAsAny

from scaling_limits.figures.needs import Grids, Use
from scaling_limits.figures.quantities import Quantity
from scaling_limits.figures.shapes import Shape
from scaling_limits.figures.written import MisplacedError, Names, Path, Written, entries
from scaling_limits.plots import registry
from scaling_limits.plots.options import PlotOptions, expand, no_kind

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from scaling_limits.plots import composite
    from scaling_limits.plots.contract import Kind
    from scaling_limits.plots.figure_folder import FigureFolder
    from scaling_limits.plots.tables import GridResults

    _: Kind[Options] = composite


def _of_a_kind_with_size(content: object) -> object:
    """Reject a plot whose kind does not define `size`."""
    if isinstance(content, Mapping):
        valid = [kind for kind in registry.modules if hasattr(registry.part(kind), "size")]
        if content.get("kind") not in valid:
            raise no_kind(content, valid)
    return content


class Options(PlotOptions):
    """Several plots of any kinds that define `size`, with `wrap` plots in each row and a legend below each plot.

    A legend leaves out what an earlier one explains.

    Plots are written as a list, or as a mapping from names, by which a figure that extends another changes single ones.
    """

    SHAPE: ClassVar[Shape] = {"plots": ([{"kind": str}], {"*": {"kind": str}})}

    kind: Literal["composite"] = "composite"
    plots: tuple[
        Annotated[SerializeAsAny[PlotOptions], BeforeValidator(_of_a_kind_with_size)], ...
    ] = Field(min_length=2)
    wrap: int = Field(default=2, ge=1)

    @property
    def grids(self) -> list[str]:
        """The grids that the plots show."""
        return [grid for plot in self.plots for grid in plot.grids]

    @property
    def kinds(self) -> set[str]:
        """The kinds of the plots, and `composite`."""
        return {self.kind}.union(*(plot.kinds for plot in self.plots))

    @property
    def centres(self) -> set[str]:
        """The statistics over seeds, or the seed, that the plots show."""
        return set[str]().union(*(plot.centres for plot in self.plots))

    @property
    def shows_ratios(self) -> bool:
        """Whether one of the plots shows ratios."""
        return any(plot.shows_ratios for plot in self.plots)

    @classmethod
    def misfits(cls, plot: Written, path: Path) -> Iterator[MisplacedError]:
        """Yield the entries of wrong type, including those of the plots."""
        yield from super().misfits(plot, path)
        if isinstance(plot.get("plots"), list | dict):
            for key, part in entries(plot["plots"]):
                if isinstance(part, dict):
                    model = PlotOptions.of_content(part)
                    yield from model.misfits(part, (*path, "plots", key))

    @classmethod
    def expand(cls, plot: Written, names: Names, path: Path) -> Written:
        """Expand each plot."""
        parts = entries(plot.get("plots"))
        plots = [expand(part, names, (*path, "plots", key)) for key, part in parts]
        return {**plot, "plots": plots}

    def named_columns(self) -> Iterator[tuple[Path, str]]:
        """Return the columns that the plots name."""
        return chain.from_iterable(plot.named_columns() for plot in self.plots)

    def named_texts(self) -> Iterator[tuple[Path, str]]:
        """Return the texts of the plots."""
        return chain.from_iterable(plot.named_texts() for plot in self.plots)

    def shown_quantities(self) -> Iterator[tuple[str, Quantity]]:
        """Return the quantities that the plots show."""
        return chain.from_iterable(plot.shown_quantities() for plot in self.plots)

    def tuned_columns(self) -> Iterator[tuple[str, str]]:
        """Return the columns over which the plots show the best value."""
        return chain.from_iterable(plot.tuned_columns() for plot in self.plots)

    def uses(self) -> Iterator[Use]:
        """Return the quantities and columns of the cells that the plots use."""
        return chain.from_iterable(plot.uses() for plot in self.plots)

    def problems(self, grids: Grids) -> Iterator[MisplacedError]:
        """Return the problems of the plots with the cells."""
        return chain.from_iterable(plot.problems(grids) for plot in self.plots)

    def fill(self, filled: Callable[[str, Iterable[str]], str]) -> Self:
        """Return the options with the texts of all plots filled in."""
        return self.model_copy(update={"plots": tuple(plot.fill(filled) for plot in self.plots)})


def table(plot: Options, grids: GridResults) -> pd.DataFrame:
    """Return the concatenated tables of the plots; the column `plot` counts the plots from 0."""
    import pandas as pd

    from scaling_limits.plots.tables import rows_of

    tables = [rows_of(part, grids) for part in plot.plots]
    return pd.concat(tables, keys=range(len(tables)), names=["plot"]).reset_index("plot")


def draw(figure: FigureFolder[Options], table: pd.DataFrame) -> Figure:
    """Draw each plot on its part of the page."""
    from scaling_limits.plots.composite.drawing import parts

    for part, rows in parts(figure, table):
        picture = part.draw(rows)
    return picture


def cells(plot: Options) -> list[str]:
    """Return the notebook's cells: one that lays out the page and at least one for each plot."""
    from scaling_limits.plots.notebook import drawing_cells

    page = (
        "from scaling_limits.plots.composite.drawing import parts\n\nplots = parts(figure, table)"
    )
    cells = [page]
    for number, part in enumerate(plot.plots):
        first, *further = drawing_cells(part)
        cells += [f"figure, table = plots[{number}]\n{first}", *further]
    return cells
