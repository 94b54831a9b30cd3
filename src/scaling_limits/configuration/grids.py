"""Conversion of an experiment's tree of grids to grids with all their settings."""

from collections.abc import Callable
from typing import NamedTuple

from scaling_limits.configuration.trees import Entry, Leaf, Tree, merge
from scaling_limits.errors import ConfigurationError

Base = Callable[[str, Entry, Tree], Tree]
"""Returns the base of a name, given the value that refers to it and the grids that it might mean."""


class Node(NamedTuple):
    """A grid, or all grids below a node of the tree: settings, measurements, and titles from the root to the node.

    `paper_dataset` is the paper's dataset if the files give another one. `stated` gives the places in the paper that
    state settings, and null for settings that the paper does not state here.
    """

    settings: Tree
    measurements: Tree
    titles: tuple[str | None, ...]
    grids: tuple[str, ...]
    stated: Tree
    paper_dataset: str | None = None

    def title(self, ancestor: "Node | None" = None) -> str | None:
        """Return the titles of the path joined by commas, starting below another node if one is given."""
        titles = self.titles[len(ancestor.titles) if ancestor else 0 :]
        return ", ".join(title for title in titles if title) or None


def flattened(experiment: Tree, settings: frozenset[str], base: Base) -> dict[str, Node]:
    """Return the nodes of an experiment's tree by name; a grid's name is its path joined by `_`.

    Args:
        experiment: the entries of the experiment, including inherited ones.
        settings: the names of all settings.
        base: returns the bases that grids extend.

    Raises:
        ConfigurationError: a grid extends something that is neither a sibling nor a base, or two grids have one name.
    """
    nodes: dict[str, Node] = {}
    root = Node(
        experiment.only(settings),
        experiment.tree("measurements"),
        (),
        (),
        experiment.tree("stated"),
    )
    _walk(experiment.tree("grids"), settings, root, (), base, nodes)
    return nodes


def _walk(
    siblings: Tree,
    settings: frozenset[str],
    parent: Node,
    path: tuple[str, ...],
    base: Base,
    nodes: dict[str, Node],
) -> tuple[str, ...]:
    """Add the nodes of one level of the tree and those below to `nodes`.

    Args:
        siblings: the nodes of this level as written.
        settings: the names of all settings.
        parent: the node above.
        path: the keys from the root to `parent`.
        base: returns the bases that grids extend.
        nodes: the nodes by name; those of this level and below are added.

    Returns:
        The names of the grids of this level and below.

    Raises:
        ConfigurationError: two grids have one name, or a grid extends an unknown one.
    """
    names: list[str] = []
    for key, entry in siblings.items():
        if isinstance(entry, Leaf):
            continue  # removed
        name = "_".join((*path, key))
        if name in nodes:
            raise ConfigurationError("grids", f"two grids are called '{name}'", place=entry.origin)
        entries = _inherited(key, siblings, base, ())
        node_settings = merge(parent.settings, entries.only(settings))
        node_measurements = merge(parent.measurements, entries.tree("measurements"))
        titles = (*parent.titles, entries.text("title"))
        dataset = entries.text("paper_dataset") or parent.paper_dataset
        stated = merge(parent.stated, entries.tree("stated"))
        node = Node(node_settings, node_measurements, titles, (name,), stated, dataset)
        nodes[name] = node
        if entries.tree("grids"):
            inner = _walk(entries.tree("grids"), settings, node, (*path, key), base, nodes)
            nodes[name] = node._replace(grids=inner)
            names += inner
        else:
            names.append(name)
    return tuple(names)


def _inherited(key: str, siblings: Tree, base: Base, chain: tuple[str, ...]) -> Tree:
    """Return the entries of a grid merged over those of the sibling or base that it extends."""
    entries = siblings.tree(key)
    if "extends" not in entries:
        return entries
    entry, name = entries["extends"], str(entries.value("extends"))
    if name in chain:
        circle = " -> ".join((*chain, key, name))
        raise ConfigurationError("extends", f"{circle} never ends", place=entry.origin)
    if name != key and isinstance(siblings.get(name), Tree):
        inherited = _inherited(name, siblings, base, (*chain, key))
    else:
        inherited = base(name, entry, siblings.without(key))
    entries = entries.without("extends")
    return merge(inherited.without("grids") if "grids" in entries else inherited, entries)
