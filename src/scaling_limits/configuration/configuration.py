"""The complete configuration of one run, loaded lazily.

A job reads only its experiment and the files that this extends; of the user's own experiments, it also reads those that
define names.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path

from pydantic.fields import FieldInfo

from scaling_limits.cells import Cell, CellSettings, digest
from scaling_limits.configuration import (
    allowed_keys,
    axes,
    judgeable,
    own_parts,
    parts,
    resolved_figure,
)
from scaling_limits.configuration.files import read_tree, yaml_files
from scaling_limits.configuration.grid_cells import GridCells
from scaling_limits.configuration.library import Library
from scaling_limits.configuration.models import (
    Caps,
    Experiment,
    Figure,
    Main,
    Preset,
)
from scaling_limits.configuration.namespace import in_paper
from scaling_limits.configuration.own_parts import OwnParts
from scaling_limits.configuration.paper import Changes, Composed, Paper
from scaling_limits.configuration.recorded import unrecorded
from scaling_limits.configuration.resolve import Resolved, Resolver
from scaling_limits.configuration.trees import Leaf, Origin, Tree, located, merge, origin_at, plain
from scaling_limits.configuration.validation import raise_together, validate
from scaling_limits.costs.packing import shards
from scaling_limits.datasets import catalogue
from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.figures import OWN
from scaling_limits.figures.names import natural
from scaling_limits.strict import Strict
from scaling_limits.training.settings import SEEDS

# as in the Snakefile: the wildcard of papers, and the targets with which a paper's name must not collide
_SLUG = re.compile(r"[a-z-]+")
_RULES = ("all", "audit", "collect", "dataset", "draw", "figures", "publish", "run")
_COMMAND_LINE = Origin("--config or --configfile")


@dataclass(frozen=True)
class Point:
    """A cell of an experiment, with its grid and the settings from which it was resolved."""

    grid: str
    settings: CellSettings
    cell: Cell


@dataclass(frozen=True, eq=False)
class Configuration:
    """The configuration of one run.

    `root` is the project's folder. `main` and `preset` are validated on loading, papers when they are first used.
    """

    root: Path
    main: Main
    preset: Preset
    user: Tree
    """Changes to papers in `config/config.yaml` and on the command line, by slug."""
    own: OwnParts

    @cached_property
    def papers(self) -> list[str]:
        """The slugs of the papers in alphabetical order, followed by `own` if the user has experiments."""
        folder = self.root / "config" / "papers"
        for file in yaml_files(self.root, "config/papers"):
            raise ConfigurationError(
                None,
                "a paper is a folder, config/papers/<slug>/paper.yaml and its experiments",
                place=f"config/papers/{file.name}",
            )
        slugs = sorted(path.parent.name for path in folder.glob("*/paper.yaml"))
        for slug in slugs:
            if slug in _RULES or not _SLUG.fullmatch(slug):
                raise ConfigurationError(
                    None,
                    f"a slug has lower-case letters and '-' only, and is none of {', '.join(_RULES)}",
                    place=f"config/papers/{slug}",
                )
        if OWN in slugs:
            raise ConfigurationError(
                None,
                f"'{OWN}' are the experiments in config/experiments/",
                place=f"config/papers/{OWN}",
            )
        own = yaml_files(self.root, own_parts.FOLDER)
        return [*slugs, OWN] if own else slugs

    @cached_property
    def user_datasets(self) -> dict[str, Path]:
        """The files of user-defined datasets by name, including archives below `data.path`."""
        return {**catalogue.archives(self.data_path), **self.own.datasets}

    @cached_property
    def _resolver(self) -> Resolver:
        own = self.own
        return Resolver(self.main.resources, self.user_datasets, own.rows, own.algorithms)

    @cached_property
    def fields(self) -> dict[str, FieldInfo]:
        """The fields of all settings by name, with those that user-defined algorithms declare."""
        registry = self.own.algorithms
        known = dict(parts.fields())
        for name in registry.files:
            known |= getattr(registry.part(name), "Settings", Strict).model_fields
        return known

    @cached_property
    def _settings(self) -> frozenset[str]:
        """The names of all settings."""
        return frozenset(self.fields)

    @cached_property
    def data_path(self) -> Path | None:
        """The folder with local copies of datasets, if any."""
        path = self.main.data.path
        return None if path is None else self.root / Path(path)

    def experiments(self, slug: str) -> list[str]:
        """Return the names of a paper's experiments."""
        return self.paper(slug).library.experiments

    def figures(self, slug: str) -> list[str]:
        """Return the names of a paper's figures."""
        return list(self.paper(slug).figures)

    @cached_property
    def faults(self) -> dict[str, str]:
        """The errors in the user's own experiments, by experiment; they stop only the experiments concerned."""
        faults = {}
        for name in self.experiments(OWN) if OWN in self.papers else ():
            error = own_parts.problem(name, partial(self._check_own, name))
            if error is not None:
                faults[name] = error
        return faults

    def _check_own(self, name: str) -> None:
        """Check an experiment of the user, and raise a ConfigurationError with all its problems."""
        figures = self.paper(OWN).library.figures(name)
        checks: list[Callable[[], object]] = [partial(self.points, OWN, name)]
        checks += [partial(self.figure, OWN, figure) for figure in figures]
        raise_together(checks)

    def sound_figures(self, slug: str) -> list[str]:
        """Return the names of a paper's figures, without those of experiments that have `faults`."""
        if slug != OWN:
            return self.figures(slug)
        library = self.paper(OWN).library
        names = {
            figure
            for name in library.experiments
            if name not in self.faults
            for figure in library.figures(name)
        }
        return sorted(names, key=natural)

    @cache
    def paper(self, slug: str) -> Paper:
        """Return a paper's files with the changes of the preset and the user.

        Caps do not shrink the user's own experiments.

        Raises:
            ConfigurationError: the paper does not exist, or a change refers to something that it does not have.
        """
        user = _changes(self.user.tree(slug), self._settings, f"papers.{slug}.")
        caps = Caps() if slug == OWN else self.preset.caps
        return Paper(self._library(slug), Changes(self.main.preset, caps, user))

    @cache
    def original(self, slug: str, name: str) -> Experiment:
        """Return an experiment at the paper's scale, as written in its file."""
        return _experiment(self.paper(slug).written.experiment(name), self._settings)

    @cache
    def experiment(self, slug: str, name: str) -> Experiment:
        """Return an experiment as configured; an unknown name raises ConfigurationError with the nearest name."""
        experiment = _experiment(self.paper(slug).experiment(name), self._settings)
        return experiment if slug == OWN else _reseeded(experiment, self.preset.seeds.first)

    @cache
    def figure(self, slug: str, name: str) -> Figure:
        """Return a figure as configured; an unknown name raises ConfigurationError with the nearest name."""
        paper = self.paper(slug)
        _, experiment = paper.figure(name)
        other_metrics = bool(self.own.algorithms.files)
        resolved, _ = raise_together(
            [
                lambda: resolved_figure.figure(paper, name, other_metrics=other_metrics),
                lambda: self.points(slug, experiment),
            ]
        )
        assert isinstance(resolved, Figure)
        grids = self._grid_cells(slug, resolved.experiment)
        resolved_figure.refuse_all(
            paper, name, [*unrecorded(resolved, grids), *judgeable.problems(resolved, grids)]
        )
        return resolved

    @cache
    def _grid_cells(self, slug: str, experiment: str | None) -> dict[str, GridCells]:
        """Return the cells of an experiment's grids, with the grids as written in its file."""
        if experiment is None:
            return {}
        points: dict[str, list[tuple[CellSettings, Cell]]] = {}
        for point in self.points(slug, experiment):
            points.setdefault(point.grid, []).append((point.settings, point.cell))
        written = self.paper(slug).written.experiment(experiment).nodes
        spec = self.experiment(slug, experiment)
        return {
            name: GridCells(
                cells,
                spec.grids[name].settings,
                {key: plan.steps for key, plan in spec.grids[name].measurements.items()},
                written.get(name),
            )
            for name, cells in points.items()
        }

    def warnings(self, slug: str, name: str) -> list[str]:
        """Return the warnings about a valid figure, one line each."""
        figure, paper = self.figure(slug, name), self.paper(slug)
        grids = self._grid_cells(slug, figure.experiment)
        tree, experiment = paper.figure(name)
        lines = [
            str(resolved_figure.located(tree, name, warning))
            for warning in judgeable.warnings(figure, grids)
        ]
        for grid in sorted(figure.grids):
            node = paper.experiment(str(experiment)).grids[grid]
            for key, problem in grids[grid].warnings:
                origin = origin_at(merge(node.measurements, node.settings), (key,))
                lines.append(f"{origin}: experiments.{experiment}.grids.{grid}.{key}: {problem}")
        return list(dict.fromkeys(lines))

    @cache
    def points(self, slug: str, experiment: str | None) -> tuple[Point, ...]:
        """Return the cells of an experiment, grid by grid in the order of its axes; none without an experiment."""
        if experiment is None:
            return ()
        grids = self.experiment(slug, experiment).grids
        checks: list[Callable[[], list[Point] | None]] = [
            partial(self._grid_points, slug, experiment, grid) for grid in grids
        ]
        if slug == OWN:
            checks.append(
                partial(resolved_figure.refuse_unused_grids, self.paper(slug), experiment)
            )
        return tuple(point for points in raise_together(checks) for point in points or ())

    @cache
    def cells(self, slug: str, experiment: str | None) -> list[Cell]:
        """Return the distinct cells of an experiment; without an experiment there are none."""
        return list(
            {
                digest(point.cell.canonical()): point.cell
                for point in self.points(slug, experiment)
            }.values()
        )

    @cache
    def shards(self, slug: str, experiment: str | None) -> list[list[Cell]]:
        """Return the distinct cells of an experiment in groups that share one compiled program."""
        return shards(self.cells(slug, experiment))

    def stated(self, slug: str, figure: str) -> dict[str, dict[str, str]]:
        """Return the settings whose values the paper states for a figure, by grid, with the place in the paper.

        All other values were chosen. `stated` of a figure overrides that of its grids, which overrides that of the
        paper. For figures that are not in the paper, the paper states nothing.

        Raises:
            ConfigurationError: a name is not a setting; the message suggests the nearest one.
        """
        paper = self.paper(slug)
        written, experiment = paper.figure(figure)
        if experiment is None:
            return {}
        of_paper = paper.shared(experiment).tree("stated")
        stated: dict[str, dict[str, str]] = {}
        for grid, node in paper.experiment(experiment).grids.items():
            tree = merge(merge(of_paper, node.stated), written.tree("stated"))
            allowed_keys.refuse_unknown(tree, "setting", self._settings, "stated.")
            places = plain(tree) if in_paper(figure) else {}
            stated[grid] = {key: str(place) for key, place in places.items()}
        return stated

    def paper_dataset(self, slug: str, experiment: str, grid: str) -> str | None:
        """Return the paper's dataset of a grid for which the files give another one, or None."""
        return self.paper(slug).experiment(experiment).grids[grid].paper_dataset

    def symbols(self, slug: str, experiment: str | None) -> dict[str, str]:
        """Return the paper's symbols of columns of the cells."""
        written = self.paper(slug).shared(experiment).tree("symbols")
        return {key: str(value) for key, value in plain(written).items()}

    def substitutions(self, slug: str, experiment: str | None) -> dict[str, str]:
        """Return the paper's datasets that are replaced here, with their substitutes."""
        if experiment is None:
            return {}
        spec = self.experiment(slug, experiment)
        wanted = {
            str(settings["dataset"]) for _, settings in _product(spec) if "dataset" in settings
        }
        return {
            name: self._substitute(slug, name)
            for name in sorted(wanted)
            if self._substitute(slug, name) != name
        }

    @cache
    def _substitute(self, slug: str, name: str) -> str:
        """Return the dataset that is used for a dataset.

        Raises:
            ConfigurationError: the archive of a dataset in a user's experiment is missing.
        """
        # cached: every cell needs the answer, which reads folders
        if slug != OWN:
            name = self.preset.substitutions.get(name, name)
        stand_in = catalogue.info(name, self.user_datasets).stand_in
        if stand_in is None or catalogue.available_locally(name, self.data_path):
            return name
        if catalogue.published(name):
            here = catalogue.available_locally(stand_in, self.data_path)
            return stand_in if here else name
        if slug == OWN:
            raise ConfigurationError(
                "dataset",
                f"'{name}': there is no {name}.npz below data.path ({self.main.data.path}); it has to hold "
                "x_train and x_test [n, H, W, C], y_train and y_test [n], labels from 0",
            )
        return self._substitute(slug, stand_in)

    def _grid_points(self, slug: str, experiment: str, grid: str) -> list[Point]:
        """Return the cells of a grid."""
        composed = self.paper(slug).experiment(experiment)
        spec = self.experiment(slug, experiment)
        known: dict[str, Resolved] = {}
        return [
            self._point(grid, values, spec, slug, experiment, composed, known)
            for values in axes.points(spec.grids[grid].settings)
        ]

    def _point(
        self,
        grid: str,
        values: dict[str, object],
        spec: Experiment,
        slug: str,
        experiment: str,
        composed: Composed,
        known: dict[str, Resolved],
    ) -> Point:
        """Return a cell of a grid.

        Args:
            grid: the name of the grid.
            values: the settings of the cell.
            spec: the experiment.
            slug: the paper.
            experiment: the name of the experiment.
            composed: the experiment as composed from its files, for the origin of errors.
            known: resolved cells by their settings without the seed; new ones are added.

        Raises:
            ConfigurationError: a setting is invalid.
        """

        def refuse(error: ConfigurationError) -> ConfigurationError:
            tree = merge(composed.grids[grid].measurements, composed.grids[grid].settings)
            path = (error.key or "").removeprefix("measurements.").split(".")
            origin = origin_at(tree, path) if path[0] in tree else tree.origin.file
            return ConfigurationError(f"experiments.{experiment}.grids.{grid}", error, place=origin)

        try:
            dataset = values.get("dataset")
            if isinstance(dataset, str):
                values = {**values, "dataset": self._substitute(slug, dataset)}
            # most cells differ from another one only in the seed
            seed = values.get("seed")
            twins = json.dumps([grid, {**values, "seed": None}], default=str)
            if twins in known and type(seed) is int and seed in SEEDS:
                return Point(grid, *known[twins].reseeded(seed))
            known[twins] = self._resolver.resolve(values, spec.grids[grid].measurements)
        except ConfigurationError as error:
            raise refuse(error) from None
        return Point(grid, *known[twins])

    @cache
    def _library(self, slug: str) -> Library:
        if slug not in self.papers:
            raise ConfigurationError(None, unknown("paper", slug, self.papers))
        faults = self.own.faults if slug == OWN else {}
        return Library(self.root, slug, _presets(self.root), self._settings, faults)


