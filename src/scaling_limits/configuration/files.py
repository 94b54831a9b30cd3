"""Reading of configuration files, and error messages with the place of an invalid value."""

import math
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from scaling_limits.configuration.trees import Leaf, Origin, Tree, Word, origin_at, plain
from scaling_limits.errors import ConfigurationError, ScalingLimitsError, unknown

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
Location = tuple[int | str, ...]
"""The location of an entry of a validation error."""
_MAX_DEPTH = 50
_INTERNAL = re.compile(r"constrained-\w+|function-.*|\w+\[.*\]|\[key\]|int|float|str|bool|mapping")


class _Loader(yaml.CSafeLoader):
    """A YAML loader with the scalars of the core schema of YAML 1.2, which rejects repeated keys.

    PyYAML reads the scalars of YAML 1.1: `on` as true, `010` as 8, `1e5` as text. The parser is the one in C, because
    the parser in Python takes a second for the files of a paper.
    """

    yaml_implicit_resolvers: dict[str, object] = {}  # noqa: RUF012
    yaml_constructors: typing.ClassVar[dict[Any, Any]] = {}

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        if not isinstance(node, yaml.MappingNode):
            return super().construct_mapping(node, deep=deep)  # raises an error
        seen: set[str] = set()
        return {
            self.key(key, seen): self.construct_object(value, deep) for key, value in node.value
        }

    def key(self, node: Any, seen: set[str]) -> str:
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

    def words(self, node: object, file: str, way: tuple[str, ...], line: int) -> Word:
        """Convert a YAML node to values with the lines of their keys; all items of a list have the list's line.

        Args:
            node: the YAML node.
            file: the path of the file, for error messages.
            way: the inheritance path of the values, for error messages (`Origin`).
            line: the line of the node's key, from 1.

        Returns:
            A tree if the node is a mapping, otherwise a leaf.
        """
        origin = Origin(file, line, way)
        if not isinstance(node, yaml.MappingNode):
            return Leaf(self.construct_object(node, deep=True), origin)
        tree, seen = Tree(origin), set[str]()
        for key_node, value in node.value:
            key = self.key(key_node, seen)
            tree[key] = self.words(value, file, way, key_node.start_mark.line + 1)
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

    def scalar(loader: Any, node: Any) -> Any:
        text = node.value if isinstance(node, yaml.ScalarNode) else ""
        for tag, pattern, _, value in _SCALARS:
            if node.tag == f"tag:yaml.org,2002:{tag}" and re.fullmatch(pattern, text):
                return value(text)
        line = node.start_mark.line + 1
        raise yaml.YAMLError(f"line {line}: {node.value!r:.80} is no {node.tag.rpartition(':')[2]}")

    for tag, pattern, first, _ in _SCALARS:
        whole = re.compile(rf"(?:{pattern})\Z")
        name = f"tag:yaml.org,2002:{tag}"
        _Loader.add_implicit_resolver(name, whole, ["" if c == "\0" else c for c in first])
        _Loader.add_constructor(name, scalar)
    for kind in ("str", "seq", "map"):
        name = f"tag:yaml.org,2002:{kind}"
        _Loader.add_constructor(name, yaml.SafeLoader.yaml_constructors[name])
    _Loader.add_constructor(None, yaml.SafeLoader.yaml_constructors[None])


_schema()


def read_yaml(path: Path) -> dict[str, Any]:
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
    there = [path for path in (root / folder).glob("*.y*ml") if path.name[0] != "."]
    for path in there:
        if path.suffix == ".yml":
            raise ConfigurationError(None, f"{folder}/{path.name}: rename it to {path.stem}.yaml")
    return sorted(path for path in there if path.suffix == ".yaml" and not path.is_dir())


def read_tree(path: Path, file: str) -> Tree:
    """Read a mapping with the lines of its keys.

    Args:
        path: the file.
        file: the name of the file in error messages.

    Raises:
        ConfigurationError: as in `read_yaml`.
    """

    def words(text: str) -> Word:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            return Leaf(None, Origin(file)) if node is None else loader.words(node, file, (), 1)
        finally:
            loader.dispose()

    return _mapping(path, file, words, Tree)


def _mapping(path: Path, file: str, parse: Callable[[str], object], kind: type[T]) -> T:
    try:
        text = path.read_text(encoding="utf-8")
        _refuse_unbounded(text)
        content = parse(text)
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


def validate(
    model: type[M],
    said: Tree,
    content: object = None,
    path: str = "",
    written: Callable[[Location], Location] = lambda location: location,
    told_of: Iterable[Location] = (),
) -> M:
    """Validate part of a configuration as a model.

    Args:
        model: the pydantic model.
        said: the keys and values as written, with their files and lines.
        content: the content to validate if it differs from `said`; None for `said` itself.
        path: the prefix of keys in error messages; empty at the top of a file.
        written: maps a location in `content` to the corresponding location in `said`; by default they are equal.
        told_of: locations whose problems were already reported and are omitted here.

    Returns:
        The validated model.

    Raises:
        ConfigurationError: the content is invalid; for each problem, the message names file, line, key and valid
            values.
    """
    whole = plain(said) if content is None else content
    try:
        return model.model_validate(whole)
    except ValidationError as error:
        lines = []
        for place_in_content, problem in explained(model, error, whole):
            location = written(place_in_content)
            if any(location[: len(place)] == place for place in told_of):
                continue
            lines.append(f"{origin_at(said, location)}: {path}{dotted(location)}: {problem}")
        raise ConfigurationError(None, "\n".join(dict.fromkeys(lines))) from None


