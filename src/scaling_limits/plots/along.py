"""Drawings arranged in rows: one row for each panel, one drawing for each value of the panel's column `along`."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar, cast

import pandas as pd
from matplotlib import rcParams
from matplotlib.axes import Axes

from scaling_limits.plots.figure_folder import FigureFolder
from scaling_limits.plots.options import AlongOptions, AlongPanel
from scaling_limits.plotting import page, text

PanelT = TypeVar("PanelT", bound=AlongPanel)
OptionsT = TypeVar("OptionsT", bound=AlongOptions)


class Along(page.Drawing, Generic[OptionsT, PanelT]):
    """Base of pages with a row of drawings for each panel, one drawing for each value of the panel's column `along`.

    If `last` is set, each row ends with a narrower pair of axes (`beyond`), whose width relative to the other axes is
    `last`.
    """

    last: float | None = None

    @property
    def further(self) -> tuple[int, float]:
        """Number and height in inches of the axes in a further row below the drawings (`lowest`; default: none)."""
        return 0, 0.0

    def __init__(
        self,
        figure: FigureFolder[OptionsT],
        table: pd.DataFrame,
        size: page.Size,
        heights: Sequence[float] | None = None,
    ) -> None:
        """Lay out the axes of all drawings in an area of the given size.

        Args:
            figure: the figure's folder.
            table: the rows to draw.
            size: width and height of all axes together, in inches.
            heights: relative heights of the rows (default: equal).
        """
        self.figure, self.plot, self.table = figure, figure.plot, table
        self._panels = cast(tuple[PanelT, ...], figure.plot.panels)
        self.values = _values(self.plot, table)
        self.body = figure.body(size)
        below, height = self.further
        self.lowest = self.body.below(below, height) if below else []
        columns = max(map(len, self.values))
        self.axes = self.body.axes(len(self.values), columns, heights, last=self.last)
        self.beyond = self.axes[:, columns:].ravel()
        self.axes = self.axes[:, :columns]

    @property
    def panels(self) -> Iterator[tuple[PanelT, float, Axes]]:
        """Panel, value of the panel's column `along` and axes of each drawing."""
        for number, panel in enumerate(self._panels):
            for column, value in enumerate(self.values[number]):
                yield panel, value, self.axes[number, column]

    def rows(self, panel: PanelT, value: float) -> pd.DataFrame:
        """Return the rows of the table that the drawing of one panel and value shows."""
        table = self.table
        of_panel = table["panel"] == self.plot.panels.index(panel)
        rows: pd.DataFrame = table[of_panel & (table[panel.along] == value)]
        return rows

    def at(self, panel: PanelT, value: float) -> str:
        """Return the text for a value of the panel's column, as in titles."""
        return text.setting(panel.along, value, self.figure.results.cells, self.plot.symbols)

    def title_colour(self, panel: PanelT) -> str:
        """Return the colour of a row's title."""
        return str(rcParams["text.color"])

    def head(self) -> None:
        """Write the titles, keep y tick labels only in the first column, and remove axes without a drawing."""
        for number, panel in enumerate(self._panels):
            for column, ax in enumerate(self.axes[number]):
                if column >= len(self.values[number]):
                    ax.remove()
                    continue
                ax.set_title(self.at(panel, self.values[number][column]))
                if column == 0 and panel.title:
                    # the line break puts the row's title above the value
                    ax.set_title(f"{panel.title}\n", loc="left", color=self.title_colour(panel))
                ax.tick_params(labelleft=column == 0)

    def label(self, x: str, ys: Iterable[str]) -> None:
        """Label the axes: x below the last drawing of each column, and one of `ys` at the left of each row."""
        for column in range(self.axes.shape[1]):
            last = max(row for row, values in enumerate(self.values) if len(values) > column)
            self.axes[last, column].set_xlabel(x)
        for row, y in zip(self.axes, ys, strict=True):
            row[0].set_ylabel(y)


def columns_of(plot: AlongOptions, table: pd.DataFrame) -> int:
    """Return the number of drawings in the longest row."""
    return max(map(len, _values(plot, table)))


def _values(plot: AlongOptions, table: pd.DataFrame) -> list[list[float]]:
    """Return the sorted values of each panel's column `along`, one for each drawing."""
    return [
        sorted(table.loc[table["panel"] == number, panel.along].unique(), key=text.order)
        for number, panel in enumerate(plot.panels)
    ]
