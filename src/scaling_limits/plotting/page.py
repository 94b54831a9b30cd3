"""A page: pairs of axes under a title and what its verdicts say, over a legend and notes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import seaborn as sns
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogFormatterMathtext,
    LogLocator,
    MaxNLocator,
    NullFormatter,
)
from matplotlib.transforms import Bbox

from scaling_limits.plotting import style, text

WIDTH = 7.2
"""Of a page of several columns, in inches."""
_NARROWEST = 4.2
_MOST_TICKS = 6
_CHARACTERS, _BOLD = 17, 12.5  # how many fill an inch of small text, and of a title
_LINE, _TITLE_LINE, _PAD = 0.128, 0.17, 0.05  # heights in inches


class Page:
    """A figure: its title and what its verdicts say, a body of axes over a legend, notes."""

    def __init__(
        self, title: str, verdicts: str, notes: Sequence[str], size: tuple[float, float]
    ) -> None:
        """Lay out a page whose body has a `size` in inches, beside the legend."""
        self.width = max(size[0], _NARROWEST)
        titles = text.wrap(title, round(self.width * _BOLD))
        small = [text.wrap(words, round(self.width * _CHARACTERS)) for words in notes]
        lines = "\n".join(small)
        head = (titles.count("\n") + 1) * _TITLE_LINE + bool(verdicts) * _LINE + _PAD
        foot = (lines.count("\n") + 1) * _LINE + _PAD if lines else _PAD
        self._heights = [head, size[1], foot]
        engine = ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.03, hspace=0.0, wspace=0.0)
        self.figure = Figure(figsize=(self.width, sum(self._heights)), layout=engine)
        self._parts = GridSpec(3, 1, self.figure, height_ratios=self._heights)
        self._top, self.body, self._bottom = (
            self.figure.add_subfigure(self._parts[row]) for row in range(3)
        )
        self._write(titles, 1.0, head, size=style.LARGE, weight="bold", gid="title")
        down = 1 - (titles.count("\n") + 1) * _TITLE_LINE / head
        self._write(verdicts, down, head, size=style.SMALL, color="0.25", gid="verdicts")
        look: dict[str, Any] = {"size": style.SMALL, "color": "0.25", "gid": "notes", "va": "top"}
        self._bottom.text(_PAD / self.width, 1.0, lines, **look)

    def _write(self, words: str, y: float, height: float, **look: Any) -> None:
        self._top.text(_PAD / self.width, y - 0.3 * _PAD / height, words, va="top", **look)

    def axes(self, rows: int, columns: int) -> np.ndarray:
        """Pairs of axes [rows, columns]."""
        axes: np.ndarray = self.body.subplots(rows, columns, squeeze=False)
        for ax in axes.flat:
            sns.despine(ax=ax)
        return axes

    def legend(self, entries: Mapping[str, Artist]) -> None:
        """Explain colours and marks at the foot of the body, which grows by it."""
        if not entries:
            return
        widest = max(text.length(label) for label in entries) + 6
        columns = min(max(1, int(self.width * _CHARACTERS / widest)), len(entries))
        lines = -(-len(entries) // columns)
        columns = -(-len(entries) // lines)
        self._heights[1] += lines * 1.15 * _LINE + _PAD
        self.figure.set_size_inches(self.width, sum(self._heights))
        self._parts.set_height_ratios(self._heights)
        self.body.legend(
            list(entries.values()),
            list(entries),
            loc="outside lower center",
            ncols=columns,
            handletextpad=0.5,
            labelspacing=0.3,
        )

    def settle(self) -> Figure:
        """The figure, its layout computed once and for all formats."""
        self.figure.draw_without_rendering()
        # with an engine left, also with the one called "none", every format would draw the page twice
        self.figure.set_layout_engine(None)
        # the last bits of what the solver finds depend on where its variables lie in memory
        for part in self.figure.subfigs:
            part.bbox_relative.set_points(np.round(part.bbox_relative.get_points(), 6))
            for ax in part.axes:
                ax.set_position(Bbox(np.round(ax.get_position().get_points(), 6)))
        return self.figure


def scale_ticks(axis: Axis, scale: str, low: float, high: float) -> None:
    """Ticks between two ends: round numbers in one notation."""
    if scale == "linear":
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        return
    if high / low < 300 and low > 2e-3 and high < 1e5:
        # few decades near one: plain numbers
        subs = (1, 2, 5) if high / low > 8 else (1, 1.5, 2, 3, 4, 5, 6, 8)
        axis.set_major_locator(LogLocator(subs=subs, numticks=12))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        axis.set_major_locator(LogLocator(numticks=7))
        axis.set_major_formatter(LogFormatterMathtext())
    axis.set_minor_formatter(NullFormatter())


def size_ticks(axis: Axis, values: np.ndarray) -> None:
    """Ticks at powers of two where values on a logarithmic axis are; else round numbers."""
    values = np.unique(values)
    octaves = np.log2(values)
    if not np.allclose(octaves, octaves.round()):
        scale_ticks(axis, "log", float(values[0]), float(values[-1]))
        return
    few = (
        FixedLocator(values.tolist())
        if len(values) <= _MOST_TICKS
        else LogLocator(base=2, numticks=8)
    )
    axis.set_major_locator(few)
    whole = values[0] >= 1 and values[-1] < 1e5
    plain = FuncFormatter(lambda value, _: f"{value:g}")
    axis.set_major_formatter(plain if whole else LogFormatterMathtext(base=2))
    axis.set_minor_locator(LogLocator(base=2, numticks=99))
    axis.set_minor_formatter(NullFormatter())


def blank(ax: Axes, words: str) -> None:
    """Words in the place of a drawing."""
    ax.set_axis_off()
    ax.text(0.5, 0.5, words, ha="center", va="center", color="0.35", transform=ax.transAxes)
