"""From a figure's `claims`, as they are written, to claims (`figures/claims.py`)."""

import typing
from collections.abc import Collection, Mapping
from typing import Any

from scaling_limits.configuration.shapes import RULE, misfits
from scaling_limits.configuration.trees import Tree, Word, origin_at, plain
from scaling_limits.configuration.words import MisplacedError, Words
from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.figures.claims import Claim

_SAID = {"statement", "source"}
_OWN = {"id", "kind", *_SAID}
_GRIDS = {"grids", "control", "reference"}
_QUANTITIES = {"quantity", "reference_quantity"}


def _kinds() -> dict[str, Any]:
    """The models of claims by their kind."""
    models = typing.get_args(typing.get_args(Claim)[0])
    return {typing.get_args(model.model_fields["kind"].annotation)[0]: model for model in models}


KINDS = _kinds()


def refuse_unknown(judging: Tree) -> None:
    """Refuse words that no claim has, or not one of that kind, and words of another type than they have to be.

    Raises:
        ConfigurationError: names file and line.
    """
    fields = {kind: set(model.model_fields) - _OWN for kind, model in KINDS.items()}
    for key, word in judging.items():
        if key not in KINDS:
            _refuse(key, word, {*KINDS}.union(*fields.values()))
            continue
        for inner, part in judging.tree(key).items():
            _refuse(inner, part, fields[key])
    shape = {**RULE, **dict.fromkeys(KINDS, RULE)}
    for problem in misfits(plain(judging, nulls=True), shape, ()):
        key = ".".join(map(str, problem.path))
        raise ConfigurationError(f"{origin_at(judging, problem.path)}: judging.{key}: {problem}")


def _refuse(key: str, word: Word, valid: Collection[str]) -> None:
    if key not in valid:
        raise ConfigurationError(f"{word.origin}: judging: {unknown('word', key, valid)}")


def combined(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """`judging` over another: word by word, and what is said of a kind of claims word by word as well."""
    merged = {**below, **above}
    for kind in KINDS:
        if isinstance(below.get(kind), Mapping) and isinstance(above.get(kind), Mapping):
            merged[kind] = {**below[kind], **above[kind]}
    return merged


def claim(name: str, said: Any, words: Words) -> dict[str, Any]:
    """A claim with its id, and all that it does not say itself.

    Raises:
        MisplacedError: an unknown kind, grid or quantity, or a word of another type than it has to be.
    """
    path = ("claims", name)
    if not isinstance(said, Mapping):
        raise MisplacedError(path, f"should be a mapping, not {said!r:.80}")
    kinds = [key for key in said if key not in _SAID]
    if not kinds:
        raise MisplacedError(path, f"a claim needs its kind, one of {', '.join(KINDS)}")
    kind = kinds[0]
    if kind not in KINDS:
        raise MisplacedError((*path, kind), unknown("kind of claim", kind, {*KINDS, *_SAID}))
    if len(kinds) > 1:
        raise MisplacedError((*path, kinds[1]), f"a claim has one kind, here {' and '.join(kinds)}")
    rule = said[kind]
    if not isinstance(rule, Mapping):
        raise MisplacedError((*path, kind), f"should be a mapping, not {rule!r:.80}")
    for problem in misfits(said, {"statement": str, "source": str, kind: RULE}, path):
        raise problem
    fields = KINDS[kind].model_fields
    usual = {key: value for key, value in words.judging.items() if key in fields}
    rule = {**usual, **(words.judging.get(kind) or {}), **rule}
    rule = {key: value for key, value in rule.items() if value is not None}
    for key in _GRIDS & set(rule):
        rule[key] = words.grids(_listed(rule[key]), (*path, kind, key))
    for key in _QUANTITIES & set(rule):
        rule[key] = words.quantity(rule[key], (*path, kind, key))
    for key, field in fields.items():
        if key != "at" and isinstance(rule.get(key), str) and "tuple" in str(field.annotation):
            rule[key] = _listed(rule[key])
    source = str(said.get("source", "{figure}")).replace("{figure}", words.label)
    own = {"id": name, "kind": kind, "source": source}
    return {**rule, **({"statement": said["statement"]} if "statement" in said else {}), **own}


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]
