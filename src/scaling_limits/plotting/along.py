"""Drawings in rows: one for each value of a panel's column."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from scaling_limits.plotting import page, text
from scaling_limits.plotting.figure_folder import FigureFolder


class Along(page.Drawing):
    """A row of drawings for each panel, one for each value of the panel's column `along`."""

    def __init__(
        self, folder: FigureFolder, table: pd.DataFrame, body: page.Body | None = None
    ) -> None:
        """Lay out the drawings, on a page of their own unless there is a `body` for them."""
        self.folder, self.table = folder, table
        self.plot: Any = folder.plot
        self.values = _values(self.plot, table)
        self.body = body or folder.body(self.size(self.plot, table, page.WIDTH))
        self.axes = self.body.axes(len(self.values), max(map(len, self.values)))

    @staticmethod
    def columns(plot: Any, table: pd.DataFrame) -> int:
        """How many drawings there are in the longest row."""
        return max(map(len, _values(plot, table)))

    @property
    def panels(self) -> Iterator[tuple[Any, Any, Axes]]:
        """Each drawing: its panel, its value of the panel's column, and its axes."""
        for number, panel in enumerate(self.plot.panels):
            for column, value in enumerate(self.values[number]):
                yield panel, value, self.axes[number, column]

    def rows(self, panel: Any, value: Any) -> pd.DataFrame:
        """The rows of the table that a drawing shows."""
        table = self.table
        of_panel = table["panel"] == self.plot.panels.index(panel)
        rows: pd.DataFrame = table[of_panel & (table[panel.along] == value)]
        return rows

    def at(self, panel: Any, value: Any) -> str:
        """A value of the panel's column in words."""
        return text.setting(panel.along, value, self.folder.results, self.plot.symbols)

    def head(self) -> None:
        """Write titles and leave out what neighbours say; take away axes that nothing is drawn on."""
        for number, panel in enumerate(self.plot.panels):
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
        """Name the axes, x below the last row and y beside the first column."""
        for column in range(len(self.values[-1])):
            self.axes[-1, column].set_xlabel(x)
        for row in self.axes:
            row[0].set_ylabel(y)


def _values(plot: Any, table: pd.DataFrame) -> list[list[Any]]:
    """For each panel the values of its column, a drawing for each."""
    return [
        sorted(table.loc[table["panel"] == number, panel.along].unique())
        for number, panel in enumerate(plot.panels)
    ]
