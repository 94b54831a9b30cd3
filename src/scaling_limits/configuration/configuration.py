"""The whole configuration of one run, loaded lazily: a single figure reads its own paper only."""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from scaling_limits.cells import Cell, digest
from scaling_limits.configuration.files import Layers, read_yaml
from scaling_limits.configuration.models import (
    Experiment,
    Figure,
    Main,
    Own,
    Paper,
    Preset,
)
from scaling_limits.configuration.presets import shrink
from scaling_limits.configuration.resolve import Resolver
from scaling_limits.datasets import catalogue
from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.figures import OWN


@dataclass(frozen=True)
class Point:
    """A cell of an experiment, with the grid it belongs to and the settings it came from."""

    grid: str
    settings: Any
    cell: Cell


@dataclass(frozen=True, eq=False)
class Configuration:
    """`root` is the project's folder; `main` and `preset` are validated, papers are when first asked for."""

    root: Path
    main: Main
    preset: Preset

    @cached_property
    def papers(self) -> list[str]:
        """The slugs of the papers in alphabetical order, and `own` if there are experiments of the user's own."""
        slugs = sorted(path.stem for path in (self.root / "config" / "papers").glob("*.yaml"))
        if OWN in slugs:
            raise ConfigurationError(
                f"config/papers/{OWN}.yaml: '{OWN}' are the experiments in config/experiments/"
            )
        return [*slugs, OWN] if self._own_files else slugs

    @cached_property
    def _own_files(self) -> list[Path]:
        return sorted((self.root / "config" / "experiments").glob("*.yaml"))

    @cached_property
    def user_datasets(self) -> dict[str, Path]:
        """Files of the user's own datasets by name."""
        return {name: self._path(path) for name, path in self.main.data.datasets.items()}

    @cached_property
    def user_algorithms(self) -> dict[str, Path]:
        """Files of the user's own algorithms by name."""
        return {name: self._path(path) for name, path in self.main.algorithms.items()}

    @cached_property
    def _resolver(self) -> Resolver:
        return Resolver(
            self.main.resources,
            self.user_datasets,
            self.user_algorithms,
            self.main.parameterisations,
        )

    @cached_property
    def data_path(self) -> Path | None:
        """The folder with local copies of datasets, if any."""
        return None if self.main.data.path is None else self._path(self.main.data.path)

    @cache
    def paper(self, slug: str) -> Paper:
        """A paper as configured: its file, shrunk and changed by the preset, changed by the user.

        Presets do not shrink experiments of the user's own.

        Raises:
            ConfigurationError: no such paper, or its configuration is not valid.
        """
        layers = self._layers(slug)
        paper = layers.validate(Paper)
        for name, figure in paper.figures.items():
            named = []
            if figure.experiment is not None:
                named.append(
                    ("experiment", "experiment", figure.experiment, list(paper.experiments))
                )
            if figure.experiment is None or figure.experiment in paper.experiments:
                experiment = paper.experiments.get(figure.experiment or "")
                grids = list(experiment.grids) if experiment else []
                named += [("plot", "grid", grid, grids) for grid in figure.plot.grids]
                named += [("claims", "grid", grid, grids) for grid in figure.judged_grids]
            for key, kind, word, valid in named:
                if word not in valid:
                    where = layers.origins(("figures", name, key))
                    raise ConfigurationError(
                        f"{where}: figures.{name}.{key}: {unknown(kind, word, valid)}"
                    )
        return paper

    @cache
    def original(self, slug: str) -> Paper:
        """A paper at its own scale, as its file says."""
        return self._layers(slug, changed=False).validate(Paper)

    @cache
    def figure(self, slug: str, name: str) -> Figure:
        """A figure as configured; raises ConfigurationError with the nearest name when there is none."""
        figures = self.paper(slug).figures
        if name not in figures:
            raise ConfigurationError(
                f"{self._file(slug)}: figures: {unknown('figure', name, figures)}"
            )
        return figures[name]

    @cache
    def points(self, slug: str, experiment: str | None) -> tuple[Point, ...]:
        """The cells of an experiment, grid by grid in the order of its axes; none without one."""
        if experiment is None:
            return ()
        spec = self._experiment(self.paper(slug), slug, experiment)
        return tuple(
            self._point(grid, values, spec, slug, experiment) for grid, values in _product(spec)
        )

    def cells(self, slug: str, experiment: str | None) -> list[Cell]:
        """The distinct cells of an experiment; none without one."""
        return list(
            {
                digest(point.cell.canonical()): point.cell
                for point in self.points(slug, experiment)
            }.values()
        )

    def substitutions(self, slug: str, experiment: str | None) -> dict[str, str]:
        """Datasets of the paper that other ones stand in for here, with their stand-ins."""
        if experiment is None:
            return {}
        spec = self._experiment(self.paper(slug), slug, experiment)
        wanted = {
            str(settings["dataset"]) for _, settings in _product(spec) if "dataset" in settings
        }
        return {
            name: self._substitute(slug, name)
            for name in sorted(wanted)
            if self._substitute(slug, name) != name
        }

    def _substitute(self, slug: str, name: str) -> str:
        if slug != OWN:
            name = self.preset.substitutions.get(name, name)
        stand_in = catalogue.info(name, self.user_datasets).stand_in
        if (
            stand_in is not None
            and not catalogue.available_locally(name, self.data_path)
            and catalogue.available_locally(stand_in, self.data_path)
        ):
            return stand_in
        return name

    def _point(
        self, grid: str, values: dict[str, Any], spec: Experiment, slug: str, experiment: str
    ) -> Point:
        def refuse(keys: Iterable[str], problem: object) -> ConfigurationError:
            origins = ", ".join(
                dict.fromkeys(self._origin(slug, experiment, grid, key) for key in keys)
            )
            return ConfigurationError(
                f"{origins}: experiments.{experiment}.grids.{grid}: {problem}"
            )

        try:
            dataset = values.get("dataset")
            if isinstance(dataset, str):
                values = {**values, "dataset": self._substitute(slug, dataset)}
            settings, cell = self._resolver.resolve(values, spec.measurements)
        except ConfigurationError as error:
            key = str(error).split(":")[0].split(".")[0]
            known = [key] if key in values else [*values, *spec.measurements]
            raise refuse(known, error) from None
        return Point(grid, settings, cell)

    def _origin(self, slug: str, experiment: str, grid: str, key: str) -> str:
        """The layer that the value of a setting, or a measurement, comes from."""
        base, layers = ("experiments", experiment), self._layers(slug)
        inner = (*base, "grids", grid)
        parts = ("axes", "settings", "measurements")
        places = [(*place, part, key) for place in (inner, base) for part in parts]
        return next(
            (layers.origin(place) for place in places if layers.knows(place)), self._file(slug)
        )

    def _experiment(self, paper: Paper, slug: str, name: str) -> Experiment:
        if name not in paper.experiments:
            raise ConfigurationError(
                f"{self._file(slug)}: {unknown('experiment', name, paper.experiments)}"
            )
        return paper.experiments[name]

    def _file(self, slug: str) -> str:
        return "config/experiments" if slug == OWN else f"config/papers/{slug}.yaml"

    @cache
    def _layers(self, slug: str, *, changed: bool = True) -> Layers:
        """A paper's file and, if `changed`, what the preset and the user make of it."""
        if slug not in self.papers:
            raise ConfigurationError(unknown("paper", slug, self.papers))
        layers = self._own() if slug == OWN else self._written(slug)
        if changed:
            layers.validate(Paper)
            preset = f"config/presets/{self.main.preset}.yaml"
            if slug != OWN:
                layers.add(shrink(layers.merged, self.preset.caps), f"{preset} (caps)")
            for changes, origin in (
                (self.preset.papers.get(slug, {}), preset),
                (self.main.papers.get(slug, {}), "--config or config/config.yaml"),
            ):
                _refuse_new(changes, layers.merged, f"{origin}: papers.{slug}")
                layers.add(changes, f"{origin}: papers.{slug}")
        return layers

    def _written(self, slug: str) -> Layers:
        return Layers().add(read_yaml(self.root / self._file(slug)), self._file(slug))

    def _own(self) -> Layers:
        """The experiments of the user's own in the form of a paper."""
        layers = Layers()
        for path in self._own_files:
            origin = f"{self._file(OWN)}/{path.name}"
            content = Layers().add(read_yaml(path), origin)
            content.validate(Own)
            figure = dict(content.merged)
            experiment = figure.pop("experiment", None)
            part: dict[str, Any] = {"figures": {path.stem: figure}, "experiments": {}}
            if experiment is not None:
                part["experiments"][path.stem] = experiment
                figure["experiment"] = path.stem
            layers.add(part, origin)
        return layers.add(
            {"title": "Own experiments", "authors": "", "reference": ""}, self._file(OWN)
        )

    def _path(self, path: Any) -> Path:
        return self.root / Path(path)


