"""The line below a figure with its scale: sizes, updates, data and seeds, with the paper's values if they differ."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from scaling_limits.configuration import Configuration
from scaling_limits.configuration.models import Experiment
from scaling_limits.datasets import catalogue
from scaling_limits.figures import OWN
from scaling_limits.pipeline.placeholders import filled
from scaling_limits.plots.options import Plot
from scaling_limits.plotting import text

_ALWAYS = {"width": "{}", "depth": "{}", "num_steps": "{} updates", "num_epochs": "{} epochs"}
"""Settings that are given even if they equal the paper's."""
_IF_OTHER = {
    "batch_size": "batch size {}",
    "num_train": "{} training samples",
    "input_shape": "{} pixels",
    "channels": "{} channels per unit of width",
    "augmentation": "{}",
    "num_inference_steps": "{} inference steps",
    "preconditioner_interval": "preconditioners recomputed every {} updates",
}
_SEPARATING = (
    *_ALWAYS,
    "batch_size",
    "num_train",
    "input_shape",
    "dataset",
)
"""Columns of the cells in whose values the parts of a figure may differ."""
_MOST_ROWS = 4
"""Most parts of a figure whose values are given separately."""
_UNSET = {"num_train": "all", "input_shape": "original", "augmentation": "no augmentation"}
_TUPLES = ("input_shape", "augmentation")
"""Settings whose value is a list."""
_DASH = "\N{EN DASH}"


@dataclass(frozen=True)
class _Part:
    """A setting as text, with the paper's if it differs."""

    value: str
    original: str = ""

    @property
    def as_name(self) -> str | None:
        """The setting as a row's name states it; None if the paper's differs."""
        return None if self.original else self.value.replace("$", "")


def scale_line(configuration: Configuration, paper: str, name: str, cells: pd.DataFrame) -> str:
    """Return the scale of a figure in one line.

    Values in parentheses are those that the paper states. Only grids that the figure shows are considered. Values that
    differ between parts of the figure, such as rows of networks, are given for each part.

    Args:
        configuration: the configuration.
        paper: the name of the paper.
        name: the name of the figure, which must have an experiment.
        cells: the figure's cells, one row for each grid and cell.
    """
    figure = configuration.figure(paper, name)
    scale = _Scale(configuration, paper, name, str(figure.experiment), figure.plot)
    shown = cells[cells["grid"].isin(scale.grids)]
    common, rows = scale.rows(shown)
    writer = _Writer()
    texts = [writer.of(common)]
    texts.append("; ".join(f"{label}: {writer.of(parts)}" for label, parts in rows.items()))
    return f"Scale ({configuration.main.preset}): {'. '.join(filter(None, texts))}."


class _Writer:
    """Parts as text: "paper: " precedes the first value in parentheses, and each that is not a number."""

    def __init__(self) -> None:
        self._label = "paper: "

    def of(self, parts: Iterable[_Part]) -> str:
        """Return the parts, separated by commas."""
        return ", ".join(map(self._part_text, parts))

    def _part_text(self, part: _Part) -> str:
        if not part.original:
            return part.value
        label = self._label if part.original[0].isdigit() else "paper: "
        self._label = ""
        return f"{part.value} ({label}{part.original})"


