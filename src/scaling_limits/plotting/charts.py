"""Panels of lines and points with axes of their own, and one legend for all: what charts share."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullFormatter

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.plotting import page, style, text
from scaling_limits.plotting.page import Handle
from scaling_limits.records import Results

# Inches.
_LEFT, _RIGHT, _BELOW = 0.56, 0.14, 0.38  # around a panel: for its labels
_PANEL_TITLE, _LEGEND, _ABOVE_LEGEND = 0.13, 0.175, 0.05  # heights of a line of each
_LARGEST = 2.6  # a panel
_ASPECT = 0.85  # its height over its width
_MOST_COLUMNS = 3
_ENTRY = 0.42  # an entry of the legend without its words

_PALETTES = (style.COLOUR_MAP, "plasma")

Colour = tuple[float, float, float]
BLACK: Colour = (0.0, 0.0, 0.0)
OPTIMUM: dict[str, Any] = {
    "marker": "o",
    "markersize": 5.0,
    "markerfacecolor": "white",
    "markeredgewidth": 1.2,
    "linestyle": "none",
}
DIVERGED: dict[str, Any] = {"marker": "x", "markersize": 3.5, "linestyle": "none"}
_EDGE, _CROSS_STEP = 0.04, 0.045  # of a panel's height: from its edge to crosses, and between them
LINES: dict[str, Any] = {"solid": "-", "dashed": (0, (3.5, 1.6)), "dotted": (0, (1, 1.3))}


def size_colours(values: Iterable[float], which: int = 0) -> dict[float, Colour]:
    """Colours in the order of the values, evenly spaced; `which` chooses the palette."""
    ordered = sorted(set(values))
    colours = sns.color_palette(_PALETTES[which % len(_PALETTES)], len(ordered))
    return dict(zip(ordered, colours, strict=True))


def label_colours(labels: Iterable[str]) -> dict[str, Colour]:
    """Colours that tell labels apart, in their order."""
    names = list(dict.fromkeys(labels))
    return dict(zip(names, sns.color_palette("colorblind", len(names)), strict=True))


def size_handles(
    column: str,
    colours: dict[float, Colour],
    results: Results,
    symbols: dict[str, str],
    labels: dict[str, str] | None = None,
    **look: Any,
) -> dict[str, Handle]:
    """The legend's entries for sizes: as `labels` names their short numbers, or symbol = value."""
    size, labels = text.symbol(column, results, symbols), labels or {}
    return {
        labels.get(text.short(v), f"${size}$ = {text.short(v)}"): Line2D([], [], color=c, **look)
        for v, c in colours.items()
    }


def best_handle() -> dict[str, Handle]:
    """The legend's entry for rings."""
    return {"best": Line2D([], [], color="0.35", **OPTIMUM)}


def band_handle() -> dict[str, Handle]:
    """The legend's entry for bands over seeds."""
    return {"range over seeds": Patch(facecolor="0.8", linewidth=0.0)}


def diverged_handle() -> dict[str, Handle]:
    """The legend's entry for crosses."""
    return {"diverged (at least one seed)": Line2D([], [], color="0.35", **DIVERGED)}


def bar_handle() -> dict[str, Handle]:
    """The legend's entry for bars over seeds."""
    bar = Line2D([], [], color="0.35", marker="|", markersize=6.0, linestyle="none")
    return {"range over seeds": bar}


def several_seeds(rows: pd.DataFrame, x: str) -> bool:
    """Whether any point of a line has more than one seed."""
    return bool(rows[x].duplicated().any())


