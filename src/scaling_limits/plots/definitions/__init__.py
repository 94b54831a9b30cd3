"""A table of text that defines the symbols and terms of a paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from scaling_limits.plots.options import PlotOptions

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from scaling_limits.plots import definitions
    from scaling_limits.plots.contract import Kind
    from scaling_limits.plots.figure_folder import FigureFolder
    from scaling_limits.plots.tables import GridResults

    _: Kind[Options] = definitions


class Options(PlotOptions):
    """A table of text with headings `columns` and entries `rows`; mathematics is written between dollar signs."""

    kind: Literal["definitions"] = "definitions"
    columns: tuple[str, ...] = Field(min_length=2)
    rows: tuple[tuple[str, ...], ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _rows_match_columns(self) -> Options:
        for row in self.rows:
            if len(row) != len(self.columns):
                first, columns = (row[0] if row else ""), len(self.columns)
                raise ValueError(
                    f"the row of '{first}' has {len(row)} entries, there are {columns} columns"
                )
        return self


def table(plot: Options, grids: GridResults) -> pd.DataFrame:
    """Return a table without rows, since the plot shows no cells."""
    from scaling_limits.plots.tables import no_rows

    return no_rows()


def text(figure: FigureFolder[Options], table: pd.DataFrame) -> pd.DataFrame:
    """Return the definitions as text, indexed by the first column."""
    import pandas as pd

    entries = pd.DataFrame(figure.plot.rows, columns=list(figure.plot.columns))
    return entries.set_index(figure.plot.columns[0])


def draw(figure: FigureFolder[Options], table: pd.DataFrame) -> Figure:
    """Draw the table of definitions."""
    from scaling_limits.plots.typeset import typeset

    entries = text(figure, table)
    return typeset(figure, entries)