def load(root: Path | str, overrides: Mapping[str, object] | None = None) -> Configuration:
    """Read and validate `config/config.yaml` and the preset.

    Args:
        root: the project's folder.
        overrides: Snakemake's `config`, or any nested mapping that overrides `config/config.yaml`.

    Raises:
        ConfigurationError: a value is invalid; the message names the file, the key and the nearest valid spelling.
    """
    root = Path(root)
    if not (root / "config" / "config.yaml").exists():
        raise ConfigurationError(
            None,
            "is not there; run this in the project's folder, or name that with --directory",
            place="config/config.yaml",
        )
    tree = read_tree(root / "config" / "config.yaml", "config/config.yaml")
    command_line = located(overrides or {}, _COMMAND_LINE)
    tree = merge(tree, allowed_keys.mapping(command_line, "--config"))
    main = validate(Main, tree.only(tree.keys() - {"papers"}))
    _refuse_data_path(root, main, tree)
    own = OwnParts(root, own_parts.parts(root, tree, main))
    presets = _presets(root)
    if main.preset not in presets:
        problem = unknown("preset", main.preset, presets)
        raise ConfigurationError(None, problem, place=origin_at(tree, ("preset",)))
    file = f"config/presets/{main.preset}.yaml"
    written = read_tree(root / file, file)
    allowed_keys.refuse_unknown(written, "key", Preset.model_fields)
    user = allowed_keys.mapping(tree.get("papers", Leaf(None, tree.origin)), "papers")
    configuration = Configuration(root, main, validate(Preset, written), user, own)
    for slug, entry in user.items():
        if slug not in configuration.papers:
            problem = unknown("paper", slug, configuration.papers)
            raise ConfigurationError("papers", problem, place=entry.origin)
    return configuration


