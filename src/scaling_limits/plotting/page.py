"""A page: a heading, bodies of axes above their legends, and notes."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import seaborn as sns
from matplotlib.artist import Artist, getp
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure, FigureBase, SubFigure
from matplotlib.gridspec import GridSpec
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import (
    FixedFormatter,
    FixedLocator,
    FuncFormatter,
    LogFormatterMathtext,
    LogFormatterSciNotation,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)
from matplotlib.transforms import Bbox, ScaledTranslation

from scaling_limits.plotting import style, text

WIDTH = 7.2
"""Width of a page with several columns, in inches."""
_NARROWEST = 5.2
"""Smallest width of a page in inches, for which identity and badge fit on one line."""
_MOST_TICKS, _FEW_TICKS, _MOST_CELL_TICKS = 6, 3, 7
_VISIBLE = 0.02  # fraction of a colour bar by which the label of an end may be off
_NEAR_END = 0.12  # fraction of a colour bar next to its ends without further ticks
_CHARACTERS = 18  # per inch of a label in small text
_NOTE, _CELL, _NORMAL, _BOLD = (
    20,
    21.5,
    17,
    12,
)  # per inch of sentences in small, normal and bold text
_HANDLE, _GAP = 0.4, 0.15  # inches of an entry's handle and of the space after a block
_LINE, _SEE_LINE, _TITLE_LINE, _PAD = 0.128, 0.145, 0.17, 0.05  # heights in inches
_MOST_STRETCHED = 1.6  # largest factor by which axes are stretched
_MARGIN = 0.1  # inches around the page
_COLUMNS = (0.54, 0.26, 0.2)  # widths of the columns below a figure, relative to the page
_NOTE_LINE, _NOTE_GAP = 0.112, 0.02  # heights in inches of a line and a gap below a figure


Size = tuple[float, float]
"""Width and height in inches."""
Row = tuple[str, str, str]
"""The three columns of a row of the table below a figure."""
Note = str | Row
"""A text below a figure, as wide as the page, or a row of a table."""


@dataclass(frozen=True)
class Badge:
    """An outcome as text, its background colour, and a text on the claims that it summarises."""

    outcome: str
    colour: str
    claims: str


@dataclass(frozen=True)
class Heading:
    """The text above a figure: its identity, its title, its expected effect, and the badge with its outcome."""

    identity: str = ""
    title: str = ""
    see: str = ""
    badge: Badge | None = None


class Page:
    """A figure with a heading, bodies of axes above their legends, and notes."""

    def __init__(self, heading: Heading, notes: Sequence[Note], *rows: Sequence[Size]) -> None:
        """Lay out a page; empty parts take no space.

        Args:
            heading: the heading.
            notes: the texts and rows below the figure.
            *rows: for each row of bodies, the sizes of their axes in inches.
        """
        self.width = max(*(sum(width for width, _ in row) for row in rows), _NARROWEST)
        below, height = self._below(notes)
        written = self._lines(heading)
        self._head = _MARGIN + sum(height for _, height, _ in written) + _PAD if written else _PAD
        self._foot = height + _MARGIN if below else _PAD
        edge = _MARGIN / (self.width + 2 * _MARGIN)
        self._engine = ConstrainedLayoutEngine(
            w_pad=0.03, h_pad=0.03, hspace=0.0, wspace=0.0, rect=(edge, 0.0, 1 - 2 * edge, 1.0)
        )
        self.figure = Figure(layout=self._engine)
        self._parts = GridSpec(len(rows) + 2, 1, self.figure)
        self._top, *middle, self._bottom = (
            self.figure.add_subfigure(self._parts[row]) for row in range(len(rows) + 2)
        )
        self._rows = [self._row(*row_parts) for row_parts in zip(middle, rows, strict=True)]
        self.bodies = [body for row in self._rows for body in row]
        self._unfinished = set(self.bodies)
        self._explained: set[tuple[object, ...]] = set()
        self.fit()
        y = self._head - _MARGIN
        for line, height, look in written:
            self._top.text(0.0, y / self._head, line, va="top", **look)
            y -= height
        self._put_badge(heading.badge)
        small_look: style.Look = {"size": style.SMALL, "color": "0.25", "gid": "notes"}
        for x, y, words in below:
            self._bottom.text(x, 1.0 - y / self._foot, words, va="top", **small_look)

    def _below(self, notes: Sequence[Note]) -> tuple[list[tuple[float, float, str]], float]:
        """Break the texts below the figure into lines.

        Returns:
            The texts with their left ends relative to the page and their distances from the top in inches, and the
            height of all in inches.
        """
        below: list[tuple[float, float, str]] = []
        y = 0.0
        for note in notes:
            columns = (
                [(note, 1.0)] if isinstance(note, str) else [*zip(note, _COLUMNS, strict=True)]
            )
            broken = [
                text.lines(cell, round(width * self.width * _NOTE)) for cell, width in columns
            ]
            starts = accumulate((width for _, width in columns[:-1]), initial=0.0)
            below += [
                (x, y, "\n".join(lines)) for x, lines in zip(starts, broken, strict=True) if lines
            ]
            y += max(map(len, broken)) * _NOTE_LINE + _NOTE_GAP
        return below, y

    def _lines(self, heading: Heading) -> list[tuple[str, float, style.Look]]:
        """Return the texts of the heading with their heights in inches and their styles."""
        parts = (
            (heading.identity, _CHARACTERS, _LINE, {"size": style.SMALL, "color": "0.4"}),
            (heading.title, _BOLD, _TITLE_LINE, {"size": style.LARGE, "weight": "bold"}),
            (heading.see, _NORMAL, _SEE_LINE, {"size": style.NORMAL, "color": "0.15"}),
        )
        written: list[tuple[str, float, style.Look]] = []
        for name, (content, characters, line, look) in zip(
            ("identity", "title", "see"), parts, strict=True
        ):
            if content:
                wrapped = text.wrap(content, round(self.width * characters))
                height = (wrapped.count("\n") + 1) * line
                written.append((wrapped, height, {**look, "gid": name}))
        return written

    def _put_badge(self, badge: Badge | None) -> None:
        if badge is None:
            return
        label = f"{badge.outcome} \N{MIDDLE DOT} {badge.claims}"
        box: style.Look = {"boxstyle": "round,pad=0.25", "facecolor": badge.colour, "linewidth": 0}
        look: style.Look = {"size": style.SMALL, "va": "top", "ha": "right", "gid": "badge"}
        self._top.text(1.0, 1 - _MARGIN / self._head, label, bbox=box, **look)

    def _row(self, area: SubFigure, sizes: Sequence[Size]) -> list["Body"]:
        if len(sizes) == 1:
            return [Body(self, area, (self.width, sizes[0][1]))]
        widths = [width * self.width / sum(width for width, _ in sizes) for width, _ in sizes]
        areas = np.ravel(area.subfigures(1, len(sizes), squeeze=False, width_ratios=widths))
        return [Body(self, areas[k], (widths[k], sizes[k][1])) for k in range(len(sizes))]

    def fit(self) -> None:
        """Set the height of every row to the height of its tallest body."""
        rows = [max(body.height for body in row) for row in self._rows]
        for height, row in zip(rows, self._rows, strict=True):
            for body in row:
                body.fit(height)
        heights = [self._head, *rows, self._foot]
        self.figure.set_size_inches(self.width + 2 * _MARGIN, sum(heights))
        self._parts.set_height_ratios(heights)

    def unexplained(self, blocks: Iterable["Block"]) -> list["Block"]:
        """Return the blocks of a legend without what earlier legends explain, and remember their entries.

        A block with a title is kept whole unless all of its entries are known.
        """
        left = []
        for block in blocks:
            looks = {label: (block.title, label, _look(a)) for label, a in block.entries.items()}
            new = [label for label, look in looks.items() if look not in self._explained]
            self._explained.update(looks.values())
            if new:
                shown = (
                    block.entries if block.title else {label: block.entries[label] for label in new}
                )
                left.append(Block(block.title, shown))
        return left

    def finish(self, body: "Body") -> Figure:
        """Return the figure, after computing its layout if all of its bodies are finished."""
        self._unfinished.discard(body)
        return self.figure if self._unfinished else self.compute_layout()

    def compute_layout(self) -> Figure:
        """Compute the layout once for all formats, and return the figure."""
        self._engine.execute(self.figure)
        # with any layout engine, even "none", every format would draw the page twice
        self.figure.set_layout_engine(None)
        # the last bits of the solver's result depend on memory addresses
        _round(self.figure)
        return self.figure


def _look(artist: Artist) -> tuple[str, ...]:
    """Return what distinguishes the handles of a legend."""
    keys = ("color", "facecolor", "linestyle", "linewidth", "marker", "markerfacecolor", "hatch")
    return tuple(str(getp(artist, key)) for key in keys if hasattr(artist, f"get_{key}"))


def _round(figure: FigureBase) -> None:
    for part in figure.subfigs:
        part.bbox_relative.set_points(np.round(part.bbox_relative.get_points(), 6))
        for ax in part.axes:
            ax.set_position(Bbox(np.round(ax.get_position().get_points(), 6)))
        _round(part)


@dataclass(frozen=True)
class Block:
    """The entries of a legend that explain one variable, below its symbol or name."""

    title: str
    entries: Mapping[str, Artist]

    def columns(self, lines: int) -> int:
        """Return the number of columns of the block for a number of lines."""
        return -(-len(self.entries) // lines)

    def width(self, lines: int) -> float:
        """Return the approximate width of the block in inches for a number of lines."""
        widest = max(text.length(label) for label in self.entries)
        columns = self.columns(lines) * (widest / _CHARACTERS + _HANDLE)
        return max(columns, text.length(self.title) / _CHARACTERS) + _GAP


class Body:
    """The part of a page for one plot: an area for axes above an area for their legend."""

    def __init__(self, page: Page, area: SubFigure, size: Size) -> None:
        """Divide an area of the page between axes of the given size in inches and their legend."""
        self.page = page
        self.width, self.axes_height = size
        self.legend_height = _PAD
        self._parts = area.add_gridspec(2, 1)
        self.area, self._foot = (area.add_subfigure(self._parts[row]) for row in (0, 1))

    @property
    def height(self) -> float:
        """The height of axes and legend in inches."""
        return self.axes_height + self.legend_height

    def grow(self, height: float) -> None:
        """Increase the height of the axes by `height` inches."""
        self.axes_height += height
        self.page.fit()

    def fit(self, height: float) -> None:
        """Divide a total height in inches, which must not be less than `height`, between the axes and the legend.

        Next to a taller body the axes are stretched, so that less of the page is empty.
        """
        axes_height = min(height - self.legend_height, _MOST_STRETCHED * self.axes_height)
        self._parts.set_height_ratios([axes_height, height - axes_height])

    def finish(self) -> Figure:
        """Return the figure, with its layout computed if this is the last unfinished body of the page."""
        return self.page.finish(self)

    def axes(
        self,
        rows: int,
        columns: int,
        heights: Sequence[float] | None = None,
        last: float | None = None,
    ) -> np.ndarray:
        """Create pairs of axes [rows, columns].

        Args:
            rows: the number of rows.
            columns: the number of columns.
            heights: relative heights of the rows (default: equal).
            last: the width of an additional column relative to the others (default: no additional column).

        Returns:
            The axes, an array [rows, columns] or [rows, columns + 1].
        """
        widths = [1.0] * columns + [last] * (last is not None)
        ratios = {"height_ratios": heights, "width_ratios": widths}
        axes: np.ndarray = self.area.subplots(rows, len(widths), squeeze=False, gridspec_kw=ratios)
        for ax in axes.flat:
            sns.despine(ax=ax)
        return axes

    def below(self, columns: int, height: float) -> list[Axes]:
        """Create a row of axes below all others; the body grows by its `height` in inches.

        It has its own columns, and is created before the other axes.
        """
        parts = self.area.add_gridspec(2, 1, height_ratios=[self.axes_height, height])
        self.area, lower = [self.area.add_subfigure(parts[row]) for row in (0, 1)]
        self.grow(height)
        axes = list(lower.subplots(1, columns, squeeze=False).flat)
        for ax in axes:
            sns.despine(ax=ax)
        return axes

    def wrapped(self, count: int, wrap: int) -> list[Axes]:
        """Create `count` pairs of axes, at most `wrap` in each row."""
        axes = self.axes(*shape(count, wrap))
        for spare in axes.flat[count:]:
            spare.remove()
        return list(axes.flat[:count])

    def legend(self, *blocks: Block) -> None:
        """Write the legend below the axes, with as many blocks side by side as fit; the body grows by its height.

        Blocks side by side have the same number of lines: the smallest number for which they fit. Entries that the
        legend of another body explains are left out, but not those of a block with a title, unless all are known.
        """
        rows = list(self._side_by_side(self.page.unexplained(blocks)))
        if not rows:
            return
        heights = [
            (lines + any(block.title for block in row)) * _LINE + _PAD for row, lines in rows
        ]
        self.legend_height = sum(heights) + _PAD
        self.page.fit()
        # the title of a block should not be read as the label of the axis above it
        below = _PAD
        for (row, lines), height in zip(rows, heights, strict=True):
            self._write(row, lines, below)
            below += height

    def _side_by_side(self, blocks: Sequence[Block]) -> Iterator[tuple[list[Block], int]]:
        """Yield blocks that fit side by side, and their number of lines."""
        left = list(blocks)
        while left:
            count = len(left)
            while count > 1 and self._lines(left[:count]) is None:
                count -= 1
            row, left = left[:count], left[count:]
            yield row, self._lines(row) or len(row[0].entries)

    def _lines(self, blocks: Sequence[Block]) -> int | None:
        """Return the smallest number of lines with which blocks fit side by side; None if they do not."""
        longest = max(len(block.entries) for block in blocks)
        widths = {k: sum(block.width(k) for block in blocks) for k in range(1, longest + 1)}
        return next((lines for lines, width in widths.items() if width <= self.width), None)

    def _write(self, blocks: Sequence[Block], lines: int, below: float) -> None:
        """Write blocks side by side in the middle of the body, `below` inches under the top of the legend."""
        down = ScaledTranslation(0.0, -below, self._foot.dpi_scale_trans)
        widths = [block.width(lines) for block in blocks]
        titled = any(block.title for block in blocks)
        x = max(0.0, self.width - sum(widths)) / 2
        for block, width in zip(blocks, widths, strict=True):
            self._foot.legend(
                list(block.entries.values()),
                list(block.entries),
                title=block.title or (" " if titled else None),
                title_fontsize=style.SMALL,
                alignment="left",
                loc="upper left",
                bbox_to_anchor=(x / self.width, 1.0),
                bbox_transform=self._foot.transSubfigure + down,
                ncols=block.columns(lines),
                handletextpad=0.5,
                labelspacing=0.3,
                columnspacing=1.2,
                borderpad=0.0,
                borderaxespad=0.0,
            )
            x += width


class Drawing(ABC):
    """Base of plots that are drawn on a `body` of a page."""

    body: Body

    @abstractmethod
    def complete(self) -> None:
        """Set scales, labels and limits of the axes, and write the legend."""

    def finish(self) -> Figure:
        """Complete the plot and return the figure, with its layout computed if this was the last plot of the page."""
        self.complete()
        return self.body.finish()


def shape(count: int, wrap: int) -> tuple[int, int]:
    """Return the rows and columns of `count` panels, at most `wrap` in each row, with rows as even as possible."""
    rows = -(-count // wrap)
    return rows, -(-count // rows)


def scale_ticks(
    axis: Axis,
    scale: str,
    low: float,
    high: float,
    *,
    integers: bool = False,
    few: bool = False,
    least_plain: float = 9e-4,
) -> None:
    """Place ticks at round numbers between two ends, all in one notation.

    Args:
        axis: the x or y axis.
        scale: "linear" or "log".
        low: the smallest value.
        high: the largest value.
        integers: whether values are counts, so that a linear axis has ticks only at integers.
        few: whether a logarithmic axis is short.
        least_plain: the smallest value that a logarithmic axis may start with to have numbers without powers of ten.
    """
    even = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10], integer=integers)
    if scale == "linear":
        axis.set_major_locator(even)
        return
    ratio = high / low
    # a few decades near one get plain numbers; powers of ten are longer, so there are fewer of them
    plain = ratio < 300 and low > least_plain and high < 1e5
    if ratio < 3:
        axis.set_major_locator(even)
    elif ratio < (300 if plain else 100):
        subs: tuple[float, ...] = (1, 2, 5) if plain else (1, 3)
        if few:
            subs = ((1, 3) if plain else (1,)) if ratio > 30 else subs
        elif ratio < 10:
            subs = (1, 1.5, 2, 3, 4, 5, 6, 8)
        axis.set_major_locator(LogLocator(subs=subs, numticks=12))
    else:
        axis.set_major_locator(LogLocator(numticks=7))
    powers = LogFormatterSciNotation(minor_thresholds=(np.inf, np.inf))
    axis.set_major_formatter(FuncFormatter(_plainly) if plain else powers)
    axis.set_minor_formatter(NullFormatter())


def _plainly(value: float, _: int | None) -> str:
    return f"{value:g}"


def rate_ticks(axis: Axis, low: float, high: float, *, few: bool = False) -> None:
    """Place ticks at round numbers on a logarithmic axis of a hyperparameter; small rates are powers of ten.

    Args:
        axis: the x or y axis.
        low: the smallest value.
        high: the largest value.
        few: whether the axis is short.
    """
    scale_ticks(axis, "log", low, high, few=few, least_plain=9e-3)


def size_ticks(
    axis: Axis, values: np.ndarray, alike: np.ndarray | None = None, *, few: bool = False
) -> None:
    """Place ticks on a logarithmic axis.

    Ticks are at powers of two if all values are powers of two or half-way between them, and at round numbers otherwise.

    Args:
        axis: the x or y axis.
        values: the values on the axis.
        alike: the values on all axes of the same quantity, which share one notation (default: `values`).
        few: whether the axis is short.
    """
    values = np.unique(values)
    if not are_powers(values):
        rate_ticks(axis, float(values[0]), float(values[-1]), few=few)
        return
    octaves = np.log2(values)
    powers = values[np.isclose(octaves, octaves.round())]
    most = _FEW_TICKS if few else _MOST_TICKS
    axis.set_major_locator(FixedLocator(powers[:: -(-len(powers) // most)].tolist()))
    alike = values if alike is None else alike
    plain = alike.min() >= 1 and alike.max() < 1e5
    axis.set_major_formatter(FuncFormatter(_plainly) if plain else LogFormatterMathtext(base=2))
    axis.set_minor_locator(LogLocator(base=2, numticks=99))
    axis.set_minor_formatter(NullFormatter())


def even_scale(ax: Axes, values: np.ndarray) -> None:
    """Place increasing values at equal distances on the x axis, each with a tick."""
    beyond = np.concatenate([values[:1] - 1, values, values[-1:] + 1])
    steps = np.arange(-1, len(values) + 1)
    ax.set_xscale(
        "function",
        functions=(lambda x: np.interp(x, beyond, steps), lambda k: np.interp(k, steps, beyond)),
    )
    ax.set_xlim(*np.interp([-0.3, len(values) - 0.7], steps, beyond))
    ax.xaxis.set_major_locator(FixedLocator(values.tolist()))
    ax.xaxis.set_major_formatter(FuncFormatter(_plainly))
    ax.xaxis.set_minor_locator(NullLocator())


def are_powers(values: np.ndarray) -> bool:
    """Return whether all values are powers of two or half-way between them, and at least two are powers."""
    octaves = np.log2(np.unique(values))
    num_powers = np.isclose(octaves, octaves.round()).sum()
    halves = np.allclose(2 * octaves, (2 * octaves).round(), atol=1e-3)
    return bool(halves and num_powers >= min(2, len(octaves)))


def cell_ticks(axis: Axis, values: np.ndarray) -> None:
    """Label the cells of a map along an axis, at most seven of them.

    Cell k, which extends from k to k + 1, has the label `values[k]`.
    """
    octaves = np.log2(values) if (values > 0).all() else np.array([0.5])
    small = values.min() < 0.01 or values.max() >= 1e5
    if small and np.allclose(octaves, octaves.round()):
        names = [f"$2^{{{round(octave)}}}$" for octave in octaves]
    else:
        names = [text.short(value) for value in values]
        if any("10^" in name for name in names):
            # one notation
            names = [text.short(value, least_plain=0.1) for value in values]
    every = -(-len(values) // _MOST_CELL_TICKS)
    axis.set_major_locator(FixedLocator((np.arange(len(values)) + 0.5)[::every].tolist()))
    axis.set_major_formatter(FixedFormatter(names[::every]))


def bar_ticks(
    axis: Axis, scale: str, low: float, high: float, *, below: bool = False, beyond: bool = False
) -> None:
    """Place ticks at both ends of a colour bar and at round numbers that are not close to the ends.

    Args:
        axis: the axis of the bar.
        scale: "linear" or "log".
        low: the smallest value.
        high: the largest value.
        below: whether smaller values have the colour of the lower end.
        beyond: whether larger values have the colour of the upper end.
    """
    scale_ticks(axis, scale, low, high)
    log = scale == "log" and low > 0

    def fraction(value: float) -> float:
        positions = np.log([low, value, high]) if log else np.array([low, value, high])
        return float((positions[1] - positions[0]) / (positions[2] - positions[0]))

    rounds = [v for v in axis.get_major_locator().tick_values(low, high) if low < v < high]
    between = [v for v in rounds if _NEAR_END < fraction(v) < 1 - _NEAR_END]
    ends = [_rounded(end, high - low) for end in (low, high)]
    axis.set_major_locator(FixedLocator([low, *between, high]))
    names = [text.short(value) for value in (ends[0], *between, ends[1])]
    if any("10^" in name for name in names):
        # round numbers in one notation
        names[1:-1] = [
            _as_power(value, name) for value, name in zip(between, names[1:-1], strict=True)
        ]
    names[0] = f"\N{LESS-THAN OR EQUAL TO}{names[0]}" if below else names[0]
    names[-1] = f"\N{GREATER-THAN OR EQUAL TO}{names[-1]}" if beyond else names[-1]
    axis.set_major_formatter(FixedFormatter(names))
    axis.set_minor_locator(NullLocator())


def _as_power(value: float, name: str) -> str:
    """Return a power of ten as such, and other numbers by their name."""
    exponent = round(math.log10(value)) if value > 0 else 0
    return f"$10^{{{exponent}}}$" if math.isclose(value, 10.0**exponent) else name


def _rounded(end: float, span: float) -> float:
    """Round an end of an axis to two digits, or to more if the difference would be visible."""
    rounded = (float(f"{end:.{digits}g}") for digits in range(2, 17))
    return next(
        (candidate for candidate in rounded if abs(candidate - end) <= _VISIBLE * span), end
    )
