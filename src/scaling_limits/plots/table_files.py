"""Export of figures that are tables: `table.csv`, and `table.tex` for LaTeX."""

import re
from collections.abc import Iterable, Iterator

import pandas as pd

from scaling_limits.files import write_file
from scaling_limits.plots import registry
from scaling_limits.plots.figure_folder import FigureFolder
from scaling_limits.plots.options import PlotOptions
from scaling_limits.plots.typeset import Sheet, is_bold, is_underlined, plain

_SIGNS = {
    "\N{MINUS SIGN}": "-",
    "\N{MULTIPLICATION SIGN}": "diverged",
    "\N{LEFTWARDS ARROW} ": "",
    " \N{RIGHTWARDS ARROW}": "",
}
"""Signs in a picture and their replacements in files for programs."""

_ESCAPED = {
    **{sign: rf"\{sign}" for sign in "&%#_{}$"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    # after a line break, LaTeX would read a bracket as the option of the line break
    "[": "{[}",
    "\N{MINUS SIGN}": "$-$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "\N{LEFTWARDS ARROW}": r"$\leftarrow$",
    "\N{RIGHTWARDS ARROW}": r"$\rightarrow$",
}


def write_tables(folder: FigureFolder[PlotOptions]) -> None:
    """Write `table.csv` and `table.tex` into the folder of a figure whose kind is a table of text.

    Raises:
        ScalingLimitsError: the table cannot be produced from the files of the folder.
        WriteError: a file cannot be written.
    """
    table: pd.DataFrame = registry.part(folder.plot.kind).text(folder, folder.table())
    write_file(folder.path / "table.csv", as_csv(table))
    comments = (f"{folder.name}, preset {folder.preset}: {folder.title}", *folder.notes)
    write_file(folder.path / "table.tex", as_latex(table, comments))


def as_csv(table: pd.DataFrame) -> str:
    """Return a table of text as CSV with one row of headings.

    Headings of several levels are joined by commas, each preceded by the name of its level. A cross becomes `diverged`,
    minus signs become ASCII hyphens, and arrows are left out. Mathematics stays between dollar signs.
    """
    names = [str(name or "") for name in table.columns.names]
    tuples = (labels if isinstance(labels, tuple) else (labels,) for labels in table.columns)
    headings = [
        ", ".join(
            f"{name} {label}" if name else str(label)
            for name, label in zip(names, labels, strict=True)
        )
        for labels in tuples
    ]
    index_names = [str(name or "") for name in table.index.names]
    flat = table.set_axis(headings, axis="columns").rename_axis(index=index_names, columns=None)
    rows = flat.reset_index(allow_duplicates=True).astype(str)
    readable = rows.rename(columns=_machine_readable).map(_machine_readable)
    return readable.to_csv(index=False, lineterminator="\n")


def as_latex(table: pd.DataFrame, comments: Iterable[str] = ()) -> str:
    """Return a table of text as a LaTeX `tabular` that needs no package, below lines of comments.

    Text is escaped, and mathematics between dollar signs is unchanged. Headings are arranged as in the picture.
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
        lines.append(_line([""] * known + [_entry(entry) for entry in line[known:]]))
    lines += [r"\hline", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    r"""Return a text escaped for LaTeX; `\$` is a dollar sign that does not start mathematics.

    >>> escaped(r"50 % of $N^{-a_l}$ in fan_in")
    '50 \\% of $N^{-a_l}$ in fan\\_in'
    """
    parts = re.split(r"(\\\$|\$[^$]*\$)", text)
    return "".join(
        part if number % 2 else "".join(_ESCAPED.get(sign, sign) for sign in part)
        for number, part in enumerate(parts)
    )


def _entry(entry: str) -> str:
    text = escaped(plain(entry))
    if is_underlined(entry):
        return rf"\underline{{{text}}}"
    return rf"\textbf{{{text}}}" if is_bold(entry) else text


def _machine_readable(text: str) -> str:
    text = plain(text)
    for sign, ascii_sign in _SIGNS.items():
        text = text.replace(sign, ascii_sign)
    return text


def _header(sheet: Sheet, row: int) -> Iterator[str]:
    """Yield a line of headings, followed by a rule below the headings that span columns with further headings."""
    entries, rules = [escaped(label) for label in sheet.header[row][: sheet.labels]], []
    last = row == len(sheet.header) - 1
    for heading, first, end in sheet.spans(row):
        across = end - first > 1
        text = escaped(heading)
        entries.append(rf"\multicolumn{{{end - first}}}{{c}}{{{text}}}" if across else text)
        if heading and not last:
            rules.append(rf"\cline{{{first + 1}-{end}}}")
    yield _line(entries)
    if rules:
        yield " ".join(rules)


def _line(entries: Iterable[str]) -> str:
    return rf"{' & '.join(entries)} \\"
