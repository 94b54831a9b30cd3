"""Reading configuration files, and saying where a wrong value stands."""

import re
import types
import typing
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from scaling_limits.configuration.trees import Leaf, Origin, Tree, Word, origin_at, plain
from scaling_limits.errors import ConfigurationError, unknown

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
Location = tuple[int | str, ...]
"""Where an entry of a validation error stands."""
_MAX_DEPTH = 50
_INTERNAL = re.compile(r"constrained-\w+|function-.*|\w+\[.*\]|\[key\]|int|float|str|bool")


class _Loader(yaml.CSafeLoader):
    """YAML without duplicate keys; PyYAML's own parser would take a second for the files of a paper."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            self.key(key_node, seen)
        return super().construct_mapping(node, deep=deep)

    def key(self, node: Any, seen: set[Any]) -> Any:
        """The key of a mapping, which none of those `seen` may be."""
        key = self.construct_object(node, deep=True)
        line = node.start_mark.line + 1
        if not isinstance(key, Hashable):
            raise yaml.YAMLError(f"line {line}: a key has to be a word or a number")
        if key in seen:
            raise yaml.YAMLError(f"line {line}: key '{key}' stands twice")
        seen.add(key)
        return key

    def words(self, node: Any, file: str, way: tuple[str, ...], line: int) -> Word:
        """A node with the lines of its keys; what stands in a list has that of the list."""
        origin = Origin(file, line, way)
        if not isinstance(node, yaml.MappingNode):
            return Leaf(self.construct_object(node, deep=True), origin)
        tree, seen = Tree(origin), set[Any]()
        for key_node, value in node.value:
            key = str(self.key(key_node, seen))
            tree[key] = self.words(value, file, way, key_node.start_mark.line + 1)
        return tree


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a mapping from a YAML file.

    Raises:
        ConfigurationError: the file is missing, unreadable, not YAML, has a key twice, or is no mapping.
    """
    return _mapping(path, str(path), lambda text: yaml.load(text, Loader=_Loader), dict)


def yaml_files(root: Path, folder: str) -> list[Path]:
    """The YAML files of a folder below the project's, sorted by name; hidden ones (an editor's) and folders are none.

    Raises:
        ConfigurationError: a file ends in `.yml`, and so would be passed over.
    """
    there = [path for path in (root / folder).glob("*.y*ml") if path.name[0] != "."]
    for path in there:
        if path.suffix == ".yml":
            raise ConfigurationError(f"{folder}/{path.name}: rename it to {path.stem}.yaml")
    return sorted(path for path in there if path.suffix == ".yaml" and not path.is_dir())


def read_tree(path: Path, file: str) -> Tree:
    """Read a mapping with its lines; `file` is what the file is called.

    Raises:
        ConfigurationError: as `read_yaml`.
    """

    def words(text: str) -> Word:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            return Leaf(None, Origin(file)) if node is None else loader.words(node, file, (), 1)
        finally:
            loader.dispose()

    return _mapping(path, file, words, Tree)


def _mapping(path: Path, file: str, parse: Callable[[str], Any], kind: type[T]) -> T:
    try:
        text = path.read_text(encoding="utf-8")
        _refuse_unbounded(text)
        content = parse(text)
    except Exception as error:
        # besides its own errors, PyYAML lets through what values stumble over, as a month 13
        raise ConfigurationError(f"{file}: cannot be read: {error}") from error
    if not isinstance(content, kind):
        raise ConfigurationError(f"{file}: should be a mapping of keys to values")
    return content


def _refuse_unbounded(text: str) -> None:
    """Refuse what could exhaust the memory or the stack before any value is made.

    Aliases can blow a small file up to gigabytes.
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


def validate(
    model: type[M],
    said: Tree,
    content: Any = None,
    path: str = "",
    written: Callable[[Location], Location] = lambda location: location,
) -> M:
    """What is said as `model`; `content` is what became of it, if that is something else, and `written` gives the place
    in `said` of one in `content`.

    Raises:
        ConfigurationError: names, for each thing wrong, the file, the line, the key and what would be valid.
    """
    try:
        return model.model_validate(plain(said) if content is None else content)
    except ValidationError as error:
        lines = []
        for entry in told(error):
            location = written(entry["loc"])
            problem = explain(entry, "key", _fields_at(model, entry["loc"][:-1]))
            lines.append(f"{origin_at(said, location)}: {path}{dotted(location)}: {problem}")
        raise ConfigurationError("\n".join(dict.fromkeys(lines))) from None


def told(error: ValidationError) -> list[Any]:
    """The entries of an error of which a user is told: where a value may be a word, that it is not this one, and not
    that it is no number either.
    """
    entries: list[Any] = [_at_tag(entry) for entry in error.errors()]
    # a mistyped key first, then what it lacks for that
    entries.sort(key=lambda entry: entry["type"] != "extra_forbidden")
    words = {dotted(entry["loc"]) for entry in entries if entry["type"] == "literal_error"}
    return [e for e in entries if e["type"] == "literal_error" or dotted(e["loc"]) not in words]


def dotted(location: Location) -> str:
    """A place as a user writes it, without what pydantic calls the members of a union, or a key."""
    return ".".join(str(part) for part in location if not _INTERNAL.fullmatch(str(part)))


def explain(entry: Any, kind: str, fields: Iterable[str]) -> str:
    """What is wrong, from one entry of a validation error: with the nearest of the valid words where there are any.

    Args:
        entry: an entry of `ValidationError.errors()`.
        kind: what the names of the model's fields are called.
        fields: the names that are valid where the entry stands.
    """
    if entry["type"] == "extra_forbidden":
        return unknown(kind, entry["loc"][-1], fields)
    if entry["type"] == "union_tag_invalid":
        kinds = re.findall("'([^']*)'", entry["ctx"]["expected_tags"])
        return unknown("value", entry["ctx"]["tag"], kinds)
    if entry["type"] == "union_tag_not_found":
        return "Field required"
    if entry["type"] == "literal_error":
        return unknown("value", entry["input"], re.findall("'([^']*)'", entry["ctx"]["expected"]))
    return f"{entry['msg']} (found {entry['input']!r:.80})"


def _at_tag(entry: Any) -> Any:
    """Of a wrong tag of a union, with the key of the tag in its place."""
    if not entry["type"].startswith("union_tag"):
        return entry
    return {**entry, "loc": (*entry["loc"], entry["ctx"]["discriminator"].strip("'"))}


def _fields_at(annotation: Any, location: tuple[str | int, ...]) -> set[str]:
    """The field names that the model at `location` of an annotation knows."""
    while typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        # the tag of a discriminated union stands in the location and says which member is meant
        tagged = [member for member in arguments if location and location[0] == _tag(member)]
        if tagged:
            return _fields_at(tagged[0], location[1:])
        return set().union(*(_fields_at(member, location) for member in arguments))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if not location:
            return set(annotation.model_fields)
        field = annotation.model_fields.get(str(location[0]))
        return _fields_at(field.annotation, location[1:]) if field else set()
    if arguments and location:
        return _fields_at(arguments[-1], location[1:])
    return set()


def _tag(member: Any) -> Any:
    """What the field `kind` of a member of a discriminated union has to be; None for anything else."""
    field = getattr(member, "model_fields", {}).get("kind")
    return typing.get_args(field.annotation)[0] if field else None
