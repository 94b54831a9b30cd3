"""Assembly of a figure's folder: its cells and records, its verdicts, and their provenance."""

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd
from pydantic import BaseModel

from scaling_limits.audit.judge import judge
from scaling_limits.audit.register import Register
from scaling_limits.audit.table import write_verdicts
from scaling_limits.cells import digest
from scaling_limits.configuration import Configuration, Point
from scaling_limits.configuration.models import Figure
from scaling_limits.configuration.namespace import identity, in_paper
from scaling_limits.datasets import catalogue
from scaling_limits.files import JsonObject, write_file
from scaling_limits.pipeline import evidence, notes
from scaling_limits.pipeline.checksums import PROVENANCE, checksums
from scaling_limits.pipeline.jobs import COLUMNS
from scaling_limits.pipeline.keys import cell_key
from scaling_limits.pipeline.placeholders import filled, grid_titles
from scaling_limits.plots.options import Plot
from scaling_limits.records import Results
from scaling_limits.runtime import library_versions


def collect(
    configuration: Configuration,
    paper: str,
    name: str,
    *,
    job_records: Sequence[Path],
    job_meta: Sequence[Path],
    folder: Path,
    register: Register,
) -> None:
    """Write a figure's cells, records, verdicts and description, and then their provenance with checksums.

    The files are `cells.parquet`, `records.parquet`, `verdicts.json` and `figure.json`, then `provenance.json`.

    Args:
        configuration: the configuration.
        paper: the name of the paper.
        name: the name of the figure.
        job_records: the files with the records of the figure's jobs.
        job_meta: the files with the jobs' metadata, such as run times and devices.
        folder: the folder to write to.
        register: the registered failures and amendments.

    Raises:
        WriteError: a file cannot be written; it is then absent or unchanged.
    """
    figure = configuration.figure(paper, name)
    points = configuration.points(paper, figure.experiment)
    results = Results(_cells(points), _records(job_records))
    meta = _metadata(job_meta)
    machines = sorted({entry["machine"] for entry in meta.values() if "machine" in entry})
    substitutions = configuration.substitutions(paper, figure.experiment)
    verdicts = judge(
        figure.claims,
        results,
        paper=paper,
        figure=name,
        preset=configuration.main.preset,
        substituted=bool(substitutions),
        register=register,
        titles=grid_titles(configuration, paper, name),
    )
    write_file(folder / "cells.parquet", results.cells.to_parquet(index=False))
    write_file(folder / "records.parquet", results.records.to_parquet(index=False))
    write_verdicts(folder, verdicts)
    named = {"paper": paper, "figure": name, "preset": configuration.main.preset}
    shown = _shown(configuration, paper, name, points, results, machines, register)
    _write(folder / "figure.json", {**named, **shown})
    experiment = _experiment(configuration, paper, figure.experiment)
    compared = {
        **named,
        "page": configuration.main.page,
        "experiment": experiment,
        "configuration_hash": digest(experiment),
        "substitutions": substitutions,
        **_origins(points, meta),
    }
    not_compared = {**_surroundings(meta), "machines": machines}
    _write(
        folder / PROVENANCE,
        {"compared": compared, "checksums": checksums(folder), "not_compared": not_compared},
    )


def _shown(
    configuration: Configuration,
    paper: str,
    name: str,
    points: Sequence[Point],
    results: Results,
    machines: Sequence[str],
    register: Register,
) -> dict[str, object]:
    """Return the texts of a figure, the evidence that its picture draws, its notes and its settings."""
    figure = configuration.figure(paper, name)
    observed = register.observations.get((paper, name, configuration.main.preset))
    return {
        **_texts(configuration, paper, name, points, results.cells),
        **_evidence(figure, results),
        "notes": [
            *notes.on_the_picture(configuration, paper, name, results.cells),
            *notes.of_machines(machines),
            *([f"Seen here: {observed.text}."] if observed else []),
        ],
        "repeats": notes.repeated(configuration, paper, name),
        "differences": notes.differences(configuration, paper, name),
        "defaults": _defaults([p.settings for p in points if p.grid in figure.grids]),
    }


def _metadata(paths: Sequence[Path]) -> dict[str, JsonObject]:
    """Read the metadata of the cells of a figure's jobs, by key."""
    metadata: dict[str, JsonObject] = {}
    for path in paths:
        metadata.update(json.loads(path.read_text()))
    return metadata


def _records(paths: Sequence[Path]) -> pd.DataFrame:
    """Read the records of a figure's jobs, sorted."""
    tables = [pd.read_parquet(path) for path in paths] or [pd.DataFrame(columns=COLUMNS)]
    return pd.concat(tables, ignore_index=True).sort_values(COLUMNS[:-1], ignore_index=True)


