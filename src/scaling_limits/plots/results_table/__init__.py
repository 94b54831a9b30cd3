"""A table of results: means of a quantity over seeds, and differences between two grids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from scaling_limits.figures.metrics import Best
from scaling_limits.figures.needs import Use
from scaling_limits.figures.quantities import Quantity
from scaling_limits.figures.shapes import QUANTITY, TEXTS, Shape
from scaling_limits.figures.written import Names, Path, Written
from scaling_limits.plots.options import PlotOptions, axis_keys
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
"""Keys whose value may be a single name instead of a list."""
ENTRY = "entry"
"""The name in `rows` or `columns` that represents the entries."""


class ResultsEntry(Strict):
    """The quantity of a grid, or with `minus` the difference from that grid, seed by seed.

    Commas in the `title` separate its headings, the outermost first, as in `ResNet, K-FAC, SP`.
    """

    grid: str
    minus: str | None = None
    title: str = Field(min_length=1)

    @property
    def headings(self) -> tuple[str, ...]:
        """The parts of the title."""
        return tuple(self.title.split(", "))


class Printed(Strict):
    """The values that the paper prints: `rows` with an entry, possibly empty, for each of the `columns`.

    Rows and columns are named by their headings, the outermost first, joined by commas. Entries between `**` are bold.
    """

    columns: tuple[str, ...] = Field(min_length=1)
    rows: dict[str, tuple[str, ...]] = Field(min_length=1)

    @model_validator(mode="after")
    def _rows_match_columns(self) -> Printed:
        for name, entries in self.rows.items():
            if len(entries) != len(self.columns):
                raise ValueError(
                    f"`{name}` has {len(entries)} entries, and there are {len(self.columns)} `columns`"
                )
        return self

    def entry(self, row: str, column: str) -> str:
        """Return an entry, or an empty text if the paper does not print it."""
        if row not in self.rows or column not in self.columns:
            return ""
        return self.rows[row][self.columns.index(column)]


class Options(PlotOptions):
    """Means of a quantity over seeds, with the standard deviation if there are several seeds.

    `rows` and `columns` name the levels of the table's rows and columns, the outermost first: columns of the cells, the
    axis that the quantity keeps (`step`, `layer`, `index`), and `entry` for the entries. Steps are headed by the
    fraction of the training, if all runs have the same length, and a batch of all training samples is headed `full`.
    Points that a preset leaves out are missing from the
    table. `over` names columns of the cells that are optimised for each number; `best` states whether small or large
    values are best. `symbols` maps a column of the cells to the paper's symbol.
    `paper` holds the values that the paper prints, shown below each row. If the paper has all rows or columns of the
    table, its others are added. The background of a difference (`minus`) is darker, the larger it is, on one
    scale for ours and the paper's. With `compared` (`rows` or `columns`), entries that differ only in their last
    heading compete, and the best one is underlined. An arrow marks a best one of ours at an end of its row or column,
    if the last headings are values of a column. A difference, or a best one, is bold if the 95 % confidence interval
    over seeds, of its difference from the next best, lies on the better side of zero.
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
        """The columns that distinguish the points of an entry."""
        return [name for name in (*self.rows, *self.columns) if name != ENTRY]

    @model_validator(mode="after")
    def _entries_are_distinguished(self) -> Options:
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
        """Resolve the quantity, its metric's direction and entries given by grid, and convert single names to lists."""
        quantity = names.quantity(plot.get("quantity"), path)
        best = {key: value for key, value in axis_keys(quantity).items() if key == "best"}
        plot = {
            key: [value] if isinstance(value, str) and key in _LISTS else value
            for key, value in plot.items()
        }
        entries: list[object] = []
        for index, entry in enumerate(plot.get("entries") or []):
            location = (*path, "entries", index)
            if isinstance(entry, Mapping):
                for key in ("grid", "minus"):
                    names.grids(entry.get(key, []), location)
                entries.append(entry)
            else:
                titled = names.titled([entry], location)
                entries += [{"grid": grid, "title": title} for grid, title in titled]
        return {**best, **plot, "quantity": quantity, "entries": entries}

    def tuned_columns(self) -> Iterator[tuple[str, str]]:
        """Yield each grid with the columns over which the best value is shown."""
        yield from ((grid, column) for grid in self.grids for column in self.over)

    def uses(self) -> Iterator[Use]:
        """Yield the quantity for the grids of each entry."""
        for grid in self.grids:
            columns = (*self.settings, *self.over)
            yield Use(("plot", "entries"), (grid,), self.quantity, columns)


def table(plot: Options, grids: GridResults) -> pd.DataFrame:
    """Return the quantity at each point of each entry; a difference has the `cell_id` of the minuend."""
    from scaling_limits.plots.results_table.rows import of_entry
    from scaling_limits.plots.tables import panel_rows

    return panel_rows(of_entry(grids, plot, entry) for entry in plot.entries)


def text(figure: FigureFolder[Options], table: pd.DataFrame) -> pd.DataFrame:
    """Return the results as text.

    Accuracies are in percent, differences are signed, a cross marks divergence of a seed, and the paper's values are
    below the rows.
    """
    from scaling_limits.plots.results_table.drawing import entries

    return entries(figure, table)


def draw(figure: FigureFolder[Options], table: pd.DataFrame) -> Figure:
    """Draw the table of results."""
    from scaling_limits.plots.results_table.drawing import NOT_RUN, colours, legend
    from scaling_limits.plots.typeset import typeset

    entries = text(figure, table)
    written = entries.replace("", NOT_RUN)
    return typeset(figure, written, legend(entries, figure.plot), colours(entries, figure.plot))
