"""The options that all commands share: the project's folder, changes to its configuration, and figures by name."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click
import yaml

from scaling_limits.commands import completion
from scaling_limits.configuration import Configuration, load
from scaling_limits.configuration.files import read_tree
from scaling_limits.configuration.trees import Origin, Tree, located, merge, plain
from scaling_limits.errors import ConfigurationError

if TYPE_CHECKING:
    from scaling_limits.store import Store

_SET = Origin("--set")


@dataclass(frozen=True)
class Invocation:
    """The common options: the project's folder `root`, configuration `files`, and `overrides` of single keys."""

    root: Path
    files: tuple[Path, ...] = ()
    overrides: Tree = field(default_factory=lambda: Tree(_SET))

    @property
    def changes(self) -> Tree:
        """All changes to the configuration; later files override earlier ones, and `overrides` override all files.

        Raises:
            ConfigurationError: a file cannot be read, or is not a mapping.
        """
        changes = Tree(_SET)
        for path in self.files:
            changes = merge(changes, read_tree(path, str(path)))
        return merge(changes, self.overrides)

    def configuration(self) -> Configuration:
        """Return the configuration with these changes.

        Raises:
            ConfigurationError: the configuration is invalid.
        """
        return load(self.root, self.changes)

    def store(self) -> "Store":
        """Return the store of computed cells named in the configuration.

        Raises:
            ConfigurationError: the configuration is invalid.
        """
        # importing NumPy would delay commands that do not use the store
        from scaling_limits.store import Store

        return Store(self.root / self.configuration().main.paths.store)

    def datasets(self) -> Path:
        """Return the folder of prepared datasets named in the configuration.

        Raises:
            ConfigurationError: the configuration is invalid.
        """
        return self.root / self.configuration().main.paths.datasets

    def having(self, key: str, value: str, option: str) -> "Invocation":
        """Return the same options with an additional override, given by a dedicated option."""
        return replace(self, overrides=merge(self.overrides, _tree({key: value}, Origin(option))))

    def for_snakemake(self) -> list[str]:
        """Return the changes as arguments of Snakemake, which also reads the values of `--config` as text."""
        arguments = []
        if self.overrides:
            values = plain(self.overrides, nulls=True)
            overrides = [f"{key}={json.dumps(values[key], ensure_ascii=False)}" for key in values]
            arguments += ["--config", *overrides]
        if self.files:
            arguments += ["--configfile", *(str(path.absolute()) for path in self.files)]
        return arguments


def configured(*, preset: bool = True) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds the common options to a command, which receives them as an `Invocation`.

    Args:
        preset: whether to add `--preset`, for commands about a single preset.
    """
    options = _options(preset=preset)

    def give(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_invocation(
            directory: Path,
            files: tuple[Path, ...],
            entries: Sequence[str],
            preset: str | None = None,
            **further: object,
        ) -> None:
            require_project(directory)
            invocation = Invocation(directory, files, overrides_of(entries))
            if preset is not None:
                invocation = invocation.having("preset", preset, "--preset")
            command(invocation, **further)

        for option in reversed(options):
            with_invocation = option(with_invocation)
        return with_invocation

    return give


in_directory = click.option(
    "--directory",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default=Path(),
    help="The project's folder; by default the working directory.",
)


def _options(*, preset: bool) -> Sequence[Callable[[Callable[..., None]], Callable[..., None]]]:
    """Return the decorators of the common options, with `--preset` if requested."""
    options = [
        in_directory,
        click.option(
            "--configfile",
            "files",
            metavar="FILE",
            type=click.Path(path_type=Path),
            multiple=True,
            help="YAML file that overrides config/config.yaml; later files override earlier ones.",
        ),
        click.option(
            "--set",
            "entries",
            metavar="KEY=VALUE",
            multiple=True,
            help="Override one value, for example data.path=DIR; takes precedence over files.",
        ),
    ]
    if preset:
        options.append(
            click.option(
                "--preset",
                metavar="NAME",
                help="The preset; takes precedence over --set preset=NAME.",
                shell_complete=completion.presets,
            )
        )
    return options


def require_project(root: Path) -> None:
    """Raise ConfigurationError if a folder does not contain a project."""
    if not (root / "config" / "config.yaml").is_file():
        raise ConfigurationError(
            None,
            f"{root.absolute()} has no config/config.yaml: run in the project's folder, or with --directory DIR",
        )


def overrides_of(entries: Sequence[str]) -> Tree:
    """Return the overrides of `a.b=value` entries; values are YAML, read as Snakemake reads the values of `--config`.

    Raises:
        ConfigurationError: an entry does not have this form.
    """
    overrides = Tree(_SET)
    for entry in entries:
        key, equals, text = entry.partition("=")
        try:
            # the base loader keeps numbers as text, since a source digest may look like a number
            value = yaml.load(text, Loader=yaml.BaseLoader)
        except yaml.YAMLError as error:
            raise ConfigurationError(None, error, place=f"--set {entry}") from None
        parts = key.split(".")
        if not (equals and all(parts)):
            problem = "should be KEY=VALUE, as data.path=DIR"
            raise ConfigurationError(None, problem, place=f"--set {entry}")
        for part in reversed(parts):
            value = {part: value}
        overrides = merge(overrides, _tree(value, _SET))
    return overrides


def _tree(content: dict[str, object], origin: Origin) -> Tree:
    return Tree(origin, {key: located(value, origin) for key, value in content.items()})


def chosen(configuration: Configuration, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the (paper, figure) pairs of `<paper>/<figure>` or `<paper>`.

    Without names, these are all figures except invalid ones in the user's own experiments.

    Raises:
        ConfigurationError: a paper or figure does not exist; the message suggests the nearest name.
    """
    figures: dict[tuple[str, str], None] = {}
    for name in names or configuration.papers:
        paper, slash, figure = name.partition("/")
        if slash:
            configuration.figure(paper, figure)
        else:
            refuse_figure_alone(configuration, name)
        every = configuration.figures if names else configuration.sound_figures
        wanted = [figure] if slash else every(paper)
        figures |= dict.fromkeys((paper, each) for each in wanted)
    return list(figures)


def refuse_figure_alone(configuration: Configuration, name: str) -> None:
    """Raise ConfigurationError for a figure that is named without its paper, naming the papers that have it."""
    if name in configuration.papers:
        return
    papers = [paper for paper in configuration.papers if name in configuration.sound_figures(paper)]
    if papers:
        figures = ", ".join(f"{paper}/{name}" for paper in papers)
        raise ConfigurationError(
            None, f"unknown figure '{name}'; did you mean {figures}? A figure is <paper>/<figure>"
        )


def warn_of_faults(configurations: Iterable[Configuration]) -> bool:
    """Print which of the user's own experiments are left out and why, and return whether there are any."""
    faults = {fault: None for each in configurations for fault in each.faults.values()}
    for fault in faults:
        click.echo(f"warning: left out: {fault}", err=True)
    return bool(faults)