def _refuse_data_path(root: Path, main: Main, tree: Tree) -> None:
    path = main.data.path
    if path is not None and not (root / path).is_dir():
        problem = "is a file, not a folder" if (root / path).exists() else "is not there"
        raise ConfigurationError(
            "data.path", f"{path} {problem}", place=origin_at(tree, ("data", "path"))
        )


def _presets(root: Path) -> list[str]:
    return [path.stem for path in yaml_files(root, "config/presets")]


def _changes(changes: Tree, settings: frozenset[str], path: str) -> Tree:
    """Return the user's changes to a paper, with their keys checked."""
    allowed_keys.refuse_unknown(changes, "word", allowed_keys.CHANGED_PAPER, path)
    allowed_keys.refuse_misfits(changes.only(allowed_keys.SHARED), path)
    checked = Tree(changes.origin, changes)
    kinds = {
        "bases": allowed_keys.CHANGED_BASE,
        "experiments": allowed_keys.CHANGED_EXPERIMENT - {"figures"},
    }
    for part, keys in kinds.items():
        checked[part] = allowed_keys.named(changes, part, path)
        for name, entry in checked.tree(part).items():
            inner = allowed_keys.mapping(entry, name)
            where = f"{path}{part}.{name}."
            checked.tree(part)[name] = allowed_keys.checked_section(inner, keys, settings, where)
    checked["figures"] = allowed_keys.figures(changes, path=path)
    return checked


