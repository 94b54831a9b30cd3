"""Conversion of a figure's `claims`, as written, to typed claims (`claims/`)."""

from collections.abc import Collection, Mapping

from pydantic import ValidationError

from scaling_limits.claims import models
from scaling_limits.claims.base import ClaimBase
from scaling_limits.configuration.namespace import Namespace
from scaling_limits.configuration.trees import Entry, Tree, origin_at, plain
from scaling_limits.configuration.validation import as_written, explained
from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.figures.shapes import RULE, misfits
from scaling_limits.figures.written import MisplacedError

_TEXTS = {"statement", "source"}
_OWN = {"id", "kind", *_TEXTS}
_GRIDS = {"grids", "control", "reference"}
_QUANTITIES = {"quantity", "reference_quantity"}


def refuse_unknown(judging: Tree) -> None:
    """Reject keys of `judging` that no claim, or no claim of this kind, has, and values of the wrong type.

    Raises:
        ConfigurationError: a key or value is invalid; the message names file and line.
    """
    fields = {kind: set(model.model_fields) - _OWN for kind, model in models().items()}
    for key, entry in judging.items():
        if key not in fields:
            _refuse(key, entry, {*fields}.union(*fields.values()))
            continue
        for inner, field_entry in judging.tree(key).items():
            _refuse(inner, field_entry, fields[key])
    shape = {**RULE, **dict.fromkeys(fields, RULE)}
    for problem in misfits(plain(judging, nulls=True), shape, ()):
        key = ".".join(map(str, problem.path))
        raise ConfigurationError(f"judging.{key}", problem, place=origin_at(judging, problem.path))


def _refuse(key: str, entry: Entry, valid: Collection[str]) -> None:
    if key not in valid:
        raise ConfigurationError("judging", unknown("word", key, valid), place=entry.origin)


def combined(below: Mapping[str, object], above: Mapping[str, object]) -> dict[str, object]:
    """Return `judging` entries merged key by key, and for each kind of claim key by key; `above` takes precedence."""
    merged = {**below, **above}
    for kind in models():
        under, over = below.get(kind), above.get(kind)
        if isinstance(under, Mapping) and isinstance(over, Mapping):
            merged[kind] = {**under, **over}
    return merged


def claims(
    entries: Mapping[str, object], namespace: Namespace
) -> tuple[list[ClaimBase], list[MisplacedError]]:
    """Return the valid claims of a figure and the problems of the others; entries that are None are omitted."""
    valid: list[ClaimBase] = []
    errors: list[MisplacedError] = []
    for name, entry in entries.items():
        if entry is None:
            continue
        try:
            kind, content = _expanded(name, entry, namespace)
        except MisplacedError as error:
            errors.append(error)
            continue
        model = models()[kind]
        try:
            valid.append(model.model_validate(content))
        except ValidationError as error:
            for location, problem in explained(model, error, content):
                path = ("claims", name, kind, *as_written(location))
                errors.append(MisplacedError(path, problem))
    parts = [claim.id for claim in valid if not claim.all_of]
    for claim in valid:
        path = ("claims", claim.id, claim.kind, "all_of")
        wrong = [part for part in claim.all_of if part not in parts]
        errors += [MisplacedError(path, unknown("claim", part, parts)) for part in wrong]
    return valid, errors


def _expanded(name: str, entry: object, namespace: Namespace) -> tuple[str, dict[str, object]]:
    """Return the kind of a claim and its fields, with its id and all defaults that the entry does not override.

    Raises:
        MisplacedError: a kind, grid or quantity is unknown, or a value has the wrong type.
    """
    path = ("claims", name)
    kinds = models()
    if not isinstance(entry, Mapping):
        raise MisplacedError(path, f"should be a mapping, not {entry!r:.80}")
    named = [key for key in entry if key not in _TEXTS]
    if not named:
        raise MisplacedError(path, f"a claim needs its kind, one of {', '.join(kinds)}")
    kind = named[0]
    if kind not in kinds:
        raise MisplacedError((*path, kind), unknown("kind of claim", kind, {*kinds, *_TEXTS}))
    if len(named) > 1:
        raise MisplacedError((*path, named[1]), f"a claim has one kind, here {' and '.join(named)}")
    rule = entry[kind]
    if not isinstance(rule, Mapping):
        raise MisplacedError((*path, kind), f"should be a mapping, not {rule!r:.80}")
    for problem in misfits(entry, {"statement": str, "source": str, kind: RULE}, path):
        raise problem
    fields = kinds[kind].model_fields
    defaults = {key: value for key, value in namespace.judging.items() if key in fields}
    rule = {**defaults, **(namespace.judging.get(kind) or {}), **rule}
    rule = {key: value for key, value in rule.items() if value is not None}
    for key in _GRIDS & set(rule):
        rule[key] = namespace.grids(_listed(rule[key]), (*path, kind, key))
    for key in _QUANTITIES & set(rule):
        rule[key] = namespace.quantity(rule[key], (*path, kind, key))
    for key, field in fields.items():
        if key != "at" and isinstance(rule.get(key), str) and "tuple" in str(field.annotation):
            rule[key] = _listed(rule[key])
    source = str(entry.get("source", "{figure}")).replace("{figure}", namespace.label)
    identity = {"id": name, "kind": kind, "source": source}
    statement = {"statement": entry["statement"]} if "statement" in entry else {}
    return kind, {**rule, **statement, **identity}


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]
