"""What configuration files say: nested words, of which each knows its file, its line and the way it came."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Union


class Origin(NamedTuple):
    """The place of a word, and what it was inherited through: `paper.yaml:57 (tanh_mlp, preset smoke)`."""

    file: str
    line: int | None = None
    way: tuple[str, ...] = ()

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place} ({', '.join(self.way)})" if self.way else place


class Leaf(NamedTuple):
    """A value that is no mapping."""

    value: object
    origin: Origin


class Tree(dict[str, Union[Leaf, "Tree"]]):
    """A mapping whose keys lead to values, or to mappings again."""

    def __init__(self, origin: Origin, items: Mapping[str, Union[Leaf, "Tree"]] | None = None):
        super().__init__(items or {})
        self.origin = origin

    def tree(self, key: str) -> "Tree":
        """The mapping below a key; an empty one if there is none."""
        found = self.get(key)
        return found if isinstance(found, Tree) else Tree(self.origin)

    def value(self, key: str) -> Any:
        """The plain value below a key; None if there is none."""
        found = self.get(key)
        return None if found is None else plain(found)

    def without(self, *keys: str) -> "Tree":
        """All but these keys."""
        return Tree(self.origin, {key: value for key, value in self.items() if key not in keys})

    def only(self, keys: Iterable[str]) -> "Tree":
        """These keys, as far as they are there."""
        kept = frozenset(keys)
        return Tree(self.origin, {key: value for key, value in self.items() if key in kept})


Word = Leaf | Tree


def located(content: object, origin: Origin) -> Word:
    """Plain content as words of one origin, except words that have their own; on the command line `null` is text."""
    if isinstance(content, (Leaf, Tree)):
        return content
    if isinstance(content, Mapping):
        items = {str(key): located(value, origin) for key, value in content.items()}
        return Tree(origin, items)
    return Leaf(None if content == "null" else content, origin)


def merge(below: Tree, above: Tree) -> Tree:
    """`above` over `below`: mappings key by key, everything else replaced."""
    merged = Tree(above.origin if above else below.origin, below)
    for key, word in above.items():
        under = below.get(key)
        both = isinstance(under, Tree) and isinstance(word, Tree)
        merged[key] = merge(under, word) if both else word  # type: ignore[arg-type]
    return merged


def plain(word: Word, *, nulls: bool = False) -> Any:
    """The words alone, without those that `null` takes away unless `nulls` are to stay."""
    if isinstance(word, Leaf):
        return word.value
    return {
        key: plain(inner, nulls=nulls)
        for key, inner in word.items()
        if nulls or isinstance(inner, Tree) or inner.value is not None
    }


def via(word: Word, *way: str) -> Word:
    """The same words, come a further way."""
    origin = word.origin._replace(way=(*word.origin.way, *way))
    if isinstance(word, Leaf):
        return Leaf(word.value, origin)
    return Tree(origin, {key: via(inner, *way) for key, inner in word.items()})


def origin_at(word: Word, path: Iterable[str | int]) -> Origin:
    """The origin of the value at `path`, or nearest above it; parts that nobody says are passed over."""
    for part in path:
        if isinstance(word, Tree) and str(part) in word:
            word = word[str(part)]
    return word.origin
