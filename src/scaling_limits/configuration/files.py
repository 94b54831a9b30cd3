"""Reading of configuration files."""

import math
import re
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import ClassVar, TypeVar

import yaml

from scaling_limits.configuration.trees import Entry, Leaf, Origin, Tree
from scaling_limits.errors import ConfigurationError

T = TypeVar("T")
_MAX_DEPTH = 50


class _Loader(yaml.CSafeLoader):
    """A YAML loader with the scalars of the core schema of YAML 1.2, which rejects repeated keys.

    PyYAML reads the scalars of YAML 1.1: `on` as true, `010` as 8, `1e5` as text. The parser is the one in C, because
    the parser in Python takes a second for the files of a paper.
    """

    yaml_implicit_resolvers: dict[str, object] = {}  # noqa: RUF012
    yaml_constructors: ClassVar[dict[str | None, object]] = {}

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Hashable, object]:
        if not isinstance(node, yaml.MappingNode):
            return super().construct_mapping(node, deep=deep)  # raises an error
        seen: set[str] = set()
        return {
            self.key(key, seen): self.construct_object(value, deep) for key, value in node.value
        }

    def key(self, node: yaml.Node, seen: set[str]) -> str:
        """Return the key of a mapping as written, and add it to the keys `seen` before.

        Raises:
            yaml.YAMLError: the key is not a scalar, or was seen before.
        """
        line = node.start_mark.line + 1
        if not isinstance(node, yaml.ScalarNode):
            raise yaml.YAMLError(f"line {line}: a key has to be a word or a number")
        key = str(node.value)
        if key in seen:
            raise yaml.YAMLError(f"line {line}: key '{key}' occurs twice")
        seen.add(key)
        return key

    def entry(self, node: object, file: str, inheritance: tuple[str, ...], line: int) -> Entry:
        """Convert a YAML node to values with the lines of their keys; all items of a list have the list's line.

        Args:
            node: the YAML node.
            file: the path of the file, for error messages.
            inheritance: the inheritance path of the values, for error messages (`Origin`).
            line: the line of the node's key, from 1.

        Returns:
            A tree if the node is a mapping, otherwise a leaf.
        """
        origin = Origin(file, line, inheritance)
        if not isinstance(node, yaml.MappingNode):
            return Leaf(self.construct_object(node, deep=True), origin)
        tree, seen = Tree(origin), set[str]()
        for key_node, value in node.value:
            key = self.key(key_node, seen)
            tree[key] = self.entry(value, file, inheritance, key_node.start_mark.line + 1)
        return tree


_FLOAT = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
_SCALARS: tuple[tuple[str, str, str, Callable[[str], object]], ...] = (
    ("null", r"~|null|Null|NULL|", "~nN\0", lambda _: None),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF", lambda text: text[0] in "tT"),
    ("int", r"[-+]?[0-9]+", "-+0123456789", int),
    ("int", r"0o[0-7]+|0x[0-9a-fA-F]+", "0", lambda text: int(text, 0)),
    ("float", _FLOAT, "-+.0123456789", float),
    ("float", r"[-+]?\.(?:inf|Inf|INF)", "-+.", lambda text: float(text.replace(".", ""))),
    ("float", r"\.(?:nan|NaN|NAN)", ".", lambda _: math.nan),
)
"""Tag, pattern, first characters and value of each kind of scalar."""


def _schema() -> None:
    """Set up the loader for `_SCALARS`, text, lists and mappings; other tags (`!!binary`, `!!set`) are rejected."""

    def scalar(loader: _Loader, node: yaml.Node) -> object:
        text = node.value if isinstance(node, yaml.ScalarNode) else ""
        for tag, pattern, _, value in _SCALARS:
            if node.tag == f"tag:yaml.org,2002:{tag}" and re.fullmatch(pattern, text):
                return value(text)
        line = node.start_mark.line + 1
        raise yaml.YAMLError(f"line {line}: {node.value!r:.80} is no {node.tag.rpartition(':')[2]}")

    for tag, pattern, first, _ in _SCALARS:
        full_pattern = re.compile(rf"(?:{pattern})\Z")
        name = f"tag:yaml.org,2002:{tag}"
        _Loader.add_implicit_resolver(name, full_pattern, ["" if c == "\0" else c for c in first])
        _Loader.add_constructor(name, scalar)
    for kind in ("str", "seq", "map"):
        name = f"tag:yaml.org,2002:{kind}"
        _Loader.add_constructor(name, yaml.SafeLoader.yaml_constructors[name])
    _Loader.add_constructor(None, yaml.SafeLoader.yaml_constructors[None])


_schema()


def read_yaml(path: Path) -> dict[str, object]:
    """Read a mapping from a YAML file.

    Raises:
        ConfigurationError: the file is missing, unreadable, invalid YAML, contains a key twice, or is not a mapping.
    """
    return _mapping(path, str(path), lambda text: yaml.load(text, Loader=_Loader), dict)


def yaml_files(root: Path, folder: str) -> list[Path]:
    """Return the YAML files in a folder of the project, sorted by name, without hidden files and folders.

    Raises:
        ConfigurationError: a file ends in `.yml` and would be overlooked.
    """
    files = [path for path in (root / folder).glob("*.y*ml") if path.name[0] != "."]
    for path in files:
        if path.suffix == ".yml":
            place = f"{folder}/{path.name}"
            raise ConfigurationError(None, f"rename it to {path.stem}.yaml", place=place)
    return sorted(path for path in files if path.suffix == ".yaml" and not path.is_dir())


def read_tree(path: Path, file: str) -> Tree:
    """Read a mapping with the lines of its keys.

    Args:
        path: the file.
        file: the name of the file in error messages.

    Raises:
        ConfigurationError: as in `read_yaml`.
    """

    def parsed(text: str) -> Entry:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            return Leaf(None, Origin(file)) if node is None else loader.entry(node, file, (), 1)
        finally:
            loader.dispose()

    return _mapping(path, file, parsed, Tree)


def _mapping(path: Path, file: str, parse: Callable[[str], object], kind: type[T]) -> T:
    try:
        text = path.read_text(encoding="utf-8")
        _refuse_unbounded(text)
        content = parse(text)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigurationError(
            None, f"cannot be read: {error.problem}", place=f"{file}{line}"
        ) from error
    except Exception as error:
        # PyYAML also raises errors of invalid values, such as a month 13
        raise ConfigurationError(None, f"cannot be read: {error}", place=file) from error
    if not isinstance(content, kind):
        raise ConfigurationError(None, "should be a mapping of keys to values", place=file)
    return content


def _refuse_unbounded(text: str) -> None:
    """Reject files that could exhaust memory or stack, before any value is constructed.

    Aliases can expand a small file to gigabytes.
    """
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.AliasEvent):
            raise yaml.YAMLError(f"line {line}: aliases are not allowed")
        if depth > _MAX_DEPTH:
            raise yaml.YAMLError(f"line {line}: nested in more than {_MAX_DEPTH} levels")
