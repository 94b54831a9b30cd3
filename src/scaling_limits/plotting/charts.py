"""Panels of lines and points with axes of their own, and one legend for all: what charts share."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
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

# Yellow, the end of the maps, cannot be seen on white.
_COLOURS = {style.COLOUR_MAP: 0.88, "plasma": 0.80}

Colour = tuple[float, float, float, float]
BLACK: Colour = (0.0, 0.0, 0.0, 1.0)
DIVERGED: dict[str, Any] = {"marker": "x", "markersize": 4.0, "linestyle": "none"}


def size_colours(values: Sequence[float], column: str, which: int = 0) -> dict[float, Colour]:
    """A colour for each of the sorted sizes, by its logarithm; `which` chooses the map.

    Raises ScalingLimitsError if a value of the column is no positive number.
    """
    if not all(isinstance(value, int | float) and value > 0 for value in values):
        raise ScalingLimitsError(f"the colours need positive numbers in the column '{column}'")
    name, end = list(_COLOURS.items())[which % len(_COLOURS)]
    places = np.log(np.asarray(values, dtype=float))
    first, last = (places[0], places[-1]) if values else (0.0, 0.0)
    places = end * (places - first) / ((last - first) or 1.0)
    return {v: colormaps[name](p) for v, p in zip(values, places, strict=True)}


def size_handles(
    column: str,
    colours: dict[float, Colour],
    results: Results,
    symbols: dict[str, str],
    **look: Any,
) -> dict[str, Handle]:
    """The legend's entries for sizes."""
    size = text.symbol(column, results, symbols)
    return {
        f"${size}$ = {text.short(v)}": Line2D([], [], color=c, **look) for v, c in colours.items()
    }


def band_handle() -> dict[str, Handle]:
    """The legend's entry for bands over seeds."""
    return {"± 1 std over seeds": Patch(facecolor="0.8", linewidth=0.0)}


def diverged_handle() -> dict[str, Handle]:
    """The legend's entry for crosses."""
    return {"diverged (at least one seed)": Line2D([], [], color="0.35", **DIVERGED)}


def bar_handle() -> dict[str, Handle]:
    """The legend's entry for bars over seeds."""
    bar = Line2D([], [], color="0.35", marker="|", markersize=6.0, linestyle="none")
    return {"± 1 std over seeds": bar}


def showable(ax: Axes, values: np.ndarray) -> np.ndarray:
    """Which values have a place on the y axis: finite ones, and positive ones if it is logarithmic."""
    lowest = 0.0 if ax.get_yscale() == "log" else -np.inf
    return np.asarray(np.isfinite(values) & (values > lowest))


def interval(ax: Axes, mean: np.ndarray, std: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """mean ± std; on a logarithmic axis it ends at a tenth of the mean, since it could reach zero."""
    low = mean - std
    return (np.maximum(low, mean / 10) if ax.get_yscale() == "log" else low), mean + std


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
    entries = [line for group in legend for line in _lines(group, page_width - 0.2)]
    legend_height = len(entries) * _LEGEND + _ABOVE_LEGEND
    figure, top = page.titled(
        title, page_width, [-(-count // columns) * line_height, legend_height]
    )
    axes = []
    for index, words in enumerate(wrapped):
        line, column = divmod(index, columns)
        left = column * (_LEFT + width + _RIGHT) + _LEFT
        ax = page.add_axes(figure, left, top + line * line_height + title_height, width, height)
        ax.set_title("\n".join(words))
        axes.append(ax)
    for index, handles in enumerate(entries, start=1):
        page.add_legend(figure, handles, page.centre_of(axes), (len(entries) - index) * _LEGEND)
    return figure, axes


def finish_y(ax: Axes, label: str, limits: tuple[float, float] | None = None) -> None:
    """Name the y axis, set its limits, and write round numbers at its ticks."""
    if limits:
        ax.set_ylim(*limits)
    low, high = ax.get_ylim()
    if ax.get_yscale() == "log" and high > 5 * low:
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


def finish_sizes(ax: Axes, label: str, sizes: Sequence[float]) -> None:
    """Make x logarithmic, with a tick at each size; label as many as fit beside each other."""
    ax.set_xscale("log")
    margin = 1.15 * (sizes[-1] / sizes[0]) ** 0.03
    ax.set_xlim(sizes[0] / margin, sizes[-1] * margin)
    labels = text.value_labels(sizes)
    extents = [text.width_of(words, style.SMALL) for words in labels]
    octaves = np.diff(np.log(sizes)).min(initial=np.log(ax.get_xlim()[1] / ax.get_xlim()[0]))
    spacing = page.extent(ax)[0] * octaves / np.log(ax.get_xlim()[1] / ax.get_xlim()[0])
    shown = text.readable_subset(sizes, extents, spacing)
    ax.set_xticks([sizes[i] for i in shown], labels=[labels[i] for i in shown])
    ax.set_xticks([size for i, size in enumerate(sizes) if i not in shown], minor=True)
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel(label)


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
