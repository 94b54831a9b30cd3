"""The names to which a figure may refer: quantities, symbols, grids, and defaults of its claims."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from scaling_limits.configuration.grids import Node
from scaling_limits.errors import unknown
from scaling_limits.figures.written import MisplacedError, Path, Written


@dataclass(frozen=True)
class Namespace:
    """The names of a figure.

    `label` names the figure in sources, such as `pc-tp Fig. S.4`. If `metrics` is None, any metric is accepted.
    """

    label: str
    symbols: dict[str, str]
    quantities: Written
    judging: Written
    nodes: Mapping[str, Node]
    metrics: frozenset[str] | None

    def quantity(self, reference: object, path: Path) -> object:
        """Return the definition of a quantity that is given by name, by name with changes, or in full."""
        if isinstance(reference, str):
            reference = {"quantity": reference}
        if not isinstance(reference, Mapping):
            return reference
        if "quantity" in reference:
            name = reference["quantity"]
            if name not in self.quantities:
                raise MisplacedError(path, unknown("quantity", name, self.quantities))
            changes = {key: value for key, value in reference.items() if key != "quantity"}
            defined = {k: value for k, value in self.quantities[name].items() if k != "axis"}
            reference = {**defined, **changes}
        metric = reference.get("metric")
        if self.metrics is not None and isinstance(metric, str) and metric not in self.metrics:
            raise MisplacedError(path, unknown("metric", metric, self.metrics))
        return reference

    def axis(self, reference: object) -> dict[str, object]:
        """Return the keys of a panel that the definition of a quantity given by name states under `axis`."""
        name = reference.get("quantity") if isinstance(reference, Mapping) else reference
        return (
            dict(self.quantities.get(name, {}).get("axis") or {}) if isinstance(name, str) else {}
        )

    def grids(self, selector: object, path: Path) -> list[str]:
        """Return the grids below a node, or below several."""
        return [grid for grid, _ in self.titled(selector, path)]

    def titled(self, selector: object, path: Path) -> list[tuple[str, str | None]]:
        """Return grids with their titles.

        Titles are relative to a single node, complete for a list of nodes, and as written for a mapping.
        """
        if isinstance(selector, Mapping):
            return [(self._node(name, path).grids[0], title) for name, title in selector.items()]
        if isinstance(selector, list):
            nodes = [self._node(name, path) for name in selector]
            return [(grid, self.nodes[grid].title()) for node in nodes for grid in node.grids]
        node = self._node(selector, path)
        return [(grid, self.nodes[grid].title(node)) for grid in node.grids]

    def every_grid(self) -> list[str]:
        """Return all grids in order."""
        return [name for name, node in self.nodes.items() if node.grids == (name,)]

    def _node(self, name: object, path: Path) -> Node:
        if not isinstance(name, str) or name not in self.nodes:
            raise MisplacedError(path, unknown("grid", name, self.nodes))
        return self.nodes[name]


def label(paper: str, figure: str) -> str:
    """Return the name of a figure in text.

    >>> label("pc-tp", "figS4"), label("mupc", "fig5"), label("own", "mine")
    ('pc-tp Fig. S.4', 'mupc Fig. 5', 'own mine')
    """
    kind, number = _numbered(figure)
    if kind is None:
        return f"{paper} {figure}"
    return f"{paper} {'Fig.' if kind == 'Figure' else kind} {number}"


def identity(authors: str, year: int, figure: str) -> str:
    """Return the paper and the number of a figure, as shown on pictures.

    >>> identity("Ishikawa, Yokota, Karakida", 2024, "figS4")
    'Ishikawa, Yokota & Karakida 2024 · Figure S.4'
    >>> identity("Yang, Yu", 2023, "coordinate_check")
    'Yang & Yu 2023 · not in the paper'
    """
    *others, last = authors.split(", ")
    names = f"{', '.join(others)} & {last}" if others else last
    kind, number = _numbered(figure)
    number_in_paper = "not in the paper" if kind is None else f"{kind} {number}"
    return f"{names} {year} \N{MIDDLE DOT} {number_in_paper}"


def in_paper(figure: str) -> bool:
    """Return whether a figure is in the paper.

    >>> in_paper("figS4"), in_paper("coordinate_check")
    (True, False)
    """
    return _numbered(figure)[0] is not None


def _numbered(figure: str) -> tuple[str | None, str]:
    """Return "Figure" or "Table" and the number of a figure of the paper; None if it is not in the paper."""
    match = re.fullmatch(r"(fig|table)([A-Z]?)(\d.*)", figure)
    if match is None:
        return None, ""
    kind = {"fig": "Figure", "table": "Table"}[match[1]]
    return kind, f"{match[2]}." * bool(match[2]) + match[3]
