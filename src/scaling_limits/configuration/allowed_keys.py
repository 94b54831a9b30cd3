"""The keys that are valid in each section of a configuration file, and the errors about other keys."""

import re
from collections.abc import Collection, Iterable

from scaling_limits.configuration.ranges import expanded
from scaling_limits.configuration.trees import Entry, Leaf, Tree, origin_at, plain
from scaling_limits.configuration.validation import combined
from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.figures.shapes import SYMBOLS, Shape, misfits

SHARED = frozenset({"symbols", "quantities", "judging", "stated", "bases"})
OWN = frozenset({"data", "algorithms", "parameterisations"})
BASE = frozenset({"title", "extends", "measurements", "paper_dataset", "presets", "stated"})
EXPERIMENT = frozenset(
    {"description", "extends", "grids", "measurements", "presets", "judging", "stated", "figures"}
)
GRID = frozenset({"extends", "title", "grids", "measurements", "paper_dataset", "stated"})
FIGURE = frozenset({"extends", "title", "see", "caption", "plot", "claims", "stated"})
PAPER = SHARED | {"title", "authors", "year", "arxiv", "reference", "figures"}
CHANGED_BASE = frozenset({"measurements"})
CHANGED_GRID = frozenset({"grids", "measurements"})
CHANGED_EXPERIMENT = frozenset({"grids", "measurements", "figures"})
CHANGED_PAPER = SHARED | {"experiments", "figures"}

_TYPES: dict[str, Shape] = {
    **dict.fromkeys(
        (
            "arxiv",
            "authors",
            "caption",
            "description",
            "extends",
            "paper_dataset",
            "reference",
            "see",
            "title",
        ),
        str,
    ),
    **{key: {} for key in ("judging", "measurements", "plot", "stated")},
    **{key: {"*": {}} for key in ("bases", "claims", "figures", "presets")},
    "grids": ([str], {"*": {}}),
    "quantities": {"*": {"metric": str, "axis": {}}},
    "symbols": SYMBOLS,
    "year": int,
}
# the same characters as in the wildcards of the Snakefile
NAME = re.compile(r"[A-Za-z0-9_-]+")
NAMED = "a name has letters, digits, '_' and '-' only"

_MOVED = {
    "axes": "an axis is a setting with a list of values: write it without `axes`",
    "settings": "settings are written directly where they hold, at the level of `grids`, without `settings`",
    "papers": "the changes of a preset are written under `presets` in config/papers/<slug>/",
    "experiments": "an experiment is a file of its own, config/papers/<slug>/<experiment>.yaml",
    "experiment": "a figure is written in the file of its experiment, under `figures`",
}


def refuse_unknown(tree: Tree, kind: str, valid: Collection[str], path: str = "") -> None:
    """Reject invalid keys in a section of a file, and suggest the nearest valid key.

    Args:
        tree: the keys and values of the section.
        kind: the term for a key in error messages, such as `word` or `setting`.
        valid: the valid keys.
        path: the prefix of the key in error messages, such as `stated.`; empty at the top of a file.

    Raises:
        ConfigurationError: a key is invalid; the message names file and line.
    """
    for key, entry in tree.items():
        if key not in valid:
            problem = _MOVED.get(key) or unknown(kind, key, valid)
            raise ConfigurationError(f"{path}{key}", problem, place=entry.origin)


def refuse_misfits(tree: Tree, path: str = "") -> None:
    """Reject values of the wrong type.

    Raises:
        ConfigurationError: a value has the wrong type; for each one, the message names file, line, key and valid types.
    """
    errors = [
        ConfigurationError(
            f"{path}{'.'.join(map(str, error.path))}", error, place=origin_at(tree, error.path)
        )
        for error in misfits(plain(tree.only(_TYPES)), _TYPES, ())
    ]
    if errors:
        raise combined(errors)


def mapping(entry: Entry, path: str) -> Tree:
    """Return a value that must be a mapping; a missing value counts as an empty mapping.

    Raises:
        ConfigurationError: the value is not a mapping.
    """
    if isinstance(entry, Tree):
        return entry
    if entry.value is None:
        return Tree(entry.origin)
    raise ConfigurationError(
        path, f"should be a mapping, not {entry.value!r:.80}", place=entry.origin
    )


