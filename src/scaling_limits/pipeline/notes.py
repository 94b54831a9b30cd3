"""The texts on and below a figure, and all differences from the paper's settings."""

from collections.abc import Mapping, Sequence

import pandas as pd
from pydantic.fields import FieldInfo

from scaling_limits.cells import digest
from scaling_limits.configuration import Configuration
from scaling_limits.configuration.models import Experiment, Figure
from scaling_limits.configuration.namespace import label
from scaling_limits.datasets import catalogue
from scaling_limits.figures import OWN
from scaling_limits.figures.metrics import METRICS, metric_info
from scaling_limits.pipeline.scale import centre, scale_line

# settings whose differences are not listed: `num_test` is unimportant, and seeds have a separate line
_SILENT = {"num_test", "seed"}
_LOSSES = {"train_loss", "test_loss"}
_ACCURACIES = {"train_accuracy", "test_accuracy"}
_UNSET = {"num_train": "all", "input_shape": "the data's own"}
_LISTED = 4


def on_the_picture(
    configuration: Configuration, paper: str, name: str, cells: pd.DataFrame
) -> list[str]:
    """Return the lines below a figure: its scale, parts of training, judged losses, a figure with the same runs.

    Args:
        configuration: the configuration.
        paper: the name of the paper.
        name: the name of the figure.
        cells: the figure's cells, one row for each grid and cell.

    Returns:
        The lines; none for a figure without an experiment.
    """
    figure = configuration.figure(paper, name)
    if figure.experiment is None:
        return []
    lines = [scale_line(configuration, paper, name, cells), *_parts_of_training(figure)]
    lines += _judged_by(figure)
    repeats = repeated(configuration, paper, name)
    return [*lines, f"The runs are those of {repeats}."] if repeats else lines


def _parts_of_training(figure: Figure) -> list[str]:
    """Return a line with the parts of training over which quantities of a figure are averaged, if there are any."""
    parts = {
        metric_info(quantity).label: f"{100 * start:g}\N{EN DASH}{100 * end:g} %"
        for _, quantity in figure.plot.shown_quantities()
        if quantity.during is not None
        for start, end in [quantity.during]
    }
    named = ", ".join(f"{label} {part}" for label, part in parts.items())
    return [f"Means over parts of training: {named}."] if parts else []


def _judged_by(figure: Figure) -> list[str]:
    """Return a line if a figure shows an accuracy first, the paper's quantity, but its claims judge losses only."""
    shown = next((quantity.metric for _, quantity in figure.plot.shown_quantities()), None)
    judged = {claim.quantity.metric for claim in figure.claims}
    if shown not in _ACCURACIES or not judged or judged - _LOSSES:
        return []
    names = " and ".join(sorted(METRICS[metric].label for metric in judged))
    return [f"Claims are judged by the {names}, not by the {METRICS[shown].label}."]


def of_machines(kinds: Sequence[str]) -> list[str]:
    """Return a line below a figure whose cells were computed on several kinds of machine, otherwise none."""
    if len(kinds) < 2:
        return []
    return [
        f"Computed on {len(kinds)} kinds of machine ({'; '.join(kinds)}), which may round differently."
    ]


def repeated(configuration: Configuration, paper: str, name: str) -> str | None:
    """Return the label of the figure whose runs this one repeats because its dataset is substituted, or None.

    The other figure belongs to an experiment that this figure's experiment extends, and has the same plot.
    """
    if not configuration.substitutions(paper, configuration.figure(paper, name).experiment):
        return None
    figure = configuration.figure(paper, name)
    grids = set(figure.plot.grids)

    def shown(experiment: str | None) -> set[tuple[str, str]]:
        points = configuration.points(paper, experiment)
        return {(p.grid, digest(p.cell.canonical())) for p in points if p.grid in grids}

    extended = configuration.paper(paper).chain(str(figure.experiment))[1:]
    for other, experiment in configuration.paper(paper).figures.items():
        alike = experiment in extended and configuration.figure(paper, other).plot == figure.plot
        if alike and shown(experiment) == shown(figure.experiment):
            return label(paper, other)
    return None


def differences(configuration: Configuration, paper: str, name: str) -> list[str]:
    """Return all differences of a figure from the paper's settings.

    Values that the paper does not state are compared with the preset `full`. Substituted data come first, then
    settings and seeds.
    """
    figure = configuration.figure(paper, name)
    notes = _substitutions(configuration, paper, figure.experiment)
    if figure.experiment is None:
        return notes
    used = configuration.experiment(paper, figure.experiment)
    original = None if paper == OWN else configuration.original(paper, figure.experiment)
    shown = [grid for grid in used.grids if grid in figure.grids]
    if original is not None:
        stated = configuration.stated(paper, name)
        for is_stated, intro in (
            (True, "Differs from the paper"),
            (False, 'Differs from the preset "full", where the paper does not say'),
        ):
            changed = _differences(
                original, used, shown, configuration.fields, stated, is_stated=is_stated
            )
            notes += [f"{intro}{difference}." for difference in changed]
    notes.append(_seeds(original, used, shown, centre(figure.plot)))
    return notes


