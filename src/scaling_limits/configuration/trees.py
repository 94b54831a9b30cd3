"""Contents of configuration files: nested values, each with its file, its line and the inheritance path to it."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Union, overload


class Origin(NamedTuple):
    """The file and line at which a value is written, and the bases and presets through which it was inherited.

    An example is `paper.yaml:57 (tanh_mlp, preset smoke)`.
    """

    file: str
    line: int | None = None
    way: tuple[str, ...] = ()

    def __str__(self) -> str:
        location = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{location} ({', '.join(self.way)})" if self.way else location


class Leaf(NamedTuple):
    """A value that is not a mapping."""

    value: object
    origin: Origin


class Tree(dict[str, Union[Leaf, "Tree"]]):
    """A mapping from keys to leaves or further trees."""

    def __init__(self, origin: Origin, items: Mapping[str, Union[Leaf, "Tree"]] | None = None):
        super().__init__(items or {})
        self.origin = origin

    def tree(self, key: str) -> "Tree":
        """Return the mapping at a key, or an empty one."""
        entry = self.get(key)
        return entry if isinstance(entry, Tree) else Tree(self.origin)

    def value(self, key: str) -> object:
        """Return the plain value at a key, or None."""
        entry = self.get(key)
        return None if entry is None else plain(entry)

    def text(self, key: str) -> str | None:
        """Return the plain value at a key as text, or None."""
        value = self.value(key)
        return None if value is None else str(value)

    def without(self, *keys: str) -> "Tree":
        """Return the mapping without these keys."""
        return Tree(self.origin, {key: value for key, value in self.items() if key not in keys})

    def only(self, keys: Iterable[str]) -> "Tree":
        """Return the mapping restricted to these keys."""
        selected = frozenset(keys)
        return Tree(self.origin, {key: value for key, value in self.items() if key in selected})


Entry = Leaf | Tree


def located(content: object, origin: Origin) -> Entry:
    """Return plain content as values with a single origin.

    Parts of the content that already have an origin keep it. On the command line, `null` arrives as text.
    """
    if isinstance(content, (Leaf, Tree)):
        return content
    if isinstance(content, Mapping):
        items = {str(key): located(value, origin) for key, value in content.items()}
        return Tree(origin, items)
    return Leaf(None if content == "null" else content, origin)


def merge(below: Tree, above: Tree) -> Tree:
    """Return the union of two trees.

    Mappings are merged key by key; other values in `above` replace those in `below`.
    """
    merged = Tree(above.origin if above else below.origin, below)
    for key, entry in above.items():
        under = below.get(key)
        both = isinstance(under, Tree) and isinstance(entry, Tree)
        merged[key] = merge(under, entry) if both else entry  # type: ignore[arg-type]
    return merged


@overload
def plain(entry: Tree, *, nulls: bool = False) -> dict[str, object]: ...


@overload
def plain(entry: Entry, *, nulls: bool = False) -> object: ...


def plain(entry: Entry, *, nulls: bool = False) -> object:
    """Return the values without origins; values that `null` removes are omitted unless `nulls` is true."""
    if isinstance(entry, Leaf):
        return entry.value
    return {
        key: plain(inner, nulls=nulls)
        for key, inner in entry.items()
        if nulls or isinstance(inner, Tree) or inner.value is not None
    }


def via(entry: Entry, *way: str) -> Entry:
    """Return the same values with an extended inheritance path."""
    origin = entry.origin._replace(way=(*entry.origin.way, *way))
    if isinstance(entry, Leaf):
        return Leaf(entry.value, origin)
    return Tree(origin, {key: via(inner, *way) for key, inner in entry.items()})


def origin_at(entry: Entry, path: Iterable[str | int]) -> Origin:
    """Return the origin of the value at `path`, or of the nearest value above it."""
    for part in path:
        if isinstance(entry, Tree) and str(part) in entry:
            entry = entry[str(part)]
    return entry.origin