class _Scale:
    """The settings of an experiment's grids that a plot shows, here and in the original."""

    def __init__(
        self, configuration: Configuration, paper: str, figure: str, experiment: str, plot: Plot
    ) -> None:
        """Read the experiment, and its original unless it is a user's."""
        self._configuration, self._paper, self._experiment = configuration, paper, experiment
        self._plot = plot
        self._used = configuration.experiment(paper, experiment)
        is_user = paper == OWN
        self._original = None if is_user else configuration.original(paper, experiment)
        self._stated = configuration.stated(paper, figure)
        self.grids = [grid for grid in dict.fromkeys(plot.grids) if grid in self._used.grids]

    def rows(self, shown: pd.DataFrame) -> tuple[list[_Part], dict[str, list[_Part]]]:
        """Return the parts that hold for the whole figure, and the others by the names of the rows for which they hold.

        Rows are not separated if there are too many, or if they differ only as their names say or in their seeds.
        """
        rows = {label: self._parts(grids, shown) for label, grids in self._groups(shown).items()}
        first, *further = rows.values()
        common = [part for part in first if all(part in parts for parts in further)]
        alike: dict[tuple[_Part, ...], list[str]] = {}
        for label, parts in rows.items():
            specific = tuple(part for part in parts if part not in common)
            alike.setdefault(specific, []).append(label)
        alike.pop((), None)
        differ = any(part not in common for parts in rows.values() for part in parts[:-1])
        unnamed = {parts: _without_names(parts, labels) for parts, labels in alike.items()}
        if not differ or not any(unnamed.values()) or len(alike) > _MOST_ROWS:
            return self._parts(self.grids, shown), {}
        return common, {
            " and ".join(labels): unnamed[parts] or list(parts) for parts, labels in alike.items()
        }

    def _groups(self, shown: pd.DataFrame) -> dict[str, list[str]]:
        """Return the grids by the part of their titles that separates those of different scale best.

        If no part separates any, all grids are in one group without a name.
        """
        cells = {grid: shown[shown["grid"] == grid] for grid in self.grids}
        names = {
            name: catalogue.info(name, self._configuration.user_datasets).title
            for name in shown["dataset"].unique()
        }
        titles = {
            grid: filled(self._used.grids[grid].title or "", cells[grid], names).split(", ")
            for grid in self.grids
        }
        keys = [key for key in _SEPARATING if key in shown]
        scales = {
            grid: [tuple(sorted(set(own[key].map(str)))) for key in keys]
            for grid, own in cells.items()
        }

        def unlike(groups: Mapping[str, Sequence[str]]) -> int:
            columns = [zip(*(scales[grid] for grid in own), strict=True) for own in groups.values()]
            return sum(len(set(column)) - 1 for own in columns for column in own)

        best = {"": self.grids}
        for level in range(min(map(len, titles.values()))):
            groups: dict[str, list[str]] = {}
            for grid, title in titles.items():
                groups.setdefault(title[level], []).append(grid)
            if "" not in groups and unlike(groups) < unlike(best):
                best = groups
        return best

    def _parts(self, grids: Sequence[str], shown: pd.DataFrame) -> list[_Part]:
        """Return the settings of some grids as text: sizes, updates, other settings that differ, data, seeds."""
        cells = shown[shown["grid"].isin(grids)]
        parts = [self._setting(key, grids, cells) for key in _ALWAYS | _IF_OTHER]
        return [*filter(None, parts), _Part(self._data(grids, cells)), self._seeds(grids, cells)]

    def _setting(self, key: str, grids: Sequence[str], cells: pd.DataFrame) -> _Part | None:
        default = self._configuration.fields[key].default
        now = _values(self._used, grids, key, default)
        then = now if self._original is None else _values(self._original, grids, key, default)
        if (key in _IF_OTHER and now == then) or now <= {None}:
            return None
        if key == "num_steps" and now == {0}:
            feedback = _values(self._used, grids, "num_feedback_steps", 0) - {0, None}
            if not feedback:
                return _Part("not trained")
            number = _values_text("num_feedback_steps", feedback)
            return _Part(f"{number} updates of the feedback weights alone")
        if key == "num_steps" and now == {1} and self._shows_only_the_first_records(grids):
            return _Part("not trained")
        phrase = (_ALWAYS | _IF_OTHER)[key].format(_values_text(key, now))
        if phrase in ("1 updates", "1 epochs"):
            phrase = phrase.removesuffix("s")
        if key in ("width", "depth"):
            phrase = f"${text.symbol(key, cells, self._symbols())}$ = {phrase}"
        original = _values_text(key, then)
        # ranges with equal ends may differ in between
        if _values_text(key, now) == original or (then <= {None} and key != "num_train"):
            return _Part(phrase)
        return _Part(phrase, original if self._is_stated(key, grids, default) else "")

    def _shows_only_the_first_records(self, grids: Sequence[str]) -> bool:
        """Return whether all quantities of some grids are the first records, which an update takes before it acts."""
        shown = [quantity for grid, quantity in self._plot.shown_quantities() if grid in grids]
        return bool(shown) and all(quantity.reduce == "first" for quantity in shown)

    def _symbols(self) -> dict[str, str]:
        """Return the symbols of the paper and of the plot, or of all parts of a composite one."""
        symbols = self._configuration.symbols(self._paper, self._experiment)
        for plot in getattr(self._plot, "plots", (self._plot,)):
            symbols |= getattr(plot, "symbols", {})
        return symbols

    def _is_stated(self, key: str, grids: Sequence[str], default: object = None) -> bool:
        """Return whether the paper states a setting for all of the given grids that have a value of it."""
        assert self._original is not None
        having = [grid for grid in grids if _values(self._original, [grid], key, default)]
        return all(key in self._stated[grid] for grid in having)

    def _data(self, grids: Sequence[str], cells: pd.DataFrame) -> str:
        """Return the datasets, each followed by the paper's datasets that it replaces."""
        replaced = self._configuration.substitutions(self._paper, self._experiment)

        def title(name: str) -> str:
            return catalogue.info(name, self._configuration.user_datasets).title

        wanted: dict[str, set[str]] = {}
        for grid in grids:
            for name in _values(self._used, [grid], "dataset", None):
                paper_dataset = self._configuration.paper_dataset(
                    self._paper, self._experiment, grid
                )
                used = replaced.get(str(name), str(name))
                if paper_dataset or "dataset" in self._stated.get(grid, {}):
                    wanted.setdefault(used, set()).add(paper_dataset or str(name))
        parts = []
        for used in sorted(cells["dataset"].unique()):
            replaced_titles = [title(name) for name in sorted(wanted.get(used, set()) - {used})]
            remark = f"paper: {', '.join(replaced_titles)}" if replaced_titles else ""
            known = title(used)
            # a title may end with a remark in parentheses
            joined = f"{known[:-1]}; {remark})" if known.endswith(")") else f"{known} ({remark})"
            parts.append(joined if replaced_titles else known)
        return ", ".join(parts)

    def _seeds(self, grids: Sequence[str], cells: pd.DataFrame) -> _Part:
        """Return the statistic over seeds and their number, and the original number if it differs."""
        counts = cells.groupby("grid")["seed"].nunique()
        numbers = _values_text("seed", {int(count) for count in counts})
        phrase = "one seed" if numbers == "1" else f"{centre(self._plot)} of {numbers} seeds"
        if self._original is None:
            return _Part(phrase)
        original = self._original.grids
        seeds = [original[grid].settings.get("seed") for grid in grids if grid in original]
        wanted = _values_text("seed", {len(s) if isinstance(s, list | tuple) else 1 for s in seeds})
        is_other = numbers != wanted and self._is_stated("seed", grids)
        return _Part(phrase, wanted if is_other else "")