def draw_means(
    ax: Axes, rows: pd.DataFrame, x: str, *, log: bool, bars: bool = False, **look: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the mean of `value` over seeds against x, with their range over seeds as band or bars.

    Returns the x and the means that have a place: finite ones, positive on a logarithmic y axis.
    Scales of axes are set afterwards: seaborn would average logarithms.
    """
    means = rows.groupby(x)["value"].mean()
    means = means[np.isfinite(means) & ((means > 0) | (not log))]

    sns.lineplot(
        rows[rows[x].isin(means.index)],
        x=x,
        y="value",
        errorbar=("pi", 100) if several_seeds(rows, x) else None,
        err_style="bars" if bars else "band",
        err_kws={"elinewidth": 0.8} if bars else {"linewidth": 0.0},
        legend=False,
        ax=ax,
        **look,
    )
    return means.index.to_numpy(dtype=float), means.to_numpy(dtype=float)


def draw_best(ax: Axes, xs: np.ndarray, means: np.ndarray, best: str, colour: Colour) -> None:
    """A ring around the smallest (`min`) or largest (`max`) of a line's means, if it has any."""
    if len(means):
        at = [means.argmin() if best == "min" else means.argmax()]
        look = OPTIMUM | {"color": colour, "label": "best"}
        ax.plot(xs[at], means[at], zorder=2.5, **look)


def draw_crosses(
    ax: Axes, diverged: Iterable[tuple[Sequence[float], Colour]], best: str | None = "min"
) -> None:
    """Crosses at the worse edge of a panel for what diverged of each line: its xs, in its colour.

    Those of several lines stand over each other, the last one's at the edge.
    """
    lines = [(xs, colour) for xs, colour in diverged if xs]
    for place, (xs, colour) in enumerate(lines, start=1):
        height = _EDGE + (len(lines) - place) * _CROSS_STEP
        ax.plot(
            xs,
            [height if best == "max" else 1.0 - height] * len(xs),
            color=colour,
            transform=ax.get_xaxis_transform(),
            label="diverged",
            zorder=3.0,
            **DIVERGED,
        )


def diverged_at(rows: pd.DataFrame, x: str) -> list[float]:
    """The values of x at which any seed diverged."""
    return sorted(rows.loc[np.isinf(rows["value"]), x].unique().tolist())


def chart_grid(
    title: str, panel_titles: Sequence[str | None], legend: Iterable[dict[str, Handle]]
) -> tuple[Figure, list[Axes]]:
    """Axes under their titles, at most three to a line, with groups of entries as legend."""
    count = len(panel_titles)
    columns = -(-count // -(-count // _MOST_COLUMNS))
    width = min(style.PAGE_WIDTH / columns - _LEFT - _RIGHT, _LARGEST)
    page_width = max(columns * (_LEFT + width + _RIGHT), page.NARROWEST)
    height = _ASPECT * width
    wrapped = [text.wrap(name or "", style.NORMAL, width + _RIGHT) for name in panel_titles]
    title_height = max(len(words) for words in wrapped) * _PANEL_TITLE + 0.08
    line_height = title_height + height + _BELOW
    entries = legend_lines(legend, page_width)
    heights = [-(-count // columns) * line_height, legend_height(entries)]
    figure, top = page.titled(title, page_width, heights)
    axes = []
    for index, words in enumerate(wrapped):
        line, column = divmod(index, columns)
        left = column * (_LEFT + width + _RIGHT) + _LEFT
        ax = page.add_axes(figure, left, top + line * line_height + title_height, width, height)
        ax.set_title("\n".join(words))
        sns.despine(ax=ax)
        axes.append(ax)
    add_legend(figure, entries, axes)
    return figure, axes


def legend_lines(legend: Iterable[dict[str, Handle]], page_width: float) -> list[dict[str, Handle]]:
    """The lines of a legend: each group of entries on as few, about equally full, as will do."""
    return [line for group in legend for line in _lines(group, page_width - 0.2)]


def legend_height(lines: Sequence[dict[str, Handle]]) -> float:
    """The height in inches of the lines of a legend."""
    return len(lines) * _LEGEND + _ABOVE_LEGEND


def add_legend(figure: Figure, lines: Sequence[dict[str, Handle]], axes: Sequence[Axes]) -> None:
    """Write the lines of a legend at the foot of the page, under the middle of some axes."""
    for index, handles in enumerate(lines, start=1):
        page.add_legend(figure, handles, page.centre_of(axes), (len(lines) - index) * _LEGEND)


def finish_y(ax: Axes, label: str, scale: str, limits: tuple[float, float] | None = None) -> None:
    """Scale and name the y axis, set its limits, and write round numbers at its ticks."""
    ax.set_yscale(scale)
    if limits:
        ax.set_ylim(*limits)
    low, high = ax.get_ylim()
    if scale == "log" and low <= 0:
        # nothing has a place here, as where everything diverged: these are what the linear axis had
        low, high = 0.1, 10.0
    if scale == "log" and high > 5 * low:
        places = text.log_ticks(low, high)
        places = places[:: -(-len(places) // 7)]
        ax.yaxis.set_minor_formatter(NullFormatter())
    else:
        ticks = MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
        places = [float(place) + 0.0 for place in ticks if low <= place <= high]
        ax.minorticks_off()
    labels = [text.short(place) for place in places]
    if len(set(labels)) < len(labels):
        labels = [f"{place:.7g}" for place in places]
    ax.set_yticks(places, labels=labels)
    ax.set_ylim(low, high)
    ax.set_ylabel("\n".join(text.wrap(label, style.NORMAL, page.extent(ax)[1] + _PANEL_TITLE)))


def finish_x(ax: Axes, label: str, scale: str, values: Iterable[float]) -> None:
    """Scale and name the x axis that shows some values.

    A logarithmic one has a tick at each value, and labels at as many as fit beside each other; at
    round numbers between them where the values are not short. Raises ScalingLimitsError if a value
    on it is not positive.
    """
    ax.set_xlabel(label)
    if scale == "linear":
        ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        return
    sizes = sorted(set(values))
    if sizes[0] <= 0:
        raise ScalingLimitsError(f"{label}: {text.short(sizes[0])} has no place on a log axis")
    margin = 1.15 * (sizes[-1] / sizes[0]) ** 0.03
    low, high = sizes[0] / margin, sizes[-1] * margin
    places = sizes if text.are_short(sizes) else text.log_ticks(sizes[0], sizes[-1])
    labels = text.value_labels(places)
    extents = [text.width_of(words, style.SMALL) for words in labels]
    inches = page.extent(ax)[0] * np.log(np.divide(places, low)) / np.log(high / low)
    shown = text.readable_subset(places, extents, inches.tolist())
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    ax.set_xticks([places[i] for i in shown], labels=[labels[i] for i in shown])
    ax.set_xticks([size for size in sizes if size not in {places[i] for i in shown}], minor=True)
    ax.xaxis.set_minor_formatter(NullFormatter())


def _lines(handles: dict[str, Handle], width: float) -> list[dict[str, Handle]]:
    """A legend's entries on as few lines of `width` inches, about equally full, as will do."""
    names = list(handles)
    for number in range(1, len(names) + 1):
        most = -(-len(names) // number)
        lines = [names[i : i + most] for i in range(0, len(names), most)]
        if most == 1 or all(
            sum(text.width_of(name, style.SMALL) + _ENTRY for name in line) <= width
            for line in lines
        ):
            return [{name: handles[name] for name in line} for line in lines]
    return []
