"""A figure's summary as one self-contained HTML page, for the report."""

import json
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from scaling_limits.audit.table import read_verdicts
from scaling_limits.audit.verdicts import setting, with_interval
from scaling_limits.files import write_file

MANY = 16
"""A setting with more values than this is written as a range."""

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 62rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem;
  border-bottom: 1px solid #ddd; overflow-wrap: anywhere; }
th { font-weight: 600; background: #f6f6f6; white-space: nowrap; }
td:first-child { min-width: 11rem; } td.holds, td.fails, td.untested, td.missing { white-space: nowrap; }
.notes { background: #fff8e1; border-left: 4px solid #e0a800; padding: .5rem 1rem .5rem 2rem; }
.holds { color: #14692f; } .fails { color: #a11212; } .untested, .missing { color: #666; }
small { color: #555; }
"""


def write_summary(folder: Path | str) -> None:
    """Write `summary.html` of a figure's folder.

    It shows caption, notes, settings, verdicts and provenance, from `figure.json`, `cells.parquet`,
    `verdicts.json` and `provenance.json`.
    """
    folder = Path(folder)
    figure = _read(folder / "figure.json")
    provenance = _read(folder / "provenance.json")
    varying, fixed = settings_of(pd.read_parquet(folder / "cells.parquet"))
    name = f"{figure['paper']} / {figure['figure']}"
    notes = "".join(f"<li>{escape(str(note))}</li>" for note in figure.get("differences", []))
    parts = [
        f"<h1>{escape(str(figure['title']))}</h1>",
        f"<p><small>{escape(name)}, preset {escape(str(figure['preset']))}</small></p>",
        f"<p>{escape(str(figure['caption']))}</p>",
        f'<ul class="notes">{notes}</ul>' if notes else "",
        "<h2>Claims</h2>",
        _verdict_table(folder),
        "<h2>Settings that vary</h2>",
        _table(("setting", "values"), varying.items()),
        "<h2>Settings that do not</h2>",
        _table(("setting", "value"), fixed.items()),
        "<h2>Provenance</h2>",
        _table(("entry", "value"), ((k, _entry(v)) for k, v in flat(provenance).items())),
    ]
    page = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{escape(name)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body>\n</html>\n"
    )
    write_file(folder / "summary.html", page)


def settings_of(cells: pd.DataFrame) -> tuple[dict[str, str], dict[str, str]]:
    """The settings of cells that vary, with their values, and those that are fixed."""
    varying: dict[str, str] = {}
    fixed: dict[str, str] = {}
    for column in cells.columns.drop("cell_id", errors="ignore"):
        values = _distinct(cells[column])
        (varying if len(values) > 1 else fixed)[str(column)] = (
            ", ".join(values)
            if len(values) <= MANY
            else f"{values[0]} … {values[-1]} ({len(values)} values)"
        )
    return varying, fixed


def _distinct(column: pd.Series) -> list[str]:
    """The distinct values as text, numbers in increasing order."""
    numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if not numeric:
        return sorted({_text(value) for value in column})
    present = [setting(value) for value in sorted(column.dropna().unique())]
    return present + ["none"] * bool(column.isna().any())


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return "none"
    return str(value)


def _verdict_table(folder: Path) -> str:
    verdicts = read_verdicts(folder)
    if not verdicts:
        return "<p>No claim is judged on this figure.</p>"
    rows = []
    for verdict in verdicts:
        value = "" if verdict.value is None else with_interval(verdict.value, verdict.interval)
        registered = f"<br>Registered: {escape(verdict.registered)}" if verdict.registered else ""
        rows.append(
            f"<tr><td>{escape(verdict.statement)}<br><small>{escape(verdict.detail)}"
            f"{registered}</small></td>"
            f'<td class="{verdict.verdict}"><strong>{verdict.verdict}</strong></td>'
            f"<td>{escape(value)}</td><td>{escape(verdict.threshold)}</td>"
            f"<td>{escape(verdict.source)}</td></tr>"
        )
    return _tabulate(("claim", "verdict", "value", "threshold", "source"), rows)


def _table(header: Iterable[str], rows: Iterable[tuple[str, str]]) -> str:
    return _tabulate(
        header,
        (f"<tr><td>{escape(key)}</td><td>{escape(value)}</td></tr>" for key, value in rows),
    )


def _tabulate(header: Iterable[str], rows: Iterable[str]) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in header)
    return f"<table>\n<tr>{head}</tr>\n" + "\n".join(rows) + "\n</table>"


def flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The values of nested mappings by dotted names."""
    found: dict[str, Any] = {}
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            found |= flat(inner, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = inner
    return found


def _entry(value: Any) -> str:
    return ", ".join(map(_text, value)) if isinstance(value, list) else _text(value)


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content
