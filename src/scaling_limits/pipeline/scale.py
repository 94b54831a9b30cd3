"""The line below a figure with its scale: sizes, updates, data and seeds, with the paper's values if they differ."""

from collections.abc import Iterable

import pandas as pd

from scaling_limits.configuration import Configuration
from scaling_limits.configuration.models import Experiment
from scaling_limits.datasets import catalogue
from scaling_limits.figures import OWN
from scaling_limits.plots.options import Plot
from scaling_limits.plotting import text

_ALWAYS = {"width": "{}", "depth": "{}", "num_steps": "{} updates"}
"""Settings that are given even if they equal the paper's."""
_IF_OTHER = {
    "batch_size": "batch size {}",
    "num_train": "{} training samples",
    "input_shape": "{} pixels",
    "num_inference_steps": "{} inference steps",
}
_UNSET = {"num_train": "all", "input_shape": "original"}
_WHOSE = {True: "paper", False: 'preset "paper"'}
"""The origin of the values in parentheses, by whether the paper states them."""
_DASH = "\N{EN DASH}"


def scale_line(configuration: Configuration, paper: str, name: str, cells: pd.DataFrame) -> str:
    """Return the scale of a figure in one line.

    Values in parentheses are those of the paper, or of the preset `paper` if the paper does not state them. Only grids
    that the figure shows are considered.

    Args:
        configuration: the configuration.
        paper: the name of the paper.
        name: the name of the figure, which must have an experiment.
        cells: the figure's cells, one row for each grid and cell.
    """
    figure = configuration.figure(paper, name)
    experiment = str(figure.experiment)
    used = configuration.experiment(paper, experiment)
    original = None if paper == OWN else configuration.original(paper, experiment)
    grids = [grid for grid in dict.fromkeys(figure.plot.grids) if grid in used.grids]
    stated = configuration.stated(paper, experiment)
    symbols = configuration.symbols(paper, experiment) | getattr(figure.plot, "symbols", {})
    shown = cells[cells["grid"].isin(grids)]

    whose, parts = "", []
    for key, form in (_ALWAYS | _IF_OTHER).items():
        default = configuration.vocabulary.default(key)
        now = _values(used, grids, key, default)
        then = now if original is None else _values(original, grids, key, default)
        if (key in _IF_OTHER and now == then) or now <= {None}:
            continue
        if key == "num_steps" and now == {0}:
            parts.append("not trained")
            continue
        words = form.format(_words(key, now))
        words = "1 update" if words == "1 updates" else words
        if key in ("width", "depth"):
            words = f"${text.symbol(key, shown, symbols)}$ = {words}"
        # ranges with equal ends may differ in between
        if _words(key, now) != _words(key, then) and not then <= {None}:
            # the origin is written only when it changes
            label = "" if whose == _WHOSE[key in stated] else f"{_WHOSE[key in stated]}: "
            words += f" ({label}{_words(key, then)})"
            whose = _WHOSE[key in stated]
        parts.append(words)
    parts.append(_data(configuration, paper, experiment, shown))
    asked = _WHOSE["seed" in stated]
    label = "" if whose == asked else f"{asked}: "
    parts.append(_seeds(shown, original, grids, label, centre(figure.plot)))
    return f"Scale ({configuration.main.preset}): {', '.join(parts)}."


def centre(plot: Plot) -> str:
    """Return the statistic over seeds that a plot shows, in words."""
    return " or ".join(sorted(plot.centres))


def _values(experiment: Experiment, grids: Iterable[str], key: str, default: object) -> set[object]:
    """Return the values of a setting in the given grids, ignoring grids that the experiment does not have."""
    values: set[object] = set()
    for grid in grids:
        if grid not in experiment.grids:
            continue
        value = experiment.grids[grid].settings.get(key, default)
        if isinstance(value, list | tuple):
            values |= {tuple(value)} if key == "input_shape" else set(value)
        else:
            values.add(value)
    # a grid without inference has no number of inference steps
    return values if key in _UNSET else values - {None}


def _words(key: str, values: set[object]) -> str:
    numbers = sorted(value for value in values if isinstance(value, int | float))
    ends = [f"{value:,}" if value >= 10_000 else f"{value:g}" for value in numbers]
    span = ends[:1] if len(ends) < 2 else [f"{ends[0]}{_DASH}{ends[-1]}"]
    return " or ".join([*span, *sorted({_word(key, value) for value in values - {*numbers}})])


def _word(key: str, value: object) -> str:
    if value is None:
        return _UNSET[key]
    if isinstance(value, tuple):
        return "\N{MULTIPLICATION SIGN}".join(map(str, value[:2]))
    return {"num_hidden_layers": "$H$", "num_weight_layers": "$L$"}.get(str(value), str(value))


def _data(configuration: Configuration, paper: str, experiment: str, shown: pd.DataFrame) -> str:
    """Return the datasets, each followed by the datasets that it replaces."""
    replaced = configuration.substitutions(paper, experiment)

    def title(name: str) -> str:
        return catalogue.info(name, configuration.user_datasets).title

    parts = []
    for used in sorted(shown["dataset"].unique()):
        wanted = [title(name) for name, stand_in in replaced.items() if stand_in == used]
        parts.append(title(used) + (f" (paper: {', '.join(wanted)})" if wanted else ""))
    return ", ".join(parts)


def _seeds(
    shown: pd.DataFrame, original: Experiment | None, grids: Iterable[str], label: str, centre: str
) -> str:
    """Return the statistic over seeds and their number, and in parentheses a label and the original number if other."""
    counts = shown.groupby("grid")["seed"].nunique()
    numbers = _words("seed", {int(count) for count in counts})
    words = "one seed" if numbers == "1" else f"{centre} of {numbers} seeds"
    if original is None:
        return words
    seeds = [original.grids[g].settings.get("seed") for g in grids if g in original.grids]
    wanted = _words("seed", {len(s) if isinstance(s, list | tuple) else 1 for s in seeds})
    return words if numbers == wanted else f"{words} ({label}{wanted})"
