"""Tables as files: what programs and LaTeX read."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from plotting_records import ACCURACY, NOTES, cells, write_folder

from scaling_limits.plots import registry
from scaling_limits.plots.figure_folder import FigureFolder
from scaling_limits.plots.table_files import as_csv, as_latex, escaped, write_tables

NESTED = pd.DataFrame(
    [["1", "2", "\N{MINUS SIGN}3"], ["4", "5", "\N{MULTIPLICATION SIGN}"], ["7", "8", "$x^2$"]],
    index=pd.MultiIndex.from_tuples([("A", "8"), ("A", "16"), ("B", "8")], names=["", "width $N$"]),
    columns=pd.MultiIndex.from_tuples(
        [("K-FAC", "0.1"), ("K-FAC", "1"), ("SGD", "1")], names=["", "rate"]
    ),
)


def test_a_csv_has_one_line_of_headings_and_numbers_that_programs_read() -> None:
    assert list(csv.reader(io.StringIO(as_csv(NESTED)))) == [
        ["", "width $N$", "K-FAC, rate 0.1", "K-FAC, rate 1", "SGD, rate 1"],
        ["A", "8", "1", "2", "-3"],
        ["A", "16", "4", "5", "diverged"],
        ["B", "8", "7", "8", "$x^2$"],
    ]


def test_latex_writes_headings_once_over_their_columns_and_beside_their_lines() -> None:
    assert (
        as_latex(NESTED, ["made at\nsmoke"])
        == r"""% made at smoke
\begin{tabular}{llccc}
\hline
 &  & \multicolumn{2}{c}{K-FAC} & SGD \\
\cline{3-4} \cline{5-5}
 &  & \multicolumn{2}{c}{rate} & rate \\
\cline{3-4} \cline{5-5}
 & width $N$ & 0.1 & 1 & 1 \\
\hline
A & 8 & 1 & 2 & $-$3 \\
 & 16 & 4 & 5 & $\times$ \\
\hline
B & 8 & 7 & 8 & $x^2$ \\
\hline
\end{tabular}
"""
    )


def test_marks_of_best_values() -> None:
    table = pd.DataFrame([["__\N{LEFTWARDS ARROW} 1__", "**2**", "__3__"]])
    assert as_csv(table).splitlines()[1] == "0,1,2,3"
    assert r"\underline{$\leftarrow$ 1} & \textbf{2} & \underline{3}" in as_latex(table)


@pytest.mark.parametrize(
    ("words", "latex"),
    [
        ("a & b_c #1 100 % {x}", r"a \& b\_c \#1 100 \% \{x\}"),
        (r"a\b ~ ^", r"a\textbackslash{}b \textasciitilde{} \textasciicircum{}"),
        (r"$a_l$ & $\bar\gamma_L$_", r"$a_l$ \& $\bar\gamma_L$\_"),
        (r"5 \$ of $x_1$", r"5 \$ of $x_1$"),
        ("[a]", "{[}a]"),
    ],
)
def test_text_is_escaped_and_mathematics_is_not(words: str, latex: str) -> None:
    assert escaped(words) == latex


def rows() -> list[Any]:
    def value(width: int, seed: int, **_: Any) -> dict[str, Any]:
        return {"test_accuracy": np.nan if width == 16 else 0.5 + 0.2 * seed}

    return cells("sp", value, width=(8, 16), seed=(0, 1))


def plots() -> dict[str, dict[str, Any]]:
    """A small plot of each kind that is a table."""
    row = {"title": "SP & more", "scheme": "sp_gaussian", "update_rule": "adam"}
    return {
        "definitions": {"columns": ["A", "B"], "rows": [["$a_l$", "100 %"]]},
        "parameterisation_table": {"form": "premultipliers", "entries": [row]},
        "results_table": {
            "quantity": ACCURACY,
            "entries": [{"grid": "sp", "title": "K-FAC, SP"}],
            "rows": ["width"],
            "columns": ["entry"],
            "best": "max",
        },
    }


def test_every_kind_that_is_a_table_is_written_the_same_each_time(tmp_path: Path) -> None:
    assert set(plots()) == {kind for kind in registry.own if hasattr(registry.part(kind), "text")}
    written = {}
    for kind, plot in plots().items():
        folder = write_folder(tmp_path / kind, {"kind": kind, **plot}, rows())
        contents = []
        for _ in range(2):
            write_tables(FigureFolder.open(folder))
            contents.append([(folder / f"table.{end}").read_bytes() for end in ("csv", "tex")])
        assert contents[0] == contents[1]
        written[kind] = [content.decode() for content in contents[0]]
    assert written["definitions"][0] == "A,B\n$a_l$,100 %\n"
    assert "$a_l$ & 100 \\% \\\\" in written["definitions"][1]
    assert "\nSP & more," in written["parameterisation_table"][0]
    assert "\nSP \\& more & " in written["parameterisation_table"][1]
    assert written["results_table"][0] == 'width $N$,"K-FAC, SP"\n8,60.0 (14.1)\n16,diverged\n'
    # of which preset the numbers are, and what stands in for what
    comments = [line for line in written["results_table"][1].splitlines() if line[0] == "%"]
    assert "preset smoke" in comments[0]
    assert comments[1:] == [f"% {note}" for note in NOTES]
