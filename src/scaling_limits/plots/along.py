"""Drawings in rows: one for each value of a panel's column."""

from collections.abc import Iterator
from typing import Generic, TypeVar, cast

import pandas as pd
from matplotlib.axes import Axes

from scaling_limits.plots.figure_folder import FigureFolder
from scaling_limits.plots.options import AlongOptions, AlongPanel
from scaling_limits.plotting import page, text

PanelT = TypeVar("PanelT", bound=AlongPanel)
OptionsT = TypeVar("OptionsT", bound=AlongOptions)


class Along(page.Drawing, Generic[OptionsT, PanelT]):
    """A row of drawings for each panel, one for each value of the panel's column `along`.

    With `last` each row ends with a narrower pair of axes, of this width relative to the others: those `beyond`.
    """

    last: float | None = None

    def __init__(
        self, figure: FigureFolder[OptionsT], table: pd.DataFrame, size: page.Size
    ) -> None:
        """Lay out the drawings, whose axes take a size."""
        self.figure, self.plot, self.table = figure, figure.plot, table
        self._panels = cast(tuple[PanelT, ...], figure.plot.panels)
        self.values = _values(self.plot, table)
        self.body = figure.body(size)
        columns = max(map(len, self.values))
        self.axes = self.body.axes(len(self.values), columns, last=self.last)
        self.beyond = self.axes[:, columns:].ravel()
        self.axes = self.axes[:, :columns]

    @property
    def panels(self) -> Iterator[tuple[PanelT, float, Axes]]:
        """Each drawing: its panel, its value of the panel's column, and its axes."""
        for number, panel in enumerate(self._panels):
            for column, value in enumerate(self.values[number]):
                yield panel, value, self.axes[number, column]

    def rows(self, panel: PanelT, value: float) -> pd.DataFrame:
        """Return the rows of the table that a drawing shows."""
        table = self.table
        of_panel = table["panel"] == self.plot.panels.index(panel)
        rows: pd.DataFrame = table[of_panel & (table[panel.along] == value)]
        return rows

    def at(self, panel: PanelT, value: float) -> str:
        """Return a value of the panel's column in words."""
        return text.setting(panel.along, value, self.figure.results.cells, self.plot.symbols)

    def head(self) -> None:
        """Write titles and leave out what neighbours say; take away axes that nothing is drawn on."""
        for number, panel in enumerate(self._panels):
            for column, ax in enumerate(self.axes[number]):
                if column >= len(self.values[number]):
                    ax.remove()
                    continue
                ax.set_title(self.at(panel, self.values[number][column]))
                if column == 0 and panel.title:
                    # above the value, from the left edge of the row
                    ax.set_title(f"{panel.title}\n", loc="left")
                ax.tick_params(labelleft=column == 0)

    def label(self, x: str, y: str) -> None:
        """Name the axes, x below the last row and y next to the first column."""
        for column in range(len(self.values[-1])):
            self.axes[-1, column].set_xlabel(x)
        for row in self.axes:
            row[0].set_ylabel(y)


def columns_of(plot: AlongOptions, table: pd.DataFrame) -> int:
    """Return how many drawings there are in the longest row."""
    return max(map(len, _values(plot, table)))


def _values(plot: AlongOptions, table: pd.DataFrame) -> list[list[float]]:
    """Return the values of each panel's column, a drawing for each."""
    return [
        sorted(table.loc[table["panel"] == number, panel.along].unique(), key=text.order)
        for number, panel in enumerate(plot.panels)
    ]
