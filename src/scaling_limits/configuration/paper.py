"""One paper as written in its files, changed by a preset and the user, with inheritance resolved layer by layer.

The nearest entry wins in every preset: the entries of a section override those of what it extends. Within one section,
later layers win, in the order file, caps, `presets` of the section, changes of the user.
"""

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import NamedTuple

from scaling_limits.configuration import allowed_keys
from scaling_limits.configuration.caps import shrunk
from scaling_limits.configuration.grids import Base, Node, flattened
from scaling_limits.configuration.library import Library
from scaling_limits.configuration.models import Caps
from scaling_limits.configuration.trees import Entry, Leaf, Origin, Tree, merge, via
from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.figures.names import natural, unknown_figure


class Changes(NamedTuple):
    """The changes to a paper's files: the name of a preset, its caps, and the changes of the user."""

    preset: str | None
    caps: Caps
    user: Tree

    @property
    def way(self) -> str:
        """The name of the preset in origins."""
        return f"preset {self.preset}"


class Composed(NamedTuple):
    """An experiment with everything it inherits: its entries, and its grids by name."""

    entries: Tree
    nodes: dict[str, Node]

    @property
    def grids(self) -> dict[str, Node]:
        """The nodes without nodes below them."""
        return {name: node for name, node in self.nodes.items() if node.grids == (name,)}