def _without_names(parts: Iterable[_Part], labels: Iterable[str]) -> list[_Part]:
    """Return the parts that the names of their rows do not state."""
    names = {label.replace("$", "") for label in labels}
    return [part for part in parts if part.as_name not in names]


def centre(plot: Plot) -> str:
    """Return what a plot shows of several seeds as text, such as `mean`."""
    return " or ".join(sorted(plot.centres))


def _values(experiment: Experiment, grids: Iterable[str], key: str, default: object) -> set[object]:
    """Return the values of a setting in the given grids, ignoring grids that the experiment does not have."""
    values: set[object] = set()
    for grid in grids:
        if grid not in experiment.grids:
            continue
        # the width of a limit has no effect
        if key == "width" and experiment.grids[grid].settings.get("limit") is not None:
            continue
        value = experiment.grids[grid].settings.get(key, default)
        if isinstance(value, list | tuple):
            values |= {tuple(value)} if key in _TUPLES else set(value)
        else:
            values.add(value)
    # a grid without inference has no number of inference steps
    return values if key in _UNSET else values - {None}


def _values_text(key: str, values: set[object]) -> str:
    numbers = sorted(value for value in values if isinstance(value, int | float))
    if key == "preconditioner_interval":
        # the networks between two intervals have one of them
        return " or ".join(map(str, numbers))
    ends = [f"{value:,}" if value >= 10_000 else f"{value:g}" for value in numbers]
    span = ends[:1] if len(ends) < 2 else [f"{ends[0]}{_DASH}{ends[-1]}"]
    return " or ".join([*span, *sorted({_value_text(key, value) for value in values - {*numbers}})])


def _value_text(key: str, value: object) -> str:
    if value is None or value == ():
        return _UNSET[key]
    if isinstance(value, tuple):
        if key == "input_shape":
            return "\N{MULTIPLICATION SIGN}".join(map(str, value[:2]))
        return ", ".join(map(str, value))
    return {"num_hidden_layers": "$H$", "num_weight_layers": "$L$"}.get(str(value), str(value))