def explained(
    model: type[BaseModel], error: ValidationError, content: object
) -> Iterator[tuple[Location, str]]:
    """Yield the location and explanation of each problem found when validating `content` as a model."""
    for entry in told(error):
        fields = _fields_at(model, entry["loc"][:-1], content)
        yield entry["loc"], explain(entry, "key", fields)


def validated(model: type[M], content: object, place: str) -> M:
    """Validate the content of a data file as a model.

    Args:
        model: the pydantic model.
        content: the content, or a part of it.
        place: the file and the location of the part, as a prefix of keys in messages.

    Returns:
        The validated model.

    Raises:
        ConfigurationError: the content is invalid; the message has a line for each problem, with the key and valid
            values.
    """
    try:
        return model.model_validate(content)
    except ValidationError as error:
        lines = [
            f"{place}{'.'.join(map(str, key))}: {problem}"
            for key, problem in explained(model, error, content)
        ]
        raise ConfigurationError(None, "\n".join(lines)) from None


def raise_together(checks: Iterable[Callable[[], Any]]) -> list[Any]:
    """Run all checks and return their results.

    Raises:
        ScalingLimitsError: the error of the only check that failed.
        ConfigurationError: the messages of all failed checks, with repeated lines removed.
    """
    found: list[object] = []
    errors: dict[str, ScalingLimitsError] = {}
    for check in checks:
        try:
            found.append(check())
        except ScalingLimitsError as error:
            errors.setdefault(str(error), error)
    if len(errors) == 1:
        raise next(iter(errors.values()))
    if errors:
        lines = (line for text in errors for line in text.splitlines())
        raise ConfigurationError(None, "\n".join(dict.fromkeys(lines)))
    return found


def told(error: ValidationError) -> list[Any]:
    """Return the entries of a validation error that are reported to the user.

    If a value may be a keyword, only the list of valid keywords is reported, and not that the value is no number.
    """
    entries: list[Any] = [_at_tag(entry) for entry in error.errors()]
    # report a misspelt key before the key that is therefore missing
    entries.sort(key=lambda entry: entry["type"] != "extra_forbidden")
    words = {dotted(entry["loc"]) for entry in entries if entry["type"] == "literal_error"}
    told = [e for e in entries if e["type"] == "literal_error" or dotted(e["loc"]) not in words]
    # pydantic reports a list with invalid items as too short
    return [e for e in told if not (e["type"] == "too_short" and _has_inner(e["loc"], told))]


def _has_inner(location: Location, entries: Iterable[Any]) -> bool:
    depth = len(location)
    return any(e["loc"][:depth] == location and len(e["loc"]) > depth for e in entries)


def dotted(location: Location) -> str:
    """Return a location as a dotted key."""
    return ".".join(map(str, as_written(location)))


def as_written(location: Location) -> Location:
    """Return a location without pydantic's names for members of unions and for keys."""
    return tuple(part for part in location if not _INTERNAL.fullmatch(str(part)))


def explain(entry: Any, kind: str, fields: Iterable[str]) -> str:
    """Return the explanation of one entry of a validation error, with the nearest valid word if there are valid words.

    Args:
        entry: an entry of `ValidationError.errors()`.
        kind: the term for the names of the model's fields.
        fields: the names that are valid at the location of the entry.
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
    # pydantic's prefix of the messages of validators
    message = entry["msg"].removeprefix("Value error, ")
    return f"{message} (found {entry['input']!r:.80})"


def _at_tag(entry: Any) -> Any:
    """Return an entry with the key of the tag added to its location if the tag of a union is wrong."""
    if not entry["type"].startswith("union_tag"):
        return entry
    return {**entry, "loc": (*entry["loc"], entry["ctx"]["discriminator"].strip("'"))}


def _fields_at(annotation: Any, location: tuple[str | int, ...], content: Any) -> set[str]:
    """Return the field names of the model at `location` inside an annotation, given content of this type."""
    while typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        # the location contains the tag of a discriminated union, which selects the member
        tagged = [member for member in arguments if location and location[0] == _tag(member)]
        if tagged:
            return _fields_at(tagged[0], location[1:], content)
        if location and _INTERNAL.fullmatch(str(location[0])):
            location = location[1:]
        return set().union(*(_fields_at(member, location, content) for member in arguments))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if hasattr(annotation, "of_content"):
            # for a base of several models, the content selects the model
            annotation = annotation.of_content(content)
        if not location:
            return set(annotation.model_fields)
        field = annotation.model_fields.get(str(location[0]))
        inner = _inside(content, location[0])
        return _fields_at(field.annotation, location[1:], inner) if field else set()
    if arguments and location:
        inner = [each for each in arguments if each is not ...]
        return _fields_at(inner[-1], location[1:], _inside(content, location[0]))
    return set()


def _inside(content: Any, key: str | int) -> Any:
    """Return an entry of a mapping or a list, or None if it does not exist."""
    try:
        return content[key]
    except (KeyError, IndexError, TypeError):
        return None


def _tag(member: Any) -> Any:
    """Return the required value of the field `kind` of a member of a discriminated union, or None."""
    field = getattr(member, "model_fields", {}).get("kind")
    return typing.get_args(field.annotation)[0] if field else None
