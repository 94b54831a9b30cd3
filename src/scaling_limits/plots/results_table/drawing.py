"""A table of results as text, and its legend."""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.lines import Line2D

from scaling_limits.figures.metrics import Best, metric_info
from scaling_limits.plots.figure_folder import FigureFolder
from scaling_limits.plots.results_table import ENTRY, Options, Printed, ResultsEntry
from scaling_limits.plots.typeset import bold, is_bold
from scaling_limits.plotting import style, text

NOT_RUN = "\N{EN DASH}"
"""Drawn for an entry that a preset leaves out."""
_DIVERGED = "\N{MULTIPLICATION SIGN}"
_FRACTION = "fraction of training"
_BOLD = "bold: better, by the 95 % interval over seeds"
_NO_DIFFERENCE = "nothing bold: no difference is resolved by the 95 % interval over seeds"
_NO_BEST = "nothing bold: no best value is better than the next, by the 95 % interval over seeds"
_ONE_SEED = "one seed: nothing bold"
_PRINTED_BOLD = "bold in rows of the paper: as printed"
_SPREAD = "( ): standard deviation over seeds"
_PRINTED = "paper: with its own data and sizes"

_Labels = tuple[Any, ...]
"""The labels of a row or column of the table: indices of entries and values of columns."""
_Position = tuple[int, int]
"""The indices of a row and a column."""


def entries(figure: FigureFolder[Options], table: pd.DataFrame) -> pd.DataFrame:
    """Return the table as text.

    Accuracies are in percent, differences are signed, and a cross marks divergence of a seed. The paper's values are in
    separate rows.
    """
    plot = figure.plot
    groups: dict[tuple[_Labels, _Labels], pd.DataFrame] = {}
    numbered = table.assign(**{ENTRY: table["panel"]})
    for key, rows in numbered.groupby([*plot.rows, *plot.columns]):
        labels = tuple(key)
        split = len(plot.rows)
        groups[labels[:split], labels[split:]] = rows
    lines, columns = (sorted({labels[axis] for labels in groups}) for axis in (0, 1))
    index, headings = _axis(lines, plot.rows, figure), _axis(columns, plot.columns, figure)
    written: dict[_Position, str] = {}
    values: dict[_Position, pd.Series] = {}
    better: set[_Position] = set()
    for (line, column), rows in groups.items():
        position = lines.index(line), columns.index(column)
        entry = plot.entries[int(rows["panel"].iloc[0])]
        written[position] = _written(rows, plot, entry)
        if not rows["diverged"].any():
            values[position] = rows.set_index("seed")["value"]
            if entry.minus is not None and resolved(values[position], plot.best):
                better.add(position)
    if plot.compared is not None:
        better.update(_winners(values, (index, headings), plot))
    result = pd.DataFrame("", index=index, columns=headings)
    for position, content in written.items():
        result.iloc[position] = bold(content) if position in better else content
    return result if plot.paper is None else _with_printed(result, plot.paper)


def resolved(differences: pd.Series, best: Best | None) -> bool:
    """Return whether the 95 % confidence interval of the mean difference over seeds lies on the better side of zero."""
    count = len(differences)
    if count < 2 or best is None:
        return False
    from scipy.special import stdtrit

    half = differences.std() / np.sqrt(count) * stdtrit(count - 1, 0.975)
    better = -differences.mean() if best == "min" else differences.mean()
    return bool(better > half)


def _winners(
    values: Mapping[_Position, pd.Series], axes: tuple[pd.MultiIndex, pd.MultiIndex], plot: Options
) -> Iterator[_Position]:
    """Yield the positions of values that are better than all values with which they are compared.

    Args:
        values: the values by seed at each position.
        axes: the headings of the rows and of the columns.
        plot: the options of the table.
    """
    along = 0 if plot.compared == "rows" else 1
    headings = axes[along].tolist()
    groups: dict[object, list[_Position]] = {}
    for position in values:
        groups.setdefault((headings[position[along]][:-1], position[1 - along]), []).append(
            position
        )
    for positions in groups.values():
        first, *rest = sorted(
            positions, key=lambda position: values[position].mean(), reverse=plot.best == "max"
        )
        if rest and resolved((values[first] - values[rest[0]]).dropna(), plot.best):
            yield first


