"""Reading configuration files, merging layers, and saying where a wrong value stands."""

import re
import types
import typing
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from scaling_limits.errors import ConfigurationError, unknown

M = TypeVar("M", bound=BaseModel)
_MAX_DEPTH = 50


class _Loader(yaml.CSafeLoader):
    """YAML without duplicate keys; PyYAML's own parser would take a second for the file of a paper."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise yaml.YAMLError(
                    f"line {key_node.start_mark.line + 1}: a key has to be a word or a number"
                )
            if key in seen:
                raise yaml.YAMLError(
                    f"line {key_node.start_mark.line + 1}: key '{key}' stands twice"
                )
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a mapping from a YAML file.

    Raises:
        ConfigurationError: the file is missing, unreadable, not YAML, has a key twice, or is no mapping.
    """
    try:
        text = path.read_text(encoding="utf-8")
        _refuse_unbounded(text)
        content = yaml.load(text, Loader=_Loader)
    except Exception as error:
        # besides its own errors, PyYAML lets through what values stumble over, as a month 13
        raise ConfigurationError(f"{path}: cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise ConfigurationError(f"{path}: should be a mapping of keys to values")
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


class Layers:
    """Nested mappings merged one over another, remembering which layer said what."""

    def __init__(self) -> None:
        self.merged: dict[str, Any] = {}
        self._origins: dict[tuple[str, ...], str] = {}

    def add(self, layer: Mapping[str, Any], origin: str) -> "Layers":
        """Merge `layer` over what is there: mappings key by key, everything else replaced."""
        self.merged = self._merge(self.merged, layer, origin, ())
        return self

    def _merge(self, base: Any, over: Any, origin: str, path: tuple[str, ...]) -> Any:
        if isinstance(base, Mapping) and isinstance(over, Mapping):
            merged = dict(base)
            for key, value in over.items():
                merged[key] = self._merge(base.get(key), value, origin, (*path, str(key)))
            return merged
        self._note(over, origin, path)
        return over

    def _note(self, value: Any, origin: str, path: tuple[str, ...]) -> None:
        self._origins[path] = origin
        if isinstance(value, Mapping):
            for key, inner in value.items():
                self._note(inner, origin, (*path, str(key)))

    def origin(self, path: Iterable[str | int]) -> str:
        """The layer that said the value at `path`, or the nearest one above it.

        Parts that no layer says, as the tag of a union in the location of a validation error, are passed over.
        """
        known: tuple[str, ...] = ()
        for part in path:
            if (*known, str(part)) in self._origins:
                known = (*known, str(part))
        return self._origins.get(known, "configuration")

    def origins(self, path: tuple[str, ...]) -> str:
        """All layers that say something at `path` or below it."""
        found = [o for known, o in self._origins.items() if known[: len(path)] == path]
        return ", ".join(dict.fromkeys(found))

    def knows(self, path: tuple[str, ...]) -> bool:
        """Whether some layer says a value at exactly `path`."""
        return path in self._origins

    def validate(self, model: type[M]) -> M:
        """The merged mapping as `model`.

        Raises:
            ConfigurationError: names, for each thing wrong, the file, the key and what would be valid.
        """
        try:
            return model.model_validate(self.merged)
        except ValidationError as error:
            lines = [self._explain(model, entry) for entry in error.errors()]
            raise ConfigurationError("\n".join(dict.fromkeys(lines))) from None

    def _explain(self, model: type[BaseModel], entry: Any) -> str:
        location = entry["loc"]
        where = f"{self.origin(location)}: {'.'.join(str(part) for part in location)}"
        return f"{where}: {explain(entry, 'key', _fields_at(model, location[:-1]))}"


def explain(entry: Any, kind: str, fields: Iterable[str]) -> str:
    """What is wrong, from one entry of a validation error: with the nearest of the valid words where there are any.

    Args:
        entry: an entry of `ValidationError.errors()`.
        kind: what the names of the model's fields are called.
        fields: the names that are valid where the entry stands.
    """
    if entry["type"] == "extra_forbidden":
        return unknown(kind, entry["loc"][-1], fields)
    if entry["type"] == "literal_error":
        return unknown("value", entry["input"], re.findall("'([^']*)'", entry["ctx"]["expected"]))
    return f"{entry['msg']} (found {entry['input']!r:.80})"


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
