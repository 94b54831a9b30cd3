"""Panels of lines and points with axes of their own, and one legend for all."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scaling_limits.plotting import legends, page, style, text
from scaling_limits.plotting.colours import Colour

# Inches.
_LEFT, _RIGHT, _BELOW = 0.56, 0.14, 0.38  # around a panel: for its labels
_TITLE_LINE = 0.13
_LARGEST = 2.6  # a panel
_ASPECT = 0.85  # its height over its width
_MOST_COLUMNS = 3

_EDGE, _CROSS_STEP = 0.04, 0.045  # of a panel's height: from its edge to crosses, and between them


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
        look = style.OPTIMUM | {"color": colour, "label": "best"}
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
            **style.DIVERGED,
        )


def diverged_at(rows: pd.DataFrame, x: str) -> list[float]:
    """The values of x at which any seed diverged."""
    return sorted(rows.loc[np.isinf(rows["value"]), x].unique().tolist())


def lay_out(
    title: str, panel_titles: Sequence[str | None], entries: Iterable[dict[str, legends.Handle]]
) -> tuple[Figure, list[Axes]]:
    """Axes under their titles, at most three to a line, with groups of entries as legend."""
    count = len(panel_titles)
    columns = -(-count // -(-count // _MOST_COLUMNS))
    width = min(style.PAGE_WIDTH / columns - _LEFT - _RIGHT, _LARGEST)
    page_width = max(columns * (_LEFT + width + _RIGHT), page.NARROWEST)
    height = _ASPECT * width
    wrapped = [text.wrap(name or "", style.NORMAL, width + _RIGHT) for name in panel_titles]
    title_height = max(len(words) for words in wrapped) * _TITLE_LINE + 0.08
    line_height = title_height + height + _BELOW
    lines = legends.lines(entries, page_width)
    heights = [-(-count // columns) * line_height, legends.height(lines)]
    figure, top = page.titled(title, page_width, heights)
    axes = []
    for index, words in enumerate(wrapped):
        line, column = divmod(index, columns)
        left = column * (_LEFT + width + _RIGHT) + _LEFT
        ax = page.add_axes(figure, left, top + line * line_height + title_height, width, height)
        ax.set_title("\n".join(words))
        sns.despine(ax=ax)
        axes.append(ax)
    legends.add_lines(figure, lines, axes)
    return figure, axes