def _texts(
    configuration: Configuration,
    paper: str,
    name: str,
    points: Sequence[Point],
    cells: pd.DataFrame,
) -> dict[str, object]:
    """Return the texts and the plot of a figure, with placeholders filled from its cells."""
    figure = configuration.figure(paper, name)
    head = configuration.paper(paper).library.head
    names = {
        used: catalogue.info(used, configuration.user_datasets).title
        for used in {point.settings.dataset for point in points}
    }
    shown = cells[cells["grid"].isin(figure.plot.grids)]
    texts = {key: getattr(figure, key) for key in ("title", "see", "caption")}
    return {
        "page": configuration.main.page,
        "identity": identity(head.authors, head.year, name) if head else f"own figure {name}",
        "in_paper": head is not None and in_paper(name),
        "arxiv": head.arxiv if head else None,
        "kind": figure.plot.kind,
        "plot": _plot(figure.plot, cells, names),
        **{key: filled(text, shown, names) for key, text in texts.items()},
    }


def _evidence(figure: Figure, results: Results) -> dict[str, object]:
    """Return the measurements of a figure's claims that it draws, and the grids that it draws and judges."""
    shown: dict[str, list[evidence.Content]] = {"optima": [], "slopes": [], "ratios": []}
    for claim in figure.claims:
        # claims about ratios are frequent, and few pictures show ratios
        if claim.shown is not None and (claim.shown != "ratios" or figure.plot.shows_ratios):
            shown[claim.shown].append(evidence.shown(claim, results))
    return {
        "judged": shown["optima"],
        "fitted": [*shown["slopes"], *shown["ratios"]],
        "grids": sorted(figure.grids),
        "judged_only": _judged_only(figure, results.cells),
    }


def _judged_only(figure: Figure, cells: pd.DataFrame) -> list[str]:
    """Return the grids on which claims are judged and that have cells which the plot does not show."""
    shown = set(cells.loc[cells["grid"].isin(figure.plot.grids), "cell_id"])
    judged = cells[cells["grid"].isin(figure.grids) & ~cells["cell_id"].isin(shown)]
    return sorted(judged["grid"].unique())


def _plot(plot: Plot, cells: pd.DataFrame, names: Mapping[str, str]) -> dict[str, object]:
    """Return the plot as written, with placeholders in its texts filled from the cells that they describe."""

    def of_grids(text: str, grids: Iterable[str]) -> str:
        return filled(text, cells[cells["grid"].isin(list(grids))], names)

    return plot.fill(of_grids).model_dump(mode="json", exclude_unset=True)


def _cells(points: Sequence[Point]) -> pd.DataFrame:
    """Return the settings of every point as written, one row for each grid and cell.

    A column with text in some rows is converted to text.
    """
    rows = [
        {
            "grid": point.grid,
            "cell_id": cell_key(point.cell),
            **_columns(point.settings.model_dump(mode="json")),
            "num_hidden_layers": point.settings.num_hidden_layers,
            "num_weight_layers": point.settings.num_weight_layers,
        }
        for point in points
    ]
    table = pd.DataFrame(rows, columns=None if rows else ["grid", "cell_id"])
    # a setting may be a number in one grid and `num_hidden_layers` in another, but a column has one type
    worded = [
        str(name) for name in table if table[name].map(lambda value: isinstance(value, str)).any()
    ]
    return table.assign(**{name: table[name].map(str, na_action="ignore") for name in worded})


def _defaults(settings: Sequence[BaseModel]) -> list[str]:
    """Return the settings that have their default value in all cells."""
    usual = {
        model: {
            name: field.get_default(call_default_factory=True)
            for name, field in model.model_fields.items()
        }
        for model in {type(one) for one in settings}
    }
    stated = {
        name
        for one in settings
        for name, value in usual[type(one)].items()
        if getattr(one, name) != value
    }
    return sorted({name for known in usual.values() for name in known} - stated)


def _origins(points: Sequence[Point], meta: Mapping[str, JsonObject]) -> dict[str, object]:
    """Return the code, libraries, devices, data and seeds of cells.

    Args:
        points: the cells.
        meta: the metadata of each cell from its job.
    """
    return {
        "cells": len(meta),
        "sources": sorted({entry["source"] for entry in meta.values()}),
        "libraries": library_versions(),
        "devices": sorted({entry["device"] for entry in meta.values()}),
        "datasets": {p.cell.dataset.name: p.cell.dataset.checksum for p in points},
        "seeds": sorted({point.settings.seed for point in points}),
    }


def _surroundings(meta: Mapping[str, JsonObject]) -> dict[str, object]:
    """Return entries that may differ between two equal results."""
    compiled = {entry["shard"]: entry["compile_seconds"] for entry in meta.values()}
    return {
        "machine": platform.platform(),
        "python": platform.python_version(),
        "training_seconds": sum(entry["seconds"] for entry in meta.values()),
        "compile_seconds": sum(compiled.values()),
    }


def _experiment(
    configuration: Configuration, paper: str, name: str | None
) -> dict[str, object] | None:
    if name is None:
        return None
    return {"name": name, **configuration.experiment(paper, name).model_dump(mode="json")}


def _columns(settings: dict[str, object]) -> dict[str, object]:
    """Return settings as columns, with nested settings as JSON text."""
    return {
        key: json.dumps(value, sort_keys=True) if isinstance(value, dict | list | tuple) else value
        for key, value in settings.items()
    }


def _write(path: Path, content: object) -> None:
    write_file(path, json.dumps(content, indent=1, sort_keys=True, allow_nan=False) + "\n")