def _experiment(composed: Composed, settings: frozenset[str]) -> Experiment:
    """Return the typed model of an experiment."""
    entries = composed.entries
    content = {
        **plain(entries.only(("description",))),
        "grids": {
            name: {
                "title": node.title(),
                "settings": plain(node.settings),
                "measurements": _plans(node.measurements),
            }
            for name, node in composed.grids.items()
        },
    }
    if not composed.grids and entries.only(settings):
        raise ConfigurationError("grids", "an experiment needs one at least", place=entries.origin)
    for name, node in composed.grids.items():
        _refuse_invalid_axes(name, node.settings)
    return validate(Experiment, entries, content)


def _reseeded(experiment: Experiment, first: int) -> Experiment:
    """Return an experiment with `first` added to the seeds of all grids.

    Seeds that are not numbers are unchanged; resolving the cells rejects them.
    """
    if not first:
        return experiment

    def added(seed: object) -> object:
        if isinstance(seed, list):
            return [added(item) for item in seed]
        return seed + first if type(seed) is int else seed

    grids = {
        name: grid.model_copy(
            update={
                "settings": {
                    key: added(value) if key == "seed" else value
                    for key, value in grid.settings.items()
                }
            }
        )
        for name, grid in experiment.grids.items()
    }
    return experiment.model_copy(update={"grids": grids})


def _plans(measurements: Tree) -> dict[str, object]:
    """Return the steps of each measurement."""
    return {
        name: {"steps": steps if isinstance(steps, list) else [steps]}
        for name, steps in plain(measurements).items()
    }


def _refuse_invalid_axes(grid: str, settings: Tree) -> None:
    """Reject axes without values or with repeated values."""
    for key, values in plain(settings).items():
        problem = axes.problem(key, values)
        if problem is not None:
            origin = origin_at(settings, (key,))
            raise ConfigurationError(f"grids.{grid}.{key}", problem, place=origin)


def _product(spec: Experiment) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield all pairs of a grid's name and the settings of a cell in an experiment."""
    for name, grid in spec.grids.items():
        yield from ((name, values) for values in axes.points(grid.settings))