def checked_section(
    tree: Tree,
    keys: frozenset[str],
    settings: frozenset[str],
    path: str,
    presets: Iterable[str] = (),
) -> Tree:
    """Return a base, an experiment, a grid, or a change to one, with keys checked and ranges expanded.

    Args:
        tree: the keys and values of the section.
        keys: the valid keys other than settings.
        settings: the names of all settings.
        path: the prefix of keys in error messages.
        presets: the presets that the section may change.

    Raises:
        ConfigurationError: a key, a type or a range is invalid.
    """
    refuse_unknown(tree, "word or setting", keys | settings, path)
    refuse_misfits(tree.only(keys), path)
    checked = Tree(tree.origin)
    for key, entry in tree.items():
        if key == "grids":
            inner = GRID if "extends" in keys else CHANGED_GRID
            checked[key] = _grids(entry, inner, settings, f"{path}grids.")
        elif key == "presets":
            changed = CHANGED_EXPERIMENT if "grids" in keys else CHANGED_BASE
            checked[key] = _presets(entry, changed, settings, f"{path}presets.", tuple(presets))
        elif key in keys:
            checked[key] = entry
        else:
            checked[key] = _setting(entry, path + key)
    return checked


def _setting(entry: Entry, path: str) -> Entry:
    if isinstance(entry, Leaf):
        return entry
    content = plain(entry)
    try:
        value = expanded(content)
    except ValueError as error:
        raise ConfigurationError(path, error, place=entry.origin) from None
    return entry if value is content else Leaf(value, entry.origin)


def _grids(entry: Entry, keys: frozenset[str], settings: frozenset[str], path: str) -> Tree:
    """Return the nodes of a tree of grids.

    A list of names is short for one node for each name, which extends the base of this name.
    """
    if isinstance(entry, Leaf) and isinstance(entry.value, list) and keys is GRID:
        extending = {
            name: Tree(entry.origin, {"extends": Leaf(name, entry.origin)}) for name in entry.value
        }
        return Tree(entry.origin, extending)
    nodes = Tree(entry.origin)
    for name, node in mapping(entry, path.removesuffix(".")).items():
        gone = isinstance(node, Leaf) and node.value is None and keys is CHANGED_GRID
        inner = f"{path}{name}."
        nodes[name] = (
            node if gone else checked_section(mapping(node, path + name), keys, settings, inner)
        )
    return nodes


def _presets(
    entry: Entry,
    keys: frozenset[str],
    settings: frozenset[str],
    path: str,
    presets: Collection[str],
) -> Tree:
    changes = mapping(entry, path.removesuffix("."))
    checked = Tree(changes.origin)
    for name, change in changes.items():
        if name not in presets:
            raise ConfigurationError(
                f"{path}{name}", unknown("preset", name, presets), place=change.origin
            )
        checked[name] = checked_section(
            mapping(change, path + name), keys, settings, f"{path}{name}."
        )
    return checked


def refuse_new_grids(section: Tree, change: Tree, path: str = "") -> None:
    """Reject changes to grids that do not exist, which are probably misspelt.

    Args:
        section: the section that is changed.
        change: the change.
        path: the prefix of keys in error messages.

    Raises:
        ConfigurationError: a grid does not exist; the message names file, line and the nearest grid.
    """
    nodes = section.tree("grids")
    for name, node in change.tree("grids").items():
        if name not in nodes:
            problem = unknown("grid", name, nodes)
            raise ConfigurationError(f"{path}grids", problem, place=node.origin)
        below = nodes[name]
        if isinstance(node, Tree) and isinstance(below, Tree):
            refuse_new_grids(below, node, f"{path}grids.{name}.")


def named(tree: Tree, part: str, path: str = "") -> Tree:
    """Return a part of a file that maps names to mappings."""
    entries = mapping(tree.get(part, Leaf(None, tree.origin)), path + part)
    items = {name: mapping(entry, f"{path}{part}.{name}") for name, entry in entries.items()}
    return Tree(entries.origin, items)


def figures(tree: Tree, known: Collection[str] | None = None, path: str = "") -> Tree:
    """Return the figures of a file, or changes to `known` figures, with their names and keys checked.

    Raises:
        ConfigurationError: a name or key is invalid; the message names file and line.
    """
    checked = named(tree, "figures", path)
    for name, entry in checked.items():
        figure = mapping(entry, name)
        if known is not None and name not in known:
            raise ConfigurationError(
                f"{path}figures", unknown("figure", name, known), place=figure.origin
            )
        if not NAME.fullmatch(name):
            raise ConfigurationError(f"{path}figures.{name}", NAMED, place=figure.origin)
        where = f"{path}figures.{name}."
        refuse_unknown(figure, "word", FIGURE, where)
        refuse_misfits(figure, where)
    return checked