def _with_printed(table: pd.DataFrame, paper: Printed) -> pd.DataFrame:
    """Return the table with the paper's values below each row, or unchanged if the paper prints none of its entries.

    The other rows of the paper are added, and, if the paper has all columns of the table, its other columns without
    values here.
    """
    wider = table.reindex(
        index=_with_papers(table.index, paper.rows),
        columns=_with_papers(table.columns, paper.columns, whole=True),
        fill_value="",
    )
    columns = [_heading(labels) for labels in wider.columns.tolist()]
    lines = []
    for labels, entries in zip(wider.index.tolist(), wider.to_numpy().tolist(), strict=True):
        printed = [paper.entry(_heading(labels), column) for column in columns]
        if any(entries):
            lines.append(((*labels, "here"), entries))
        if any(printed):
            lines.append(((*labels, "paper"), [_typeset(value) for value in printed]))
    known = {_heading(labels) for labels in table.columns.tolist()} & set(paper.columns)
    if not known or not {_heading(labels) for labels in table.index.tolist()} & set(paper.rows):
        return table
    index = pd.MultiIndex.from_tuples(
        [labels for labels, _ in lines], names=[*table.index.names, ""]
    )
    return pd.DataFrame([entries for _, entries in lines], index=index, columns=wider.columns)


def _with_papers(
    axis: "pd.Index[Any]", printed: Iterable[str], *, whole: bool = False
) -> "pd.Index[Any]":
    """Return the headings of an axis, with the other ones that the paper prints if it prints some of these.

    Args:
        axis: the headings.
        printed: the headings in the paper.
        whole: whether the paper must print all headings of the axis.
    """
    shown, printed_labels = axis.tolist(), [tuple(heading.split(", ")) for heading in printed]
    missing = [labels for labels in printed_labels if labels not in shown]
    known = set(shown) & set(printed_labels)
    if not missing or not known or (whole and len(known) < len(shown)):
        return axis
    together = shown + missing
    if all(len(labels) == 1 and labels[0].replace(".", "", 1).isdecimal() for labels in together):
        together.sort(key=lambda labels: float(labels[0]))
    return pd.MultiIndex.from_tuples(together, names=axis.names)


def _heading(labels: Iterable[object]) -> str:
    return ", ".join(map(str, labels))


def _typeset(value: str) -> str:
    return value.replace("-", "\N{MINUS SIGN}")


def legend(entries: pd.DataFrame, plot: Options) -> dict[str, Artist]:
    """Return the legend entries for the marks that occur in a table of results, or for the absence of bold entries."""
    is_printed = entries.index.get_level_values(-1) == "paper"
    printed = entries[is_printed].to_numpy().ravel().tolist()
    own = entries[~is_printed].to_numpy().ravel().tolist()
    has_spread = any("(" in entry for entry in own)
    marks = []
    if any(map(is_bold, own)):
        marks.append(_BOLD)
    elif plot.compared is not None or any(entry.minus for entry in plot.entries):
        unresolved = _NO_DIFFERENCE if plot.compared is None else _NO_BEST
        marks.append(unresolved if has_spread else _ONE_SEED)
    if printed:
        marks.append(_PRINTED)
    if any(map(is_bold, printed)):
        marks.append(_PRINTED_BOLD)
    if has_spread:
        marks.append(_SPREAD)
    handles: dict[str, Artist] = {mark: Line2D([], [], linestyle="none") for mark in marks}
    return handles | ({style.DIVERGED: style.cross()} if _DIVERGED in own else {})


def _axis(
    labels: list[_Labels], names: tuple[str, ...], figure: FigureFolder[Options]
) -> pd.MultiIndex:
    """Return the headings of rows or columns; the levels of entries have no name."""
    plot = figure.plot
    levels: dict[str | tuple[str, int], list[str]] = {}
    for k, name in enumerate(names):
        if name == ENTRY:
            for part in range(len(plot.entries[0].headings)):
                levels[ENTRY, part] = [plot.entries[label[k]].headings[part] for label in labels]
        elif name == "step" and (length := _length(figure)):
            levels[_FRACTION] = [str(Fraction(int(label[k]), length)) for label in labels]
        else:
            levels[name] = [text.short(label[k]) for label in labels]
    level_names = [
        text.axis_label(level, figure.results.cells, plot.symbols) if isinstance(level, str) else ""
        for level in levels
    ]
    return pd.MultiIndex.from_arrays(list(levels.values()), names=level_names)


def _length(figure: FigureFolder[Options]) -> int | None:
    """Return the number of updates of all runs in the table, or None if there are several."""
    cells = figure.results.cells
    if "num_steps" not in cells:
        return None
    lengths = cells.loc[cells["grid"].isin(figure.plot.grids), "num_steps"].unique()
    return int(lengths[0]) if len(lengths) == 1 and lengths[0] else None


def _written(rows: pd.DataFrame, plot: Options, entry: ResultsEntry) -> str:
    def number(value: float) -> str:
        return f"{100 * value:.1f}" if metric_info(plot.quantity).percent else text.short(value)

    if rows["diverged"].any():
        return _DIVERGED
    mean = rows["value"].mean()
    sign = "\N{MINUS SIGN}" if mean < 0 else "+" if entry.minus is not None else ""
    spread = f" ({number(rows['value'].std())})" if len(rows) > 1 else ""
    return f"{sign}{number(abs(mean))}{spread}"