def _refuse_new(changes: Any, paper: Mapping[str, Any], origin: str) -> None:
    """Changes are to what a paper has: a name that it does not have is a slip of the pen.

    Raises:
        ConfigurationError: an experiment or a figure that the paper's file does not have.
    """
    for key, kind in (("experiments", "experiment"), ("figures", "figure")):
        named = changes.get(key) if isinstance(changes, Mapping) else None
        for name in named if isinstance(named, Mapping) else ():
            if name not in paper[key]:
                raise ConfigurationError(f"{origin}.{key}: {unknown(kind, name, paper[key])}")


def load(root: Path | str, overrides: Mapping[str, Any] | None = None) -> Configuration:
    """Read and validate `config/config.yaml` and the preset.

    Args:
        root: the project's folder.
        overrides: what Snakemake's `config` holds, or any nested mapping over `config/config.yaml`.

    Raises:
        ConfigurationError: names the file, the key and the nearest valid spelling.
    """
    root = Path(root)
    layers = Layers().add(read_yaml(root / "config" / "config.yaml"), "config/config.yaml")
    main = layers.add(overrides or {}, "config/config.yaml or --config").validate(Main)
    presets = {path.stem: path for path in (root / "config" / "presets").glob("*.yaml")}
    if main.preset not in presets:
        raise ConfigurationError(f"preset: {unknown('preset', main.preset, presets)}")
    preset_file = f"config/presets/{main.preset}.yaml"
    preset = Layers().add(read_yaml(presets[main.preset]), preset_file).validate(Preset)
    configuration = Configuration(root, main, preset)
    for origin, slugs in (
        (preset_file, preset.papers),
        ("config/config.yaml or --config", main.papers),
    ):
        for slug in slugs:
            if slug not in configuration.papers:
                raise ConfigurationError(
                    f"{origin}: papers: {unknown('paper', slug, configuration.papers)}"
                )
    return configuration


def _product(spec: Experiment) -> list[tuple[str, dict[str, Any]]]:
    """Every (grid, settings) of an experiment."""
    points = []
    for name, grid in spec.grids.items():
        axes = {**spec.axes, **grid.axes}
        fixed = {
            key: value
            for key, value in {**spec.settings, **grid.settings}.items()
            if key not in grid.axes
        }
        axes = {key: values for key, values in axes.items() if key not in grid.settings}
        for values in itertools.product(*axes.values()):
            points.append((name, {**fixed, **dict(zip(axes, values, strict=True))}))
    return points
