"""The page of a figure for the report: picture, notes, verdicts, settings and provenance in one file."""

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

import pandas as pd

from scaling_limits.audit.html import folded, page, picture, shrunk, table, verdict_table
from scaling_limits.audit.mathematics import with_formulas
from scaling_limits.audit.table import read_verdicts
from scaling_limits.audit.verdicts import Verdict
from scaling_limits.claims.measurement import setting
from scaling_limits.files import JsonObject, write_file
from scaling_limits.outcomes import BACKGROUNDS, overall, tally, to_see

MANY = 16
"""Settings with more values than this are written as a range."""

_EXPERIMENT = "compared.experiment."
_FILES = ", ".join(
    f'<a href="{file}">{name}</a>'
    for name, file in {
        "notebook": "notebook.ipynb",
        "PDF": "figure.pdf",
        "SVG": "figure.svg",
        "records": "records.parquet",
        "cells": "cells.parquet",
    }.items()
)
"""Links that lead nowhere in a report, which holds the page alone; they still name the files."""


def write_summary(folder: Path | str) -> None:
    """Write `summary.html` into the folder of a drawn figure.

    The page shows the picture, caption, notes, verdicts, settings and provenance, from `figure.png`, `figure.json`,
    `verdicts.json`, `cells.parquet` and `provenance.json`. Settings are those of the grids that the figure shows or on
    which it is judged. Settings at their defaults, and the experiment as configured, are folded.

    Raises:
        WriteError: the page cannot be written.
    """
    folder = Path(folder)
    figure, verdicts = _read(folder / "figure.json"), read_verdicts(folder)
    name = f"{figure['paper']} / {figure['figure']}"
    outcomes = [verdict.verdict for verdict in verdicts]
    see = to_see(figure["see"], outcomes, in_paper=figure["in_paper"])
    parts = [
        f"<p><small>{escape(figure['identity'])}{_link(figure)}</small></p>",
        f"<h1>{with_formulas(figure['title'])}</h1>",
        f"<p>{with_formulas(see)}</p>" if see else "",
        f"<p>{_score(figure, verdicts)}</p>",
        f"<figure>{picture(shrunk((folder / 'figure.png').read_bytes()), figure['title'])}</figure>",
        f"<p>{with_formulas(figure['caption'])}</p>",
        f"<p>Files in the folder of this page: {_FILES}.</p>",
        "<h2>Claims</h2>",
        verdict_table(verdicts) if verdicts else "<p>No claim is judged on this figure.</p>",
        *_notes(figure),
        *_settings(figure, pd.read_parquet(folder / "cells.parquet")),
        *_provenance(_read(folder / "provenance.json")),
    ]
    write_file(folder / "summary.html", page(name, parts))


def _link(figure: JsonObject) -> str:
    """Return a link to the paper, or an empty text for the user's own figures."""
    if figure["arxiv"] is None:
        return ""
    number = escape(figure["arxiv"])
    return f' (<a href="https://arxiv.org/abs/{number}">arXiv:{number}</a>)'


def _score(figure: JsonObject, verdicts: Sequence[Verdict]) -> str:
    """Return the badge with the overall outcome, the counts of all outcomes, and the preset."""
    outcomes = [verdict.verdict for verdict in verdicts]
    preset = f"Preset {escape(figure['preset'])}."
    if not outcomes:
        return preset
    outcome = overall(outcomes)
    badge = f'<strong class="badge" style="background: {BACKGROUNDS[outcome]}">{outcome}</strong>'
    return f"{badge} {tally(outcomes)}. {preset}"


def _notes(figure: JsonObject) -> Iterator[str]:
    """Yield the differences from the paper, and the judged grids that the picture does not show."""
    notes = [*figure["differences"]]
    if figure["judged_only"]:
        notes.append(f"Judged, but not in the picture: {', '.join(figure['judged_only'])}.")
    if notes:
        items = "".join(f"<li>{with_formulas(note)}</li>" for note in notes)
        yield "<h2>Differences from the paper</h2>"
        yield f'<ul class="notes">{items}</ul>'


def _settings(figure: JsonObject, cells: pd.DataFrame) -> Iterator[str]:
    varying, fixed = settings_of(cells[cells["grid"].isin(figure["grids"])])
    chosen = {name: value for name, value in fixed.items() if name not in figure["defaults"]}
    defaults = {name: value for name, value in fixed.items() if name not in chosen}
    for title, values in (("Settings that vary", varying), ("Settings that do not vary", chosen)):
        if values:
            yield f"<h2>{title}</h2>"
            yield table(("setting", "value"), values.items())
    if defaults:
        yield folded(
            f"{len(defaults)} more at their defaults", table(("setting", "value"), defaults.items())
        )


def _provenance(provenance: JsonObject) -> Iterator[str]:
    entries = {key: _entry(value) for key, value in flat(provenance).items()}
    written = {key: value for key, value in entries.items() if key.startswith(_EXPERIMENT)}
    yield "<h2>Provenance</h2>"
    yield table(
        ("entry", "value"), ((k, value) for k, value in entries.items() if k not in written)
    )
    if written:
        yield folded(
            f"The whole experiment as it was configured: {len(written)} entries",
            table(("entry", "value"), written.items()),
        )


def settings_of(cells: pd.DataFrame) -> tuple[dict[str, str], dict[str, str]]:
    """Return the settings of cells that vary, with their values, and those that are fixed; none without cells."""
    varying: dict[str, str] = {}
    fixed: dict[str, str] = {}
    for column in cells.columns.drop("cell_id", errors="ignore") if len(cells) else ():
        values = _distinct(cells[column])
        (varying if len(values) > 1 else fixed)[str(column)] = (
            ", ".join(values)
            if len(values) <= MANY
            else f"{values[0]} … {values[-1]} ({len(values)} values)"
        )
    return varying, fixed


def _distinct(column: pd.Series) -> list[str]:
    """Return the distinct values as text, numbers in increasing order."""
    numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if not numeric:
        return sorted({_text(value) for value in column})
    present = [setting(value) for value in sorted(column.dropna().unique())]
    return present + ["none"] * bool(column.isna().any())


def _text(value: object) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return "none"
    return str(value)


def flat(value: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Return the values of nested mappings by dotted names."""
    values: dict[str, object] = {}
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            values |= flat(inner, f"{prefix}{key}.")
        else:
            values[f"{prefix}{key}"] = inner
    return values


def _entry(value: object) -> str:
    return ", ".join(map(_text, value)) if isinstance(value, list) else _text(value)


def _read(path: Path) -> JsonObject:
    content: JsonObject = json.loads(path.read_text(encoding="utf-8"))
    return content
