"""The names that a figure may refer to: quantities, symbols, grids, and defaults of its claims."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scaling_limits.configuration.grids import Node
from scaling_limits.errors import unknown
from scaling_limits.figures.written import MisplacedError, Path


@dataclass(frozen=True)
class Namespace:
    """`label` is what the figure is called in sources: `pc-tp Fig. S.4`; without `metrics` any name may be one."""

    label: str
    symbols: dict[str, str]
    quantities: dict[str, Any]
    judging: dict[str, Any]
    nodes: Mapping[str, Node]
    metrics: frozenset[str] | None

    def quantity(self, said: object, path: Path) -> object:
        """A quantity: a word, a word with changes, or written out."""
        if isinstance(said, str):
            said = {"quantity": said}
        if not isinstance(said, Mapping):
            return said
        if "quantity" in said:
            word = said["quantity"]
            if word not in self.quantities:
                raise MisplacedError(path, unknown("quantity", word, self.quantities))
            changes = {key: value for key, value in said.items() if key != "quantity"}
            said = {**self.quantities[word], **changes}
        metric = said.get("metric")
        if self.metrics is not None and isinstance(metric, str) and metric not in self.metrics:
            raise MisplacedError(path, unknown("metric", metric, self.metrics))
        return said

    def grids(self, said: object, path: Path) -> list[str]:
        """The grids of one node, or of several."""
        return [grid for grid, _ in self.titled(said, path)]

    def titled(self, said: object, path: Path) -> list[tuple[str, str | None]]:
        """Grids with their titles: below a node, in full for a list of nodes, or as written."""
        if isinstance(said, Mapping):
            return [(self._node(name, path).grids[0], title) for name, title in said.items()]
        if isinstance(said, list):
            nodes = [self._node(name, path) for name in said]
            return [(grid, self.nodes[grid].title()) for node in nodes for grid in node.grids]
        node = self._node(said, path)
        return [(grid, self.nodes[grid].title(node)) for grid in node.grids]

    def every_grid(self) -> list[str]:
        """All grids in their order."""
        return [name for name, node in self.nodes.items() if node.grids == (name,)]

    def _node(self, name: Any, path: Path) -> Node:
        if name not in self.nodes:
            raise MisplacedError(path, unknown("grid", name, self.nodes))
        return self.nodes[name]


def label(paper: str, figure: str) -> str:
    """What a figure is called.

    >>> label("pc-tp", "figS4"), label("mupc", "fig5"), label("own", "mine")
    ('pc-tp Fig. S.4', 'mupc Fig. 5', 'own mine')
    """
    found = re.fullmatch(r"(fig|table)([A-Z]?)(.+)", figure)
    if found is None:
        return f"{paper} {figure}"
    kind = {"fig": "Fig.", "table": "Table"}[found[1]]
    return f"{paper} {kind} {f'{found[2]}.' if found[2] else ''}{found[3]}"
