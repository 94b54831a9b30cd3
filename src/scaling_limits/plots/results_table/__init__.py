"""A table of results: means over seeds of a quantity, and differences of two grids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from scaling_limits.figures.metrics import Best
from scaling_limits.figures.needs import Use
from scaling_limits.figures.quantities import Quantity
from scaling_limits.figures.shapes import QUANTITY, TEXTS, Shape
from scaling_limits.figures.written import Names, Path, Written
from scaling_limits.plots.options import PlotOptions, axis_words
from scaling_limits.strict import Strict

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from scaling_limits.plots import results_table
    from scaling_limits.plots.contract import Kind
    from scaling_limits.plots.figure_folder import FigureFolder
    from scaling_limits.plots.tables import GridResults

    _: Kind[Options] = results_table

_LISTS = ("rows", "columns", "over")
"""The keys whose value, if it is a single name, need not be a list."""
ENTRY = "entry"
"""The name among `rows` or `columns` for the entries themselves."""


class ResultsEntry(Strict):
    """The quantity of a grid; with `minus`, by how much it is larger there than in that grid, seed by seed.

    Commas in the `title` part its headings, the outermost first, as in `ResNet, K-FAC, SP`.
    """

    grid: str
    minus: str | None = None
    title: str = Field(min_length=1)

    @property
    def headings(self) -> tuple[str, ...]:
        """The parts of the title."""
        return tuple(self.title.split(", "))


class Printed(Strict):
    """Values as the paper prints them, in `rows` with an entry for each of the `columns`; it may be empty.

    Rows and columns are named by their headings, the outermost first, joined by commas.
    """

    columns: tuple[str, ...] = Field(min_length=1)
    rows: dict[str, tuple[str, ...]] = Field(min_length=1)

    @model_validator(mode="after")
    def _every_row_is_whole(self) -> Printed:
        for name, entries in self.rows.items():
            if len(entries) != len(self.columns):
                raise ValueError(
                    f"`{name}` has {len(entries)} entries, and there are {len(self.columns)} `columns`"
                )
        return self

    def entry(self, row: str, column: str) -> str:
        """Return an entry; empty where there is none."""
        if row not in self.rows or column not in self.columns:
            return ""
        return self.rows[row][self.columns.index(column)]


class Options(PlotOptions):
    """Means over seeds of a quantity, with the standard deviation where there are several seeds.

    `rows` and `columns` name what lies down and across the table, the outermost first: columns of the cells, the axis
    that the quantity keeps (`step`, `layer`, `index`), and `entry` for the entries. Points that a preset leaves out
    are not there. `over` names columns of the cells of which every number is that of the best combination; `best`
    says which values are. `symbols` maps a column of the cells to the paper's symbol.

    `paper` has what the paper prints, shown below each row. Bold is a difference (`minus`) whose 95 % interval over
    seeds lies on the better side of zero. With `compared`, `rows` or `columns`, entries compete that differ there in
    their last heading alone, and the best one is bold if it is better than the next by such a difference.
    """

    SHAPE: ClassVar[Shape] = {
        "quantity": QUANTITY,
        "entries": [(str, {"grid": str, "minus": str})],
        "rows": TEXTS,
        "columns": TEXTS,
        "over": TEXTS,
        "paper": {"columns": TEXTS, "rows": {"*": TEXTS}},
        "compared": str,
    }

    kind: Literal["results_table"] = "results_table"
    quantity: Quantity
    entries: tuple[ResultsEntry, ...] = Field(min_length=1)
    rows: tuple[str, ...] = Field(min_length=1)
    columns: tuple[str, ...] = Field(min_length=1)
    over: tuple[str, ...] = ()
    best: Best | None = "min"
    paper: Printed | None = None
    compared: Literal["rows", "columns"] | None = None
    symbols: dict[str, str] = Field(default_factory=dict)

    @property
    def grids(self) -> list[str]:
        """The grids that the table shows."""
        return [
            *(entry.grid for entry in self.entries),
            *(entry.minus for entry in self.entries if entry.minus),
        ]

    @property
    def settings(self) -> list[str]:
        """The columns that tell the points of an entry apart."""
        return [name for name in (*self.rows, *self.columns) if name != ENTRY]

    @model_validator(mode="after")
    def _every_number_has_one_place(self) -> Options:
        names = [*self.rows, *self.columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)} occurs twice among `rows` and `columns`")
        if len(self.entries) > 1 and ENTRY not in names:
            raise ValueError(f"several entries need `{ENTRY}` among `rows` or `columns`")
        titles = [entry.title for entry in self.entries]
        if len(set(titles)) < len(titles):
            raise ValueError("two entries have the same title")
        if len({len(entry.headings) for entry in self.entries}) > 1:
            raise ValueError("the titles of all entries have as many headings, between commas")
        if self.over and self.best is None:
            raise ValueError("`over` shows the best: the quantity needs `best`")
        if self.compared and self.best is None:
            raise ValueError("`compared` marks the best: the quantity needs `best`")
        return self

    @classmethod
    def expand(cls, plot: Written, names: Names, path: Path) -> Written:
        """Write out the quantity, its metric's direction, entries by grid, and lists of one name."""
        quantity = names.quantity(plot.get("quantity"), path)
        best = {key: value for key, value in axis_words(quantity).items() if key == "best"}
        plot = {
            key: [value] if isinstance(value, str) and key in _LISTS else value
            for key, value in plot.items()
        }
        entries: list[object] = []
        for index, entry in enumerate(plot.get("entries") or []):
            place = (*path, "entries", index)
            if isinstance(entry, Mapping):
                for key in ("grid", "minus"):
                    names.grids(entry.get(key, []), place)
                entries.append(entry)
            else:
                titled = names.titled([entry], place)
                entries += [{"grid": grid, "title": title} for grid, title in titled]
        return {**best, **plot, "quantity": quantity, "entries": entries}

    def tuned_columns(self) -> Iterator[tuple[str, str]]:
        """Yield the columns over which the best is shown, each with its grid."""
        yield from ((grid, column) for grid in self.grids for column in self.over)

    def uses(self) -> Iterator[Use]:
        """Yield the quantity in the cells of each entry."""
        for grid in self.grids:
            columns = (*self.settings, *self.over)
            yield Use(("plot", "entries"), (grid,), self.quantity, columns)


def table(plot: Options, grids: GridResults) -> pd.DataFrame:
    """Return the quantity at each place of each entry; a difference belongs to the cell that it is taken from."""
    from scaling_limits.plots.results_table.rows import of_entry
    from scaling_limits.plots.tables import panel_rows

    return panel_rows(of_entry(grids, plot, entry) for entry in plot.entries)


def text(figure: FigureFolder[Options], table: pd.DataFrame) -> pd.DataFrame:
    """Return the results as text: accuracies in percent, signed differences, a cross where a seed diverged, and the
    paper's values below them.
    """
    from scaling_limits.plots.results_table.drawing import entries

    return entries(figure, table)


def draw(figure: FigureFolder[Options], table: pd.DataFrame) -> Figure:
    """Draw the table of results."""
    from scaling_limits.plots.results_table.drawing import NOT_RUN, legend
    from scaling_limits.plots.typeset import typeset

    entries = text(figure, table)
    return typeset(figure, entries.replace("", NOT_RUN), legend(entries))