def _substitutions(configuration: Configuration, paper: str, experiment: str | None) -> list[str]:
    notes = []
    for wanted, used in configuration.substitutions(paper, experiment).items():
        stand_in = catalogue.info(used, configuration.user_datasets)
        replaced = catalogue.info(wanted, configuration.user_datasets)
        text = f"{stand_in.title} in place of {replaced.title}"
        if stand_in.num_classes != replaced.num_classes:
            text += f", with {stand_in.num_classes} classes instead of {replaced.num_classes}"
        notes.append(f"Data: {text}. {stand_in.note}".strip())
    return notes


def _differences(
    original: Experiment,
    used: Experiment,
    shown: Sequence[str],
    fields: Mapping[str, FieldInfo],
    stated: Mapping[str, Mapping[str, str]],
    *,
    is_stated: bool,
) -> list[str]:
    """Return the differences in settings that the paper states, or does not state, grouped by grids.

    Args:
        original: the experiment at the paper's scale.
        used: the experiment as configured.
        shown: the grids to compare.
        fields: the fields of settings, with their defaults.
        stated: the settings that the paper states, with their places.
        is_stated: whether to return differences in these settings, or in the others.
    """
    shown = [grid for grid in shown if grid in original.grids]
    grids: dict[str, list[str]] = {}
    for grid in shown:
        before, after = _values(original, grid), _values(used, grid)
        for key in sorted({*before, *after} - _SILENT):
            then, now = (values.get(key, fields[key].default) for values in (before, after))
            if then != now and (key in stated[grid]) == is_stated:
                source = f" ({stated[grid][key]})" if is_stated else ""
                grids.setdefault(f"{key} {_instead(key, now, then)}{source}", []).append(grid)
    together: dict[str, list[str]] = {}
    for difference, differing in grids.items():
        together.setdefault(_where(differing, shown), []).append(difference)
    return [f"{where}: {'; '.join(difference)}" for where, difference in sorted(together.items())]


def _where(differing: Sequence[str], shown: Sequence[str]) -> str:
    """Return the grids that differ as text: empty for all grids, or the exceptions if these are fewer."""
    exceptions = [grid for grid in shown if grid not in differing]
    if not exceptions:
        return ""
    if len(exceptions) < len(differing):
        return f", except in {', '.join(exceptions)}"
    return f" in {', '.join(differing)}"


def _seeds(original: Experiment | None, used: Experiment, shown: Sequence[str], centre: str) -> str:
    """Return a sentence on the number of seeds over which the centre is taken, with the paper's number."""
    grids: dict[str, list[str]] = {}
    for grid in shown:
        number = _number_of_seeds(used, grid)
        phrase = "one seed" if number == 1 else f"{centre} over {number} seeds"
        if original is not None and grid in original.grids:
            then = _number_of_seeds(original, grid)
            phrase += "" if then == number else f" instead of {then}"
        grids.setdefault(phrase, []).append(grid)
    if len(grids) == 1:
        return f"{next(iter(grids)).capitalize()}."
    phrases = [f"{phrase} in {', '.join(where)}" for phrase, where in grids.items()]
    return f"Seeds: {'; '.join(phrases)}."


def _number_of_seeds(experiment: Experiment, grid: str) -> int:
    seeds = _values(experiment, grid).get("seed")
    return len(set(seeds)) if isinstance(seeds, list) else 1


def _values(experiment: Experiment, grid: str) -> dict[str, object]:
    return experiment.grids[grid].settings


def _instead(key: str, now: object, then: object) -> str:
    texts = [_value_text(key, value, short=True) for value in (now, then)]
    if texts[0] == texts[1]:
        # the difference is lost in the short form
        texts = [_value_text(key, value, short=False) for value in (now, then)]
    return " instead of ".join(texts)


def _value_text(key: str, value: object, *, short: bool) -> str:
    """Return a value as text; if `short`, with three digits, and a long list of numbers as their range."""
    if value is None:
        return _UNSET.get(key, "none")
    if isinstance(value, float) and short:
        return f"{value:.3g}"
    if not isinstance(value, list | tuple):
        return str(value)
    items = [_value_text(key, item, short=short) for item in value]
    numbers = all(isinstance(item, int | float) for item in value)
    if numbers and short and len(value) > _LISTED:
        ends = (_value_text(key, end, short=short) for end in (min(value), max(value)))
        return f"{' to '.join(ends)} ({len(value)} values)"
    return (" x " if key == "input_shape" else ", ").join(items)
