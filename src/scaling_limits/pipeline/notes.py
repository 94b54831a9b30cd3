"""What is written under a figure: everything in which it differs from the paper's setting."""

from collections.abc import Collection, Mapping
from typing import Any

from ..configuration import OWN, Configuration
from ..configuration.models import Experiment, Settings
from ..datasets import catalogue
from .keys import cell_source

# settings of which one differs between grids of the paper and its reduced version without being worth a line
_SILENT = {"num_test"}


def figure_notes(
    configuration: Configuration, paper: str, name: str, meta: Mapping[str, Any]
) -> list[str]:
    """The lines under a figure: substitutions, reduced sizes, seeds, and cells of other sources kept on purpose."""
    figure = configuration.figure(paper, name)
    experiment = figure.experiment
    computed = configuration.points(paper, experiment)
    points = [point for point in computed if point.grid in figure.grids]
    notes = []
    for wanted, used in configuration.substitutions(paper, experiment).items():
        stand_in = catalogue.info(used, configuration.user_datasets)
        replaced = catalogue.info(wanted, configuration.user_datasets)
        text = f"{stand_in.title} in place of {replaced.title}"
        if stand_in.num_classes != replaced.num_classes:
            text += f", with {stand_in.num_classes} classes instead of {replaced.num_classes}"
        notes.append(f"Data: {text}. {stand_in.note}".strip())
    if experiment is None:
        return notes
    original = configuration.original(paper).experiments.get(experiment)
    if original is not None and paper != OWN:
        changed = configuration.paper(paper).experiments[experiment]
        reduced = _differences(original, changed, figure.grids)
        if reduced:
            notes.append(
                f"Differs from the paper (preset {configuration.main.preset}): {'; '.join(reduced)}."
            )
    seeds = {
        grid: len({p.settings.seed for p in points if p.grid == grid})
        for grid in {p.grid for p in points}
    }
    words = {grid: "one seed" if n == 1 else f"mean over {n} seeds" for grid, n in seeds.items()}
    if len(set(words.values())) == 1:
        notes.append(f"{next(iter(words.values())).capitalize()}.")
    else:
        notes.append(f"Seeds: {'; '.join(f'{grid}: {words[grid]}' for grid in sorted(words))}.")
    current = {cell_source(point.cell) for point in computed}
    older = sorted({entry["source"] for entry in meta.values()} - current)
    if older:
        notes.append(f"Cells computed by accepted older source: {', '.join(older)}.")
    return notes


def _differences(original: Experiment, used: Experiment, grids: Collection[str]) -> list[str]:
    defaults = {key: field.default for key, field in Settings.model_fields.items()}
    differences = []
    shown = [grid for grid in used.grids if grid in grids and grid in original.grids]
    for grid in shown:
        before, after = _values(original, grid), _values(used, grid)
        for key in sorted({*before, *after} - _SILENT):
            then, now = before.get(key, defaults[key]), after.get(key, defaults[key])
            if then != now:
                differences.append((key, grid, _words(now), _words(then)))
    merged: dict[tuple[str, str, str], list[str]] = {}
    for key, grid, now, paper in differences:
        merged.setdefault((key, now, paper), []).append(grid)
    lines = []
    for (key, now, paper), differing in merged.items():
        lines.append(f"{key} {now} instead of {paper}{_where(differing, shown)}")
    return lines


def _where(differing: list[str], shown: list[str]) -> str:
    """Nothing if all grids differ, else those that do, or those that do not if they are fewer."""
    others = [grid for grid in shown if grid not in differing]
    if not others:
        return ""
    fewer = len(others) < len(differing)
    return f" (not {', '.join(others)})" if fewer else f" ({', '.join(differing)})"


def _values(experiment: Experiment, grid: str) -> dict[str, Any]:
    part = experiment.grids[grid]
    return {**experiment.settings, **experiment.axes, **part.settings, **part.axes}


def _words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return "unset" if value is None else str(value)
