"""A figure that is a table, as files for others to read: `table.csv`, and `table.tex` for LaTeX."""

import csv
import io
import re
from collections.abc import Iterable, Iterator

import pandas as pd

from scaling_limits.files import write_file
from scaling_limits.plots import registry
from scaling_limits.plots.figure_folder import FigureFolder
from scaling_limits.plots.options import PlotOptions
from scaling_limits.plots.typeset import Sheet, is_bold, plain

_SIGNS = {"\N{MINUS SIGN}": "-", "\N{MULTIPLICATION SIGN}": "diverged"}
"""Signs in a picture, and the text for programs that replaces them."""

_ESCAPED = {
    **{sign: rf"\{sign}" for sign in "&%#_{}$"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    # at the beginning of a line it would be an option of the line break before it
    "[": "{[}",
    "\N{MINUS SIGN}": "$-$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
}


def write_tables(folder: FigureFolder[PlotOptions]) -> None:
    """Write `table.csv` and `table.tex` into the folder of a figure whose kind is a table of text.

    Raises:
        ScalingLimitsError: the table cannot be made of what is in the folder.
        WriteError: one of them cannot be written.
    """
    table: pd.DataFrame = registry.part(folder.plot.kind).text(folder, folder.table())
    write_file(folder.path / "table.csv", as_csv(table))
    comments = (f"{folder.name}, preset {folder.preset}: {folder.title}", *folder.notes)
    write_file(folder.path / "table.tex", as_latex(table, comments))


def as_csv(table: pd.DataFrame) -> str:
    """A table of text, one line of headings above.

    Headings of several levels are joined by commas, each behind the name of its level. A cross is `diverged`, and a
    minus sign the ASCII one. Mathematics stays between dollars.
    """
    names = [str(name or "") for name in table.columns.names]
    headings = [
        ", ".join(
            f"{name} {words}" if name else words for name, words in zip(names, place, strict=True)
        )
        for place in _levels(table.columns)
    ]
    lines = [[*(str(name or "") for name in table.index.names), *headings]]
    for labels, entries in zip(_levels(table.index), table.to_numpy().tolist(), strict=True):
        lines.append([*labels, *entries])
    content = io.StringIO()
    csv.writer(content, lineterminator="\n").writerows(map(_read, line) for line in lines)
    return content.getvalue()


def as_latex(table: pd.DataFrame, comments: Iterable[str] = ()) -> str:
    r"""A table of text as a `tabular` that needs no package, below lines of comments.

    Text is escaped, mathematics between dollars stays as it is; headings are set out as in the picture.
    """
    sheet = Sheet.of(table)
    columns = "l" * sheet.labels + "c" * (len(sheet.header[0]) - sheet.labels)
    lines = [f"% {' '.join(comment.split())}" for comment in comments]
    lines += [rf"\begin{{tabular}}{{{columns}}}", r"\hline"]
    for row in range(len(sheet.header)):
        lines += _header(sheet, row)
    lines.append(r"\hline")
    for row, line in enumerate(sheet.body):
        known = sheet.known(row)
        if row and known < sheet.labels - 1:
            lines.append(r"\hline")
        lines.append(_line([""] * known + [_entry(words) for words in line[known:]]))
    lines += [r"\hline", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def escaped(words: str) -> str:
    r"""A text as LaTeX; `\$` is a dollar that begins no mathematics.

    >>> escaped(r"50 % of $N^{-a_l}$ in fan_in")
    '50 \\% of $N^{-a_l}$ in fan\\_in'
    """
    parts = re.split(r"(\\\$|\$[^$]*\$)", words)
    return "".join(
        part if number % 2 else "".join(_ESCAPED.get(sign, sign) for sign in part)
        for number, part in enumerate(parts)
    )


def _entry(words: str) -> str:
    text = escaped(plain(words))
    return rf"\textbf{{{text}}}" if is_bold(words) else text


def _levels(index: pd.Index) -> list[tuple[str, ...]]:
    """The headings of each line, or column, the outermost first."""
    places = (place if isinstance(place, tuple) else (place,) for place in index)
    return [tuple(map(str, place)) for place in places]


def _read(words: str) -> str:
    words = plain(words)
    for sign, ascii_sign in _SIGNS.items():
        words = words.replace(sign, ascii_sign)
    return words


def _header(sheet: Sheet, row: int) -> Iterator[str]:
    """A line of headings, with a rule below those that others stand under."""
    words, rules = [escaped(label) for label in sheet.header[row][: sheet.labels]], []
    last = row == len(sheet.header) - 1
    for heading, first, end in sheet.spans(row):
        across = end - first > 1
        text = escaped(heading)
        words.append(rf"\multicolumn{{{end - first}}}{{c}}{{{text}}}" if across else text)
        if heading and not last:
            rules.append(rf"\cline{{{first + 1}-{end}}}")
    yield _line(words)
    if rules:
        yield " ".join(rules)


def _line(words: Iterable[str]) -> str:
    return rf"{' & '.join(words)} \\"
