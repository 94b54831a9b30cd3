"""Conversion of an experiment's tree of grids to grids with all their settings."""

from collections.abc import Callable
from typing import NamedTuple

from scaling_limits.configuration.trees import Leaf, Tree, Word, merge
from scaling_limits.errors import ConfigurationError

Base = Callable[[str, Word, Tree], Tree]
"""Returns the base of a name, given the value that refers to it and the grids that it might mean."""


class Node(NamedTuple):
    """A grid, or all grids below a node of the tree: settings, measurements, and titles from the root to the node.

    `paper_dataset` is the paper's dataset if the files give another one.
    """

    settings: Tree
    measurements: Tree
    titles: tuple[str | None, ...]
    grids: tuple[str, ...]
    paper_dataset: str | None = None

    def title(self, below: "Node | None" = None) -> str | None:
        """Return the titles of the path joined by commas, starting below another node if one is given."""
        way = self.titles[len(below.titles) if below else 0 :]
        return ", ".join(title for title in way if title) or None


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
    above = Node(experiment.only(settings), experiment.tree("measurements"), (), ())
    _walk(experiment.tree("grids"), settings, above, (), base, nodes)
    return nodes


def _walk(
    beside: Tree,
    settings: frozenset[str],
    above: Node,
    path: tuple[str, ...],
    base: Base,
    nodes: dict[str, Node],
) -> tuple[str, ...]:
    below: list[str] = []
    for key, word in beside.items():
        if isinstance(word, Leaf):
            continue  # removed
        name = "_".join((*path, key))
        if name in nodes:
            raise ConfigurationError("grids", f"two grids are called '{name}'", place=word.origin)
        own = _inherited(key, beside, base, ())
        said = merge(above.settings, own.only(settings))
        measured = merge(above.measurements, own.tree("measurements"))
        titles = (*above.titles, own.value("title"))
        dataset = own.value("paper_dataset") or above.paper_dataset
        node = Node(said, measured, titles, (name,), dataset)
        nodes[name] = node
        if own.tree("grids"):
            found = _walk(own.tree("grids"), settings, node, (*path, key), base, nodes)
            nodes[name] = node._replace(grids=found)
            below += found
        else:
            below.append(name)
    return tuple(below)


def _inherited(key: str, beside: Tree, base: Base, chain: tuple[str, ...]) -> Tree:
    """Return the entries of a grid merged over those of the sibling or base that it extends."""
    own = beside.tree(key)
    if "extends" not in own:
        return own
    word, name = own["extends"], str(own.value("extends"))
    if name in chain:
        circle = " -> ".join((*chain, key, name))
        raise ConfigurationError("extends", f"{circle} never ends", place=word.origin)
    if name != key and isinstance(beside.get(name), Tree):
        below = _inherited(name, beside, base, (*chain, key))
    else:
        below = base(name, word, beside.without(key))
    own = own.without("extends")
    return merge(below.without("grids") if "grids" in own else below, own)
