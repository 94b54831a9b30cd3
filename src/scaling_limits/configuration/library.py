"""The files of one paper, or of the user's own experiments, each read when it is first needed."""

from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path

from scaling_limits.configuration import allowed_keys
from scaling_limits.configuration.files import read_tree, yaml_files
from scaling_limits.configuration.models import Head
from scaling_limits.configuration.trees import Origin, Tree, merge
from scaling_limits.configuration.validation import validate
from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.figures import OWN

_SHARED = "paper"


class Library:
    """The files of one paper or of the user's experiments, with their keys checked.

    Args:
        root: the project's folder.
        slug: the name of the paper, or `OWN` for the user's own experiments.
        presets: the names of the presets that files may change.
        settings: the names of all settings.
        faults: errors in the names of user-defined parts, by experiment.
    """

    def __init__(
        self,
        root: Path,
        slug: str,
        presets: Collection[str],
        settings: frozenset[str],
        faults: Mapping[str, str],
    ) -> None:
        self.slug = slug
        self.folder = "config/experiments" if slug == OWN else f"config/papers/{slug}"
        self._root = root
        self._presets = presets
        self.settings = settings
        self._faults = faults
        self._read: dict[str, Tree] = {}
        self._texts: dict[str, str] = {}

    @cached_property
    def experiments(self) -> list[str]:
        """The names of the experiments in alphabetical order."""
        names = [path.stem for path in yaml_files(self._root, self.folder)]
        return [name for name in names if self.slug == OWN or name != _SHARED]

    def experiment(self, name: str) -> Tree:
        """Return the file of an experiment, with its keys checked.

        Raises:
            ConfigurationError: the experiment does not exist, its name or a key is invalid, or a part that it defines
                is invalid.
        """
        if name not in self.experiments:
            raise ConfigurationError(self.folder, unknown("experiment", name, self.experiments))
        if not allowed_keys.NAME.fullmatch(name):
            place = f"{self.folder}/{name}.yaml"
            raise ConfigurationError(None, allowed_keys.NAMED, place=place)
        if name in self._faults:
            raise ConfigurationError(None, self._faults[name])
        if name not in self._read:
            extra = allowed_keys.SHARED | allowed_keys.OWN if self.slug == OWN else frozenset()
            keys = allowed_keys.EXPERIMENT | extra
            tree = read_tree(self._path(name), f"{self.folder}/{name}.yaml")
            checked = allowed_keys.checked_section(tree, keys, self.settings, "", self._presets)
            self._read[name] = self._with_parts(checked.without(*allowed_keys.OWN))
        return self._read[name]

    def shared(self, experiment: str | None) -> Tree:
        """Return the entries that experiments share.

        For a paper, these are in `paper.yaml`. An experiment of the user has the entries of its file and of the
        experiments that it extends.
        """
        if self.slug != OWN:
            return self._paper
        if experiment is None:
            return Tree(self._paper.origin)
        tree = self.experiment(experiment)
        extended = tree.value("extends")
        entries = tree.only(allowed_keys.SHARED)
        if extended in self.experiments and extended not in (experiment, *tree.tree("bases")):
            return merge(self.shared(extended), entries)
        return entries

    @cached_property
    def head(self) -> Head | None:
        """The bibliographic data in `paper.yaml`; None for the user's own experiments."""
        if self.slug == OWN:
            return None
        return validate(Head, self._paper.only(Head.model_fields))

    @cached_property
    def _paper(self) -> Tree:
        file = f"{self.folder}/{_SHARED}.yaml"
        if self.slug == OWN:
            return Tree(Origin(self.folder))
        tree = read_tree(self._path(_SHARED), file)
        allowed_keys.refuse_unknown(tree, "word", allowed_keys.PAPER)
        allowed_keys.refuse_misfits(tree)
        validate(Head, tree.only(Head.model_fields))
        return self._with_parts(tree)

    def _with_parts(self, tree: Tree) -> Tree:
        """Return a file with checked bases and figures; presets may change only figures that exist."""
        checked = Tree(tree.origin, tree)
        if "bases" in tree:
            bases = allowed_keys.named(tree, "bases")
            for name, base in bases.items():
                entries = allowed_keys.mapping(base, name)
                path = f"bases.{name}."
                bases[name] = allowed_keys.checked_section(
                    entries, allowed_keys.BASE, self.settings, path, self._presets
                )
            checked["bases"] = bases
        checked["figures"] = allowed_keys.figures(tree)
        for preset in tree.tree("presets").values():
            if isinstance(preset, Tree):
                allowed_keys.figures(preset, checked.tree("figures"))
        return checked

    @cached_property
    def bases(self) -> set[str]:
        """The names of all bases, including those in files of the user's own experiments."""
        holders = self.experiments if self.slug == OWN else [None]
        return {name for holder in holders for name in self.shared(holder).tree("bases")}

    def holders(self, figure: str) -> list[str | None]:
        """Return the files that may define a figure: experiments that contain its name, and None for `paper.yaml`."""
        named = [name for name in self.experiments if figure in self._text(name)]
        return [*named, None]

    def figures(self, experiment: str | None) -> Tree:
        """Return the figures in a file; without an experiment, the figures in `paper.yaml`, which have no cells."""
        source = self._paper if experiment is None else self.experiment(experiment)
        return source.tree("figures")

    def _text(self, name: str) -> str:
        if name not in self._texts:
            try:
                text = self._path(name).read_text(encoding="utf-8", errors="replace")
            except OSError:
                text = ""  # rejected when the experiment is read
            self._texts[name] = text
        return self._texts[name]

    def _path(self, name: str) -> Path:
        return self._root / self.folder / f"{name}.yaml"