class Paper:
    """The bases, experiments and figures of a library after changes; each is composed when it is first needed."""

    def __init__(self, library: Library, changes: Changes) -> None:
        self.library = library
        self._changes = changes
        self._composed: dict[str, Composed] = {}
        self._checked = False

    def experiment(self, name: str) -> Composed:
        """Return an experiment with everything it inherits.

        Raises:
            ConfigurationError: an entry is invalid; the message names file, line and valid entries.
        """
        self._check_changes()
        if name not in self._composed:
            entries = self._experiment(name, ())
            nodes = flattened(entries, self.library.settings, self._grid_base(name))
            self._composed[name] = Composed(entries, nodes)
            self._refuse_idle(name)
        return self._composed[name]

    @cached_property
    def written(self) -> "Paper":
        """The paper as written in its files, without the changes of a preset or the user."""
        nothing = Changes(None, Caps(), Tree(self._changes.user.origin))
        return self if self._changes == nothing else Paper(self.library, nothing)

    def chain(self, experiment: str) -> list[str]:
        """Return an experiment and those that it extends, one after the other."""
        chain: list[str] = []
        name: str | None = experiment
        while name in self.library.experiments and name not in chain:
            chain.append(name)
            name = self.library.experiment(name).text("extends")
        return chain

    def shared(self, experiment: str | None) -> Tree:
        """Return the entries that figures and grids of an experiment may use, after changes."""
        shared = self.library.shared(experiment)
        return merge(shared, self._changes.user.only(allowed_keys.SHARED - {"bases"}))

    def figure(self, name: str) -> tuple[Tree, str | None]:
        """Return a figure with everything it inherits, and its experiment, if it has one.

        Raises:
            ConfigurationError: the figure does not exist; the message suggests the nearest name.
        """
        self._check_changes()
        return self._figure(name, ())

    @cached_property
    def figures(self) -> dict[str, str | None]:
        """All figures with their experiments, in the natural order of their names."""
        experiments: dict[str, str | None] = {}
        for experiment in (*self.library.experiments, None):
            for name, figure in self.library.figures(experiment).items():
                if name in experiments:
                    first = self.library.figures(experiments[name])[name].origin
                    raise ConfigurationError(
                        f"figures.{name}", f"is also defined at {first}", place=figure.origin
                    )
                experiments[name] = experiment
        return {name: experiments[name] for name in sorted(experiments, key=natural)}

    def _figure(
        self, name: str, chain: tuple[str, ...], reference: Origin | None = None
    ) -> tuple[Tree, str | None]:
        experiment = self._holder(
            name, f"figures.{chain[-1]}.extends" if chain else None, reference
        )
        written = self.library.figures(experiment).tree(name)
        figure = written.without("extends")
        if "extends" in written:
            extended = str(written.value("extends"))
            _refuse_circle(written["extends"], extended, (*chain, name))
            inherited, _ = self._figure(extended, (*chain, name), written["extends"].origin)
            figure = merge(inherited, figure)
        if experiment is not None:
            change = self._preset(self.library.experiment(experiment)).tree("figures")
            figure = merge(figure, change.tree(name))
        return merge(figure, self._changes.user.tree("figures").tree(name)), experiment

    def _holder(self, name: str, key: str | None, reference: Origin | None) -> str | None:
        """Return the experiment in whose file a figure is defined, or None for `paper.yaml`.

        Args:
            name: the figure.
            key: the key that names the figure, if this is in a file.
            reference: the origin of this key.

        Raises:
            ConfigurationError: the figure does not exist.
        """
        faults = []
        for holder in self.library.holders(name):
            try:
                if name in self.library.figures(holder):
                    return holder
            except ConfigurationError as error:
                faults.append(error)  # another file may define the figure
        if faults:
            raise faults[0]
        where = reference or self.library.folder
        raise ConfigurationError(key, unknown_figure(name, self.figures), place=where)

    def _experiment(self, name: str, chain: tuple[str, ...]) -> Tree:
        written = self.library.experiment(name)
        change = self._changes.user.tree("experiments").tree(name)
        inherited = self._inherited(written, name, (*chain, name))
        entries = written.without("figures", *allowed_keys.SHARED - {"judging", "stated"})
        return self._layers(inherited, entries, change)

    def _base(self, name: str, experiment: str, chain: tuple[str, ...]) -> Tree:
        """Return a base that an experiment, or a grid in it, extends."""
        bases = self.library.shared(experiment).tree("bases")
        written = bases.tree(name)
        change = self._changes.user.tree("bases").tree(name)
        inherited = self._inherited(written, experiment, (*chain, name))
        layers = [via(part, name) for part in (written, change)]
        return self._layers(inherited, *layers)  # type: ignore[arg-type]

    def _grid_base(self, experiment: str) -> Base:
        def base(name: str, entry: Entry, siblings: Tree) -> Tree:
            bases = self.library.shared(experiment).tree("bases")
            if name not in bases:
                valid = (*bases, *siblings)
                raise ConfigurationError(
                    "extends", unknown("base", name, valid), place=entry.origin
                )
            return self._base(name, experiment, ())

        return base

    def _inherited(self, written: Tree, experiment: str, chain: tuple[str, ...]) -> Tree:
        """Return the entries that a section extends."""
        if "extends" not in written:
            return Tree(written.origin)
        entry, name = written["extends"], str(written.value("extends"))
        _refuse_circle(entry, name, chain)
        bases = self.library.shared(experiment).tree("bases")
        if name in bases:
            return self._base(name, experiment, chain)
        if name in self.library.experiments:
            return self._experiment(name, chain).without("description")
        valid = (*bases, *self.library.experiments)
        raise ConfigurationError("extends", unknown("base", name, valid), place=entry.origin)

    def _layers(self, inherited: Tree, written: Tree, change: Tree) -> Tree:
        entries = written.without("extends", "presets")
        if "grids" in entries:
            inherited = inherited.without("grids")
        caps = f"caps of {self._changes.way}"
        merged = merge(inherited, shrunk(entries, self._changes.caps, caps))
        for layer in (self._preset(written).without("figures"), change):
            allowed_keys.refuse_new_grids(merged, layer)
            merged = merge(merged, layer)
        return merged

    def _preset(self, written: Tree) -> Tree:
        """Return the preset's changes to a section."""
        if self._changes.preset is None:
            return Tree(written.origin)
        named = via(written.tree("presets").tree(self._changes.preset), self._changes.way)
        return named if isinstance(named, Tree) else Tree(written.origin)

    def _refuse_idle(self, name: str) -> None:
        """Reject settings in an experiment's file, or changed by the user, that reach none of its grids."""
        change = self._changes.user.tree("experiments").tree(name)
        # a preset may override a setting of the file in all grids
        if self is self.written:
            prefix, tree = "", self.library.experiment(name)
        else:
            self.written.experiment(name)
            prefix, tree = f"experiments.{name}.", change
        grids = self._composed[name].grids
        if not grids:
            return  # rejected elsewhere
        for key, entry in tree.only(self.library.settings).items():
            if not _reached(entry, [node.settings.get(key) for node in grids.values()]):
                raise ConfigurationError(
                    f"{prefix}{key}",
                    f"changes nothing, as every grid says {key} itself; "
                    f"say it under `grids`, of {', '.join(grids)}",
                    place=entry.origin,
                )

    def _check_changes(self) -> None:
        """Check that everything the user changes exists."""
        if self._checked:
            return
        self._checked = True
        library, user = self.library, self._changes.user
        # functions, so that all figures are read only if the user changes one
        known: dict[str, Callable[[], Collection[str]]] = {
            "base": lambda: library.bases,
            "experiment": lambda: library.experiments,
            "figure": lambda: self.figures,
        }
        for kind, names in known.items():
            for name, entry in user.tree(f"{kind}s").items():
                if name not in names():
                    key = f"papers.{library.slug}.{kind}s"
                    problem = unknown(kind, name, names())
                    raise ConfigurationError(key, problem, place=entry.origin)


def _reached(entry: Entry, candidates: Sequence[Entry | None]) -> bool:
    """Return whether an entry is among the candidates; for a mapping, whether every value in it is."""
    if isinstance(entry, Leaf):
        return any(other is entry for other in candidates)
    trees = [other for other in candidates if isinstance(other, Tree)]
    return all(_reached(inner, [other.get(key) for other in trees]) for key, inner in entry.items())


def _refuse_circle(entry: Entry, name: str, chain: tuple[str, ...]) -> None:
    if name in chain:
        chain_text = " -> ".join((*chain, name))
        raise ConfigurationError("extends", f"{chain_text} never ends", place=entry.origin)
