"""From the tree of an experiment's grids to grids with all their settings."""

from collections.abc import Callable
from typing import NamedTuple

from scaling_limits.configuration.trees import Leaf, Tree, Word, merge
from scaling_limits.errors import ConfigurationError

Base = Callable[[str, Word, Tree], Tree]
"""Gives the base of a name, for a word that asks for it, with the grids that it may have meant."""


class Node(NamedTuple):
    """A grid, or all grids below a node of the tree: what holds and is measured there, and the titles on the way."""

    settings: Tree
    measurements: Tree
    titles: tuple[str | None, ...]
    grids: tuple[str, ...]

    def title(self, below: "Node | None" = None) -> str | None:
        """The titles of the way joined by commas, from below another node if one is given."""
        way = self.titles[len(below.titles) if below else 0 :]
        return ", ".join(title for title in way if title) or None


def flattened(experiment: Tree, settings: frozenset[str], base: Base) -> dict[str, Node]:
    """The nodes of an experiment's tree by name, a grid's path joined by `_`.

    Args:
        experiment: its words, with all that it inherits.
        settings: all that there are.
        base: gives the bases that grids extend.

    Raises:
        ConfigurationError: what a grid extends is neither a sibling nor a base, or two have one name.
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
            continue  # taken away
        name = "_".join((*path, key))
        if name in nodes:
            raise ConfigurationError("grids", f"two grids are called '{name}'", place=word.origin)
        own = _inherited(key, beside, base, ())
        said = merge(above.settings, own.only(settings))
        measured = merge(above.measurements, own.tree("measurements"))
        node = Node(said, measured, (*above.titles, own.value("title")), (name,))
        nodes[name] = node
        if own.tree("grids"):
            found = _walk(own.tree("grids"), settings, node, (*path, key), base, nodes)
            nodes[name] = node._replace(grids=found)
            below += found
        else:
            below.append(name)
    return tuple(below)


def _inherited(key: str, beside: Tree, base: Base, chain: tuple[str, ...]) -> Tree:
    """What a grid says, over what it extends: a sibling or a base."""
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
