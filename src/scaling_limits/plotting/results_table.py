"""A table of results: what the notebook `results_table` draws its figure with."""

from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from scaling_limits.figures.metrics import words_of
from scaling_limits.figures.plots.results_table import ENTRY, ResultsEntry, ResultsTablePlot
from scaling_limits.plotting import marks, text
from scaling_limits.plotting.figure_folder import FigureFolder
from scaling_limits.plotting.typeset import typeset

_DIVERGED = "\N{MULTIPLICATION SIGN}"
_SPREAD = "( ): standard deviation over seeds"

_Place = tuple[Any, ...]
"""What stands down, or across, the table: numbers of entries and values of columns."""


def entries(folder: FigureFolder, table: pd.DataFrame) -> pd.DataFrame:
    """The table as text; accuracies in percent, differences with a sign, a cross where some seed diverged."""
    plot = folder.plot
    assert isinstance(plot, ResultsTablePlot)
    written: dict[tuple[_Place, _Place], str] = {}
    numbered = table.assign(**{ENTRY: table["panel"]})
    for key, rows in numbered.groupby([*plot.rows, *plot.columns]):
        place = tuple(key)
        entry = plot.entries[int(rows["panel"].iloc[0])]
        split = len(plot.rows)
        written[place[:split], place[split:]] = _written(rows, plot, entry)
    lines, columns = (sorted({place[axis] for place in written}) for axis in (0, 1))
    found = pd.DataFrame(
        "", index=_axis(lines, plot.rows, folder), columns=_axis(columns, plot.columns, folder)
    )
    for (line, column), words in written.items():
        found.iloc[lines.index(line), columns.index(column)] = words
    return found


def drawn(folder: FigureFolder, table: pd.DataFrame) -> Figure:
    """The table, typeset over what its marks mean."""
    said = table.to_numpy().ravel().tolist()
    legend: dict[str, Artist] = {}
    if any("(" in words for words in said):
        legend[_SPREAD] = Line2D([], [], linestyle="none")
    if _DIVERGED in said:
        legend[marks.CROSS] = marks.cross()
    return typeset(folder, table, legend)


def _axis(places: list[_Place], names: tuple[str, ...], folder: FigureFolder) -> pd.MultiIndex:
    """The headings of places; entries have theirs, without a name."""
    plot = folder.plot
    assert isinstance(plot, ResultsTablePlot)
    levels: dict[str | tuple[str, int], list[str]] = {}
    for k, name in enumerate(names):
        if name == ENTRY:
            for part in range(len(plot.entries[0].headings)):
                levels[ENTRY, part] = [plot.entries[place[k]].headings[part] for place in places]
        else:
            levels[name] = [text.short(place[k]) for place in places]
    called = [
        text.axis_label(level, folder.results, plot.symbols) if isinstance(level, str) else ""
        for level in levels
    ]
    return pd.MultiIndex.from_arrays(list(levels.values()), names=called)


def _written(rows: pd.DataFrame, plot: ResultsTablePlot, entry: ResultsEntry) -> str:
    def number(value: float) -> str:
        return f"{100 * value:.2f}" if words_of(plot.quantity).percent else text.short(value)

    if rows["diverged"].any():
        return _DIVERGED
    mean = rows["value"].mean()
    sign = "\N{MINUS SIGN}" if mean < 0 else "+" if entry.minus is not None else ""
    spread = f" ({number(rows['value'].std())})" if len(rows) > 1 else ""
    return f"{sign}{number(abs(mean))}{spread}"
