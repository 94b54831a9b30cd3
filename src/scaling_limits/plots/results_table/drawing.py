"""A table of results as text, and its legend."""

from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.lines import Line2D

from scaling_limits.figures.metrics import metric_info
from scaling_limits.plots.figure_folder import FigureFolder
from scaling_limits.plots.results_table import ENTRY, Options, ResultsEntry
from scaling_limits.plotting import style, text

NOT_RUN = "\N{EN DASH}"
"""Drawn for an entry that a preset leaves out."""
_DIVERGED = "\N{MULTIPLICATION SIGN}"
_SPREAD = "( ): standard deviation over seeds"

_Place = tuple[Any, ...]
"""The place of a row or column of the table: numbers of entries and values of columns."""


def entries(figure: FigureFolder[Options], table: pd.DataFrame) -> pd.DataFrame:
    """Return the table as text: accuracies in percent, signed differences, a cross where a seed diverged."""
    plot = figure.plot
    written: dict[tuple[_Place, _Place], str] = {}
    numbered = table.assign(**{ENTRY: table["panel"]})
    for key, rows in numbered.groupby([*plot.rows, *plot.columns]):
        place = tuple(key)
        entry = plot.entries[int(rows["panel"].iloc[0])]
        split = len(plot.rows)
        written[place[:split], place[split:]] = _written(rows, plot, entry)
    lines, columns = (sorted({place[axis] for place in written}) for axis in (0, 1))
    index, headings = _axis(lines, plot.rows, figure), _axis(columns, plot.columns, figure)
    whole = pd.DataFrame("", index=index, columns=headings)
    for (line, column), words in written.items():
        whole.iloc[lines.index(line), columns.index(column)] = words
    return whole


def legend(entries: pd.DataFrame) -> dict[str, Artist]:
    """Return the legend of the marks in a table of results as text."""
    words = entries.to_numpy().ravel().tolist()
    marks: dict[str, Artist] = {}
    if any("(" in entry for entry in words):
        marks[_SPREAD] = Line2D([], [], linestyle="none")
    if _DIVERGED in words:
        marks[style.DIVERGED] = style.cross()
    return marks


def _axis(
    places: list[_Place], names: tuple[str, ...], figure: FigureFolder[Options]
) -> pd.MultiIndex:
    """Return the headings of places; those of entries have no name."""
    plot = figure.plot
    levels: dict[str | tuple[str, int], list[str]] = {}
    for k, name in enumerate(names):
        if name == ENTRY:
            for part in range(len(plot.entries[0].headings)):
                levels[ENTRY, part] = [plot.entries[place[k]].headings[part] for place in places]
        else:
            levels[name] = [text.short(place[k]) for place in places]
    called = [
        text.axis_label(level, figure.results.cells, plot.symbols) if isinstance(level, str) else ""
        for level in levels
    ]
    return pd.MultiIndex.from_arrays(list(levels.values()), names=called)


def _written(rows: pd.DataFrame, plot: Options, entry: ResultsEntry) -> str:
    def number(value: float) -> str:
        return f"{100 * value:.2f}" if metric_info(plot.quantity).percent else text.short(value)

    if rows["diverged"].any():
        return _DIVERGED
    mean = rows["value"].mean()
    sign = "\N{MINUS SIGN}" if mean < 0 else "+" if entry.minus is not None else ""
    spread = f" ({number(rows['value'].std())})" if len(rows) > 1 else ""
    return f"{sign}{number(abs(mean))}{spread}"
