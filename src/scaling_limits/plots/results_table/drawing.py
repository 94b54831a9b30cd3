"""A table of results as text, and its legend."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.artist import Artist
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from scaling_limits.figures.metrics import Best, metric_info
from scaling_limits.plots.figure_folder import FigureFolder
from scaling_limits.plots.results_table import ENTRY, Options, ResultsEntry
from scaling_limits.plots.typeset import bold, is_bold, is_underlined, plain, underlined
from scaling_limits.plotting import style, text

NOT_RUN = "\N{EN DASH}"
"""Drawn for an entry that a preset leaves out."""
_DIVERGED = "\N{MULTIPLICATION SIGN}"
_FRACTION = "fraction of training"
_FULL = "full"
_UNDERLINED = "underlined: best of those compared"
_BOLD = "bold: better, by the 95 % interval of paired seeds"
_ARROWS = "\N{LEFTWARDS ARROW}", "\N{RIGHTWARDS ARROW}"
_EDGE = f"{' '.join(_ARROWS)}: best at the end of the grid"
_COLOURS, _DARKEST = "PRGn", 0.22
_GAIN, _LOSS = "positive difference", "negative difference (darker: larger)"
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
    axes = _axis(lines, plot.rows, figure), _axis(columns, plot.columns, figure)
    written: dict[_Position, str] = {}
    values: dict[_Position, pd.Series] = {}
    for (line, column), rows in groups.items():
        position = lines.index(line), columns.index(column)
        entry = plot.entries[int(rows["panel"].iloc[0])]
        written[position] = _written(rows, plot, entry)
        if not rows["diverged"].any():
            values[position] = rows.set_index("seed")["value"]
            if entry.minus is not None and resolved(values[position], plot.best):
                written[position] = bold(written[position])
    means = {position: found.mean() for position, found in values.items()}
    for positions in _competing(means, axes, plot):
        first, second, *_ = positions
        best = [position for position in positions if means[position] == means[first]]
        if len(best) == len(positions):
            continue
        is_resolved = resolved((values[first] - values[second]).dropna(), plot.best)
        for position in best:
            content = _to_edge(plain(written[position]), position, positions, plot)
            is_better = is_resolved or is_bold(written[position])
            written[position] = underlined(bold(content) if is_better else content)
    result = pd.DataFrame("", index=axes[0], columns=axes[1])
    for position, content in written.items():
        result.iloc[position] = content
    return result if plot.paper is None else _with_printed(result, plot)


def resolved(differences: pd.Series, best: Best | None) -> bool:
    """Return whether the 95 % confidence interval of the mean difference over seeds lies on the better side of zero."""
    count = len(differences)
    if count < 2 or best is None:
        return False
    from scipy.special import stdtrit

    half = differences.std() / np.sqrt(count) * stdtrit(count - 1, 0.975)
    better = -differences.mean() if best == "min" else differences.mean()
    return bool(better > half)


def _competing(
    values: Mapping[_Position, float], axes: "tuple[pd.Index[Any], pd.Index[Any]]", plot: Options
) -> Iterator[list[_Position]]:
    """Yield the positions of values that are compared with each other, at least two, with the best first.

    Args:
        values: the values at each position.
        axes: the headings of the rows and of the columns.
        plot: the options of the table.
    """
    if plot.compared is None:
        return
    along = 0 if plot.compared == "rows" else 1
    headings = axes[along].tolist()
    groups: dict[object, list[_Position]] = {}
    for position in values:
        key = headings[position[along]][:-1], position[1 - along]
        groups.setdefault(key, []).append(position)
    for positions in groups.values():
        if len(positions) > 1:
            yield sorted(positions, key=lambda k: values[k], reverse=plot.best == "max")


def _to_edge(
    content: str, position: _Position, positions: Sequence[_Position], plot: Options
) -> str:
    """Return a best value, with an arrow if it is at an end of the compared values of a column of the cells."""
    if (plot.rows if plot.compared == "rows" else plot.columns)[-1] == ENTRY:
        return content
    if position == min(positions):
        return f"{_ARROWS[0]} {content}"
    return f"{content} {_ARROWS[1]}" if position == max(positions) else content


def colours(entries: pd.DataFrame, plot: Options) -> pd.DataFrame | None:
    """Return background colours of differences, relative to the largest one here and in the paper."""
    if not any(entry.minus for entry in plot.entries):
        return None
    values = np.array([[_difference(entry) for entry in row] for row in entries.to_numpy()])
    values /= np.nanmax(np.abs(values), initial=0.0) or 1.0
    written = [[_colour(share) for share in row] for row in values]
    return pd.DataFrame(written, index=entries.index, columns=entries.columns)


def _number(entry: str) -> float:
    """Return the value of an entry, without its standard deviation, or NaN if it has none."""
    try:
        return float(plain(entry).split(" ")[0].replace("\N{MINUS SIGN}", "-"))
    except ValueError:
        return np.nan


def _difference(entry: str) -> float:
    """Return the value of a signed entry, or NaN."""
    return _number(entry) if plain(entry)[:1] in ("+", "\N{MINUS SIGN}") else np.nan


def _colour(share: float) -> str:
    """Return the colour of a difference, given relative to the largest one, or nothing if it is zero or missing."""
    if np.isnan(share) or share == 0:
        return ""
    return to_hex(colormaps[_COLOURS](0.5 + _DARKEST * share))


def _with_printed(table: pd.DataFrame, plot: Options) -> pd.DataFrame:
    """Return the table with the paper's values below each row, or unchanged if the paper prints none of its entries.

    The other rows of the paper are added, and, if the paper has all columns of the table, its other columns without
    values here. The best of the paper's compared values are underlined unless they are printed in bold.
    """
    paper = plot.paper
    assert paper is not None
    wider = table.reindex(
        index=_with_papers(table.index, paper.rows),
        columns=_with_papers(table.columns, paper.columns, whole=True),
        fill_value="",
    )
    columns = [_heading(labels) for labels in wider.columns.tolist()]
    printed = [
        [_typeset(paper.entry(_heading(labels), column)) for column in columns]
        for labels in wider.index.tolist()
    ]
    values = {
        (row, column): value
        for row, entries in enumerate(printed)
        for column, entry in enumerate(entries)
        if np.isfinite(value := _number(entry))
    }
    for first, *_ in _competing(values, (wider.index, wider.columns), plot):
        entry = printed[first[0]][first[1]]
        printed[first[0]][first[1]] = entry if is_bold(entry) else underlined(entry)
    lines = []
    for row, labels in enumerate(wider.index.tolist()):
        entries = wider.iloc[row].tolist()
        if any(entries):
            lines.append(((*labels, "here"), entries))
        if any(printed[row]):
            lines.append(((*labels, "paper"), printed[row]))
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
    if all(len(labels) == 1 and _is_number(labels[0]) for labels in together):
        together.sort(key=lambda labels: np.inf if labels[0] == _FULL else float(labels[0]))
    return pd.MultiIndex.from_tuples(together, names=axis.names)


def _is_number(heading: str) -> bool:
    return heading == _FULL or heading.replace(".", "", 1).isdecimal()


def _heading(labels: Iterable[object]) -> str:
    return ", ".join(map(str, labels))


def _typeset(value: str) -> str:
    return value.replace("-", "\N{MINUS SIGN}")


def legend(entries: pd.DataFrame, plot: Options) -> dict[str, Artist]:
    """Return the legend entries for the marks and colours that occur in a table of results."""
    is_printed = entries.index.get_level_values(-1) == "paper"
    printed = entries[is_printed].to_numpy().ravel().tolist()
    own = entries[~is_printed].to_numpy().ravel().tolist()
    has_spread = any("(" in entry for entry in own)
    marks = []
    if any(map(is_bold, own)):
        marks.append(_BOLD)
    if any(map(is_underlined, [*own, *printed])):
        marks.append(_UNDERLINED)
    if any(arrow in entry for entry in own for arrow in _ARROWS):
        marks.append(_EDGE)
    if printed:
        marks.append(_PRINTED)
    if any(map(is_bold, printed)):
        marks.append(_PRINTED_BOLD)
    if has_spread:
        marks.append(_SPREAD)
    handles: dict[str, Artist] = {mark: Line2D([], [], linestyle="none") for mark in marks}
    signs = {np.sign(_difference(entry)) for entry in [*own, *printed]}
    if any(entry.minus for entry in plot.entries):
        handles |= {
            name: Patch(facecolor=_colour(sign * 0.7))
            for name, sign in ((_GAIN, 1), (_LOSS, -1))
            if sign in signs
        }
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
        elif name == "step" and (length := _common(figure, "num_steps")):
            levels[_FRACTION] = [str(Fraction(int(label[k]), length)) for label in labels]
        elif name == "batch_size":
            whole = _common(figure, "num_train")
            levels[name] = [_FULL if v[k] == whole else text.short(v[k]) for v in labels]
        else:
            levels[name] = [text.short(label[k]) for label in labels]
    level_names = [
        text.axis_label(level, figure.results.cells, plot.symbols) if isinstance(level, str) else ""
        for level in levels
    ]
    return pd.MultiIndex.from_arrays(list(levels.values()), names=level_names)


def _common(figure: FigureFolder[Options], setting: str) -> int | None:
    """Return the value of a setting that all runs in the table share, or None if there is none."""
    cells = figure.results.cells
    if setting not in cells:
        return None
    common = cells.loc[cells["grid"].isin(figure.plot.grids), setting].unique()
    return int(common[0]) if len(common) == 1 and pd.notna(common[0]) and common[0] else None


def _written(rows: pd.DataFrame, plot: Options, entry: ResultsEntry) -> str:
    def number(value: float) -> str:
        return f"{100 * value:.1f}" if metric_info(plot.quantity).percent else text.short(value)

    if rows["diverged"].any():
        return _DIVERGED
    mean = rows["value"].mean()
    sign = "\N{MINUS SIGN}" if mean < 0 else "+" if entry.minus is not None else ""
    spread = f" ({number(rows['value'].std())})" if len(rows) > 1 else ""
    return f"{sign}{number(abs(mean))}{spread}"
