"""Validation of values as models, and error messages with the location of an invalid value."""

import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from scaling_limits.configuration.trees import Tree, origin_at, plain
from scaling_limits.errors import ConfigurationError, ScalingLimitsError, unknown

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
Location = tuple[int | str, ...]
"""The location of an entry of a validation error."""
_INTERNAL = re.compile(r"constrained-\w+|function-.*|\w+\[.*\]|\[key\]|int|float|str|bool|mapping")


def validate(
    model: type[M],
    tree: Tree,
    content: object = None,
    path: str = "",
    written: Callable[[Location], Location] = lambda location: location,
    reported: Iterable[Location] = (),
) -> M:
    """Validate part of a configuration as a model.

    Args:
        model: the pydantic model.
        tree: the keys and values as written, with their files and lines.
        content: the content to validate if it differs from `tree`; None for `tree` itself.
        path: the prefix of keys in error messages; empty at the top of a file.
        written: maps a location in `content` to the corresponding location in `tree`; by default they are equal.
        reported: locations whose problems were already reported and are omitted here.

    Returns:
        The validated model.

    Raises:
        ConfigurationError: the content is invalid; for each problem, the message names file, line, key and valid
            values.
    """
    values = plain(tree) if content is None else content
    try:
        return model.model_validate(values)
    except ValidationError as error:
        errors = []
        for content_location, problem in explained(model, error, values):
            location = written(content_location)
            if any(location[: len(prefix)] == prefix for prefix in reported):
                continue
            origin = origin_at(tree, location)
            errors.append(ConfigurationError(f"{path}{dotted(location)}", problem, place=origin))
        raise combined(errors) from None


def explained(
    model: type[BaseModel], error: ValidationError, content: object
) -> Iterator[tuple[Location, str]]:
    """Yield the location and explanation of each problem found when validating `content` as a model."""
    for entry in reported_errors(error):
        fields = _fields_at(model, entry["loc"][:-1], content)
        yield entry["loc"], explain(entry, "key", fields)


def validated(model: type[M], content: object, file: Path, path: str = "") -> M:
    """Validate the content of a data file as a model.

    Args:
        model: the pydantic model.
        content: the content, or a part of it.
        file: the file.
        path: the prefix of keys in error messages, such as `registered.0.`; empty for the whole content.

    Returns:
        The validated model.

    Raises:
        ConfigurationError: the content is invalid; the message has a line for each problem, with the key and valid
            values.
    """
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise combined(
            ConfigurationError(f"{path}{'.'.join(map(str, key))}", problem, place=file)
            for key, problem in explained(model, error, content)
        ) from None


def raise_together(checks: Iterable[Callable[[], T]]) -> list[T]:
    """Run all checks and return their results.

    Raises:
        ScalingLimitsError: the error of the only check that failed.
        ConfigurationError: the messages of all failed checks, with repeated lines removed.
    """
    results: list[T] = []
    errors: list[ScalingLimitsError] = []
    for check in checks:
        try:
            results.append(check())
        except ScalingLimitsError as error:
            errors.append(error)
    if errors:
        raise combined(errors)
    return results


def combined(errors: Iterable[ScalingLimitsError]) -> ScalingLimitsError:
    """Return one error for several: the only one, with its key, or an error with the lines of all, each once."""
    distinct = {str(error): error for error in errors if str(error)}
    if len(distinct) == 1:
        return next(iter(distinct.values()))
    lines = (line for text in distinct for line in text.splitlines())
    return ConfigurationError(None, "\n".join(dict.fromkeys(lines)))


def reported_errors(error: ValidationError) -> list[ErrorDetails]:
    """Return the entries of a validation error that are reported to the user.

    If a value may be a keyword, only the list of valid keywords is reported, and not that the value is no number.
    """
    entries = [_at_tag(entry) for entry in error.errors()]
    # report a misspelt key before the key that is therefore missing
    entries.sort(key=lambda entry: entry["type"] != "extra_forbidden")
    keywords = {dotted(entry["loc"]) for entry in entries if entry["type"] == "literal_error"}
    reported = [
        e for e in entries if e["type"] == "literal_error" or dotted(e["loc"]) not in keywords
    ]
    # pydantic reports a list with invalid items as too short
    return [
        e for e in reported if not (e["type"] == "too_short" and _has_inner(e["loc"], reported))
    ]


def _has_inner(location: Location, entries: Iterable[ErrorDetails]) -> bool:
    depth = len(location)
    return any(e["loc"][:depth] == location and len(e["loc"]) > depth for e in entries)


def dotted(location: Location) -> str:
    """Return a location as a dotted key."""
    return ".".join(map(str, as_written(location)))


def as_written(location: Location) -> Location:
    """Return a location without pydantic's names for members of unions and for keys."""
    return tuple(part for part in location if not _INTERNAL.fullmatch(str(part)))


def explain(entry: ErrorDetails, kind: str, fields: Iterable[str]) -> str:
    """Return the explanation of one entry of a validation error, with the nearest valid name if there are valid names.

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
    if entry["type"] in ("missing", "union_tag_not_found"):
        return "required, but missing"
    if entry["type"] == "literal_error":
        return unknown("value", entry["input"], re.findall("'([^']*)'", entry["ctx"]["expected"]))
    # pydantic's prefix of the messages of validators
    message = entry["msg"].removeprefix("Value error, ")
    return f"{message} (found {entry['input']!r:.80})"


def _at_tag(entry: ErrorDetails) -> ErrorDetails:
    """Return an entry with the key of the tag added to its location if the tag of a union is wrong."""
    if not entry["type"].startswith("union_tag"):
        return entry
    return {**entry, "loc": (*entry["loc"], entry["ctx"]["discriminator"].strip("'"))}


def _fields_at(annotation: object, location: Location, content: object) -> set[str]:
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
        model: type[BaseModel] = annotation
        if hasattr(model, "of_content"):
            # for a base of several models, the content selects the model
            model = model.of_content(content)
        if not location:
            return set(model.model_fields)
        field = model.model_fields.get(str(location[0]))
        inner = _inside(content, location[0])
        return _fields_at(field.annotation, location[1:], inner) if field else set()
    if arguments and location:
        inner = [each for each in arguments if each is not ...]
        return _fields_at(inner[-1], location[1:], _inside(content, location[0]))
    return set()


def _inside(content: Any, key: str | int) -> object:
    """Return an entry of a mapping or a list, or None if it does not exist."""
    try:
        return content[key]
    except (KeyError, IndexError, TypeError):
        return None


def _tag(member: object) -> object:
    """Return the required value of the field `kind` of a member of a discriminated union, or None."""
    field = getattr(member, "model_fields", {}).get("kind")
    return typing.get_args(field.annotation)[0] if field else None
