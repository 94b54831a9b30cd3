"""Tables of text, typeset as in papers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby, takewhile

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scaling_limits.plots.figure_folder import FigureFolder
from scaling_limits.plots.options import PlotOptions
from scaling_limits.plotting import style, text
from scaling_limits.plotting.page import Block

_LINE, _CHARACTER = 0.2, 0.062  # inches
_GAP = 4  # characters between columns
_HEAVY, _LIGHT = 0.9, 0.5  # thickness of rules in points

_BOLD, _UNDERLINED = "**", "__"

Line = tuple[str, ...]


def bold(entry: str) -> str:
    """Return a text marked as bold."""
    return f"{_BOLD}{entry}{_BOLD}"


def is_bold(entry: str) -> bool:
    """Return whether a text is marked as bold."""
    return entry.removeprefix(_UNDERLINED).startswith(_BOLD)


def underlined(entry: str) -> str:
    """Return a text marked as underlined."""
    return f"{_UNDERLINED}{entry}{_UNDERLINED}"


def is_underlined(entry: str) -> bool:
    """Return whether a text is marked as underlined."""
    return entry.startswith(_UNDERLINED)


def plain(entry: str) -> str:
    """Return a text without its marks."""
    for mark in (_UNDERLINED, _BOLD):
        entry = entry.removeprefix(mark).removesuffix(mark)
    return entry


def typeset(
    figure: FigureFolder[PlotOptions],
    table: pd.DataFrame,
    legend: Mapping[str, Artist] | None = None,
    colours: pd.DataFrame | None = None,
) -> Figure:
    """Draw a table of text, with rules above, below and under its header.

    Rows and columns may have several levels. Equal neighbouring headings are written once: headings of columns above a
    rule, headings of rows below one. A named level of columns gets a line for its name.

    Args:
        figure: the figure's folder.
        table: the table of text.
        legend: the entries of the legend by label.
        colours: the background colours of the entries, by the positions of the table; empty for none.
    """
    sheet = Sheet.of(table)
    body = figure.body((_CHARACTER * sheet.ends[-1], _LINE * sheet.height))
    ax = body.axes(1, 1)[0, 0]
    sheet.write(ax)
    if colours is not None:
        sheet.fill(ax, colours.to_numpy().tolist())
    body.legend(Block("", legend or {}))
    return body.finish()


@dataclass(frozen=True)
class Sheet:
    """Lines of text whose first `labels` columns are row labels; lengths are in characters and lines."""

    header: tuple[Line, ...]
    body: tuple[Line, ...]
    labels: int

    @classmethod
    def of(cls, table: pd.DataFrame) -> "Sheet":
        """Return the sheet of a table; the names of its index are in the last line of the header."""
        labels = table.index.nlevels
        blank = ("",) * labels
        header: list[Line] = []
        for level, name in enumerate(table.columns.names):
            if name:
                header.append((*blank, *[str(name)] * len(table.columns)))
            header.append((*blank, *map(str, table.columns.get_level_values(level))))
        header[-1] = (*(str(name or "") for name in table.index.names), *header[-1][labels:])
        body = table.reset_index(allow_duplicates=True).astype(str).to_numpy().tolist()
        return cls(tuple(header), tuple(map(tuple, body)), labels)

    @property
    def height(self) -> int:
        """The height of header and body, in lines."""
        return len(self.header) + len(self.body)

    @cached_property
    def ends(self) -> list[float]:
        """The positions in characters at which columns begin and the table ends.

        Headings over several columns may widen the columns.
        """
        columns = zip(self.header[-1], *self.body, strict=True)
        widths = [
            float(max(text.length(plain(entry)) for entry in column) + _GAP) for column in columns
        ]
        for row in range(len(self.header)):
            for entry, first, end in self.spans(row):
                lack = text.length(entry) + _GAP - sum(widths[first:end])
                for column in range(first, end):
                    widths[column] += max(lack, 0) / (end - first)
        return [0.0, *accumulate(widths)]

    def spans(self, row: int) -> list[tuple[str, int, int]]:
        """Return the headings of a header line, each with its first column and the column after its last."""
        last = row == len(self.header) - 1

        def heading(column: int) -> tuple[str | int, ...]:
            above = tuple(line[column] for line in self.header[: row + 1])
            return (*above, column) if last else above

        spans = []
        for _, group in groupby(range(self.labels, len(self.header[row])), key=heading):
            columns = list(group)
            spans.append((self.header[row][columns[0]], columns[0], columns[-1] + 1))
        return spans

    def write(self, ax: Axes) -> None:
        """Write text and rules on otherwise empty axes."""
        ax.set_axis_off()
        ax.set(xlim=(0, self.ends[-1]), ylim=(self.height, 0))
        for column, entry in enumerate(self.header[-1][: self.labels]):
            self._write_entry(ax, len(self.header) - 1, column, column + 1, entry)
        for row in range(len(self.header)):
            for entry, first, end in self.spans(row):
                self._write_entry(ax, row, first, end, entry)
                if row < len(self.header) - 1 and entry:
                    edges = self.ends[first] + _GAP / 4, self.ends[end] - _GAP / 4
                    _rule(ax, row + 1, edges, _LIGHT)
        for row, line in enumerate(self.body):
            known = self.known(row)
            if row and known < self.labels - 1:
                _rule(ax, len(self.header) + row, (0, self.ends[-1]), _LIGHT)
            for column in range(known, len(line)):
                self._write_entry(ax, len(self.header) + row, column, column + 1, line[column])
        for row, thickness in ((0, _HEAVY), (len(self.header), _LIGHT), (self.height, _HEAVY)):
            _rule(ax, row, (0, self.ends[-1]), thickness)

    def fill(self, ax: Axes, colours: Sequence[Sequence[str]]) -> None:
        """Fill the background of the entries that have a colour.

        Args:
            ax: the axes with the text.
            colours: the colours of each line of the body, without those of its labels.
        """
        for row, line in enumerate(colours):
            for column, colour in enumerate(line, self.labels):
                if colour:
                    low, high = self.ends[column] + _GAP / 4, self.ends[column + 1] - _GAP / 4
                    top = len(self.header) + row
                    ax.fill_between([low, high], top, top + 1, color=colour, linewidth=0, zorder=0)

    def known(self, row: int) -> int:
        """Return how many labels of a line, except the last, repeat those of the line above."""
        if row == 0:
            return 0
        pairs = zip(self.body[row][: self.labels - 1], self.body[row - 1], strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    def _write_entry(self, ax: Axes, row: int, first: int, end: int, entry: str) -> None:
        """Write a text, centred over its columns or, for row labels, left-aligned.

        Args:
            ax: the axes.
            row: the line, counted from the top.
            first: the first column of the text.
            end: the column after its last.
            entry: the text, which may be marked as bold, underlined or both.
        """
        is_label = first < self.labels
        x = self.ends[first] + _GAP / 4 if is_label else (self.ends[first] + self.ends[end]) / 2
        alignment: style.Look = {"va": "center_baseline", "ha": "left" if is_label else "center"}
        if entry:
            weight = "bold" if is_bold(entry) else "normal"
            ax.text(x, row + 0.5, plain(entry), size=style.NORMAL, weight=weight, **alignment)
            if is_underlined(entry):
                half = 0.45 * text.length(plain(entry))
                _rule(ax, row + 0.84, (x - half, x + half), _LIGHT)


def _rule(ax: Axes, line: float, ends: tuple[float, float], thickness: float) -> None:
    ax.plot(ends, [line, line], color="black", linewidth=thickness, clip_on=False)
