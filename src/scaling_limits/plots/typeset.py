"""Tables of text, typeset as papers print them."""

from collections.abc import Mapping
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
_HEAVY, _LIGHT = 0.9, 0.5  # rules, points

_BOLD = "**"

Line = tuple[str, ...]


def bold(words: str) -> str:
    """Return a text that is written in bold."""
    return f"{_BOLD}{words}{_BOLD}"


def is_bold(words: str) -> bool:
    """Whether a text is written in bold."""
    return words.startswith(_BOLD)


def plain(words: str) -> str:
    """Return the words of a text that may be written in bold."""
    return words.removeprefix(_BOLD).removesuffix(_BOLD)


def typeset(
    figure: FigureFolder[PlotOptions],
    table: pd.DataFrame,
    legend: Mapping[str, Artist] | None = None,
) -> Figure:
    """Draw a table of text, with rules above, below and under its header.

    Both of its axes may have several levels: neighbouring headings that are equal are written once, those of columns
    over a rule, those of lines below one. A level of columns that has a name gets a line for it.
    `legend` is as in `Page.legend`.
    """
    sheet = Sheet.of(table)
    body = figure.body((_CHARACTER * sheet.ends[-1], _LINE * sheet.height))
    sheet.write(body.axes(1, 1)[0, 0])
    body.legend(Block("", legend or {}))
    return body.finish()


@dataclass(frozen=True)
class Sheet:
    """Lines of text, of which the first `labels` columns say what the line is; lengths are in characters and lines."""

    header: tuple[Line, ...]
    body: tuple[Line, ...]
    labels: int

    @classmethod
    def of(cls, table: pd.DataFrame) -> "Sheet":
        """The names of the table's index stand in the last line of the header."""
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
        """The positions at which columns begin and the table ends; a heading over several columns may widen them."""
        columns = zip(self.header[-1], *self.body, strict=True)
        widths = [
            float(max(text.length(plain(words)) for words in column) + _GAP) for column in columns
        ]
        for row in range(len(self.header)):
            for words, first, end in self.spans(row):
                lack = text.length(words) + _GAP - sum(widths[first:end])
                for column in range(first, end):
                    widths[column] += max(lack, 0) / (end - first)
        return [0.0, *accumulate(widths)]

    def spans(self, row: int) -> list[tuple[str, int, int]]:
        """The headings of a line, each with the first column below it and the one after the last."""
        last = row == len(self.header) - 1

        def heading(column: int) -> tuple[str | int, ...]:
            above = tuple(line[column] for line in self.header[: row + 1])
            return (*above, column) if last else above

        spans = []
        for _, group in groupby(range(self.labels, len(self.header[row])), key=heading):
            over = list(group)
            spans.append((self.header[row][over[0]], over[0], over[-1] + 1))
        return spans

    def write(self, ax: Axes) -> None:
        """Words and rules on axes that have nothing else."""
        ax.set_axis_off()
        ax.set(xlim=(0, self.ends[-1]), ylim=(self.height, 0))
        for column, words in enumerate(self.header[-1][: self.labels]):
            self._words(ax, len(self.header) - 1, column, column + 1, words)
        for row in range(len(self.header)):
            for words, first, end in self.spans(row):
                self._words(ax, row, first, end, words)
                if row < len(self.header) - 1 and words:
                    edges = self.ends[first] + _GAP / 4, self.ends[end] - _GAP / 4
                    _rule(ax, row + 1, edges, _LIGHT)
        for row, line in enumerate(self.body):
            known = self.known(row)
            if row and known < self.labels - 1:
                _rule(ax, len(self.header) + row, (0, self.ends[-1]), _LIGHT)
            for column in range(known, len(line)):
                self._words(ax, len(self.header) + row, column, column + 1, line[column])
        for row, thickness in ((0, _HEAVY), (len(self.header), _LIGHT), (self.height, _HEAVY)):
            _rule(ax, row, (0, self.ends[-1]), thickness)

    def known(self, row: int) -> int:
        """Return how many labels of a line, without its last, are the same as in the line above."""
        if row == 0:
            return 0
        pairs = zip(self.body[row][: self.labels - 1], self.body[row - 1], strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    def _words(self, ax: Axes, row: int, first: int, end: int, words: str) -> None:
        """Words in the middle of columns; those of labels at their beginning."""
        label = first < self.labels
        x = self.ends[first] + _GAP / 4 if label else (self.ends[first] + self.ends[end]) / 2
        look: style.Look = {"va": "center_baseline", "ha": "left" if label else "center"}
        if words:
            weight = "bold" if is_bold(words) else "normal"
            ax.text(x, row + 0.5, plain(words), size=style.NORMAL, weight=weight, **look)


def _rule(ax: Axes, line: int, ends: tuple[float, float], thickness: float) -> None:
    ax.plot(ends, [line, line], color="black", linewidth=thickness, clip_on=False)
