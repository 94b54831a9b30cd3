"""Drawings in rows: for each panel, one drawing for each value of its column `along`."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar, cast

import pandas as pd
from matplotlib import rcParams
from matplotlib.axes import Axes

from scaling_limits.plots.figure_folder import FigureFolder
from scaling_limits.plots.options import AlongOptions, AlongPanel
from scaling_limits.plotting import page, text

_CONTROL = "0.45"  # colour of titles of controls

PanelT = TypeVar("PanelT", bound=AlongPanel)
OptionsT = TypeVar("OptionsT", bound=AlongOptions)


class Along(page.Drawing, Generic[OptionsT, PanelT]):
    """Base of pages with drawings in rows (`rows_of`), one drawing for each value of a panel's column `along`.

    `lengths` is the number of drawings in each row. If `last` is set, each row ends with a narrower pair of axes
    (`beyond`), whose width relative to the other axes is `last`.
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
        columns, rows = columns_of(figure.plot, table), rows_of(figure.plot, table)
        self.axes = self.body.axes(len(rows), columns, heights, last=self.last)
        self.beyond = self.axes[:, columns:].ravel()
        self.axes = self.axes[:, :columns]
        self._places = [
            place for row, panels in enumerate(rows) for place in self._in_row(row, panels)
        ]
        self.lengths = [sum(len(self.values[number]) for number in row) for row in rows]

    @property
    def panels(self) -> Iterator[tuple[PanelT, float, Axes]]:
        """Panel, value of the panel's column `along` and axes of each drawing."""
        for panel, values, axes in zip(self._panels, self.values, self._places, strict=True):
            for value, ax in zip(values, axes, strict=True):
                yield panel, value, ax

    def _in_row(self, row: int, panels: Sequence[int]) -> Iterator[list[Axes]]:
        """Yield the axes of each of the panels that share a row."""
        first = 0
        for number in panels:
            count = len(self.values[number])
            yield list(self.axes[row, first : first + count])
            first += count

    def rows(self, panel: PanelT, value: float) -> pd.DataFrame:
        """Return the rows of the table that the drawing of one panel and value shows."""
        table = self.table
        of_panel = table["panel"] == self.plot.panels.index(panel)
        rows: pd.DataFrame = table[of_panel & (table[panel.along] == value)]
        return rows

    def at(self, panel: PanelT, value: float) -> str:
        """Return the text for a value of the panel's column, as in titles."""
        return text.setting(panel.along, value, self.figure.results.cells, self.plot.symbols)

    def head(self) -> None:
        """Write the titles, keep y tick labels only in a panel's first column, and remove axes without a drawing."""
        for panel, axes in zip(self._panels, self._places, strict=True):
            for ax in axes:
                ax.tick_params(labelleft=ax is axes[0])
            if panel.title:
                # the line break puts the panel's title above the value
                colour = _CONTROL if panel.control else rcParams["text.color"]
                axes[0].set_title(f"{panel.title}\n", loc="left", color=colour)
        for panel, value, ax in self.panels:
            ax.set_title(self.at(panel, value))
        for row, length in zip(self.axes, self.lengths, strict=True):
            for ax in row[length:]:
                ax.remove()

    def label(self, x: str, ys: Iterable[str]) -> None:
        """Label the axes: x below the last drawing of each column, and one of `ys` at the left of each row."""
        for column in range(self.axes.shape[1]):
            last = max(row for row, length in enumerate(self.lengths) if length > column)
            self.axes[last, column].set_xlabel(x)
        for row, y in zip(self.axes, ys, strict=True):
            row[0].set_ylabel(y)


def columns_of(plot: AlongOptions, table: pd.DataFrame) -> int:
    """Return the number of drawings in the longest row."""
    return max(map(len, _values(plot, table)))


def rows_of(plot: AlongOptions, table: pd.DataFrame) -> list[list[int]]:
    """Return the numbers of the panels in each row: one, or neighbouring controls that fit side by side."""
    counts = [len(values) for values in _values(plot, table)]
    rows: list[list[int]] = []
    for number, panel in enumerate(plot.panels):
        before = rows[-1] if rows and panel.control and plot.panels[number - 1].control else None
        if before and sum(counts[k] for k in before) + counts[number] <= max(counts):
            before.append(number)
        else:
            rows.append([number])
    return rows


def _values(plot: AlongOptions, table: pd.DataFrame) -> list[list[float]]:
    """Return the sorted values of each panel's column `along`, one for each drawing."""
    return [
        sorted(table.loc[table["panel"] == number, panel.along].unique(), key=text.order)
        for number, panel in enumerate(plot.panels)
    ]
