"""The lock of claims: digests of everything that determines a claim's verdict, recorded with its confirmed verdict.

The check needs only the configuration and the lock file. It reads presets as they are in the project, without the
user's changes and data, so that it gives the same result on every machine.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from scaling_limits.audit.register import Amendment, Key
from scaling_limits.audit.verdicts import Verdict
from scaling_limits.cells import Cell, digest
from scaling_limits.claims.base import ClaimBase
from scaling_limits.configuration import Configuration, load
from scaling_limits.configuration.files import read_yaml
from scaling_limits.configuration.models import FIRST_CONFIRMING
from scaling_limits.configuration.validation import validated
from scaling_limits.errors import ConfigurationError
from scaling_limits.files import write_file
from scaling_limits.outcomes import Outcome
from scaling_limits.strict import Strict

REMOVED = "removed"
"""The digest in the amendment of a claim that was removed."""
HEAD = """\
# Claims whose confirmed verdict is recorded, with a digest of everything that decides them: rule, thresholds, grids,
# controls, seeds, sizes and all settings of their cells. Written by `scaling-limits lock`, never edited. If a claim
# changes or is removed, the audit fails until docs/amendments.yaml explains it; the statement here stays as it was.
"""
_OF_THE_MACHINE = {"device", "cells_per_batch", "compiled"}
_WITHOUT_RECORDS: tuple[Outcome, ...] = ("not computed", "data not available")
_TEXTS = {"id", "statement", "source"}


class LockedClaim(Strict):
    """An entry of the lock file."""

    digest: str
    statement: str
    verdict: Outcome


class Lock(Strict):
    """The lock file: claims by preset and `<paper>/<figure>/<claim>`."""

    claims: dict[str, dict[str, LockedClaim]]


def read_lock(path: Path) -> Lock:
    """Read the lock file.

    Raises:
        ConfigurationError: the file is missing or invalid.
    """
    return validated(Lock, read_yaml(path), path)


def locked(
    lock: Lock, configuration: Configuration, verdicts: Mapping[Key, Verdict]
) -> tuple[Lock, list[str]]:
    """Add the claims of a preset that have a confirmed verdict and are not locked yet.

    Args:
        lock: the existing lock; its entries are not changed.
        configuration: the configuration of the preset, without changes.
        verdicts: the confirmed verdicts.

    Returns:
        The new lock, and the names of the added claims.

    Raises:
        ConfigurationError: the preset's seeds are exploratory.
    """
    preset = configuration.main.preset
    if not configuration.preset.seeds.confirming:
        raise ConfigurationError(
            f"config/presets/{preset}.yaml",
            f"seeds.first is {configuration.preset.seeds.first}: only confirmed verdicts are locked; valid: "
            f"{FIRST_CONFIRMING} or more",
        )
    known = lock.claims.get(preset, {})
    added: dict[str, LockedClaim] = {}
    for name, (key, claim) in _claims(configuration).items():
        verdict = verdicts.get(key)
        if name in known or verdict is None or verdict.verdict in _WITHOUT_RECORDS:
            continue
        added[name] = LockedClaim(
            digest=claim_digest(configuration, key, claim),
            statement=claim.statement,
            verdict=verdict.verdict,
        )
    claims = {**lock.claims, preset: {**known, **added}}
    return Lock(claims=claims), sorted(added)


def write_lock(path: Path, lock: Lock) -> None:
    """Write the lock file, sorted by preset and claim.

    Raises:
        WriteError: the file cannot be written.
    """
    text = yaml.safe_dump(lock.model_dump(mode="json"), allow_unicode=True, width=120)
    write_file(path, HEAD + text)


def unexplained(path: Path, amendments: Mapping[Key, Amendment], root: Path) -> list[str]:
    """Return the locked claims that changed without an amendment.

    Args:
        path: the lock file.
        amendments: explanations of changes; an amendment counts if it has the current digest of the claim.
        root: the project's folder.

    Returns:
        A sentence for each locked claim that was changed or removed without an amendment.

    Raises:
        ConfigurationError: the lock or the configuration is invalid.
    """
    lock = read_lock(path)
    problems: list[str] = []
    for preset, entries in lock.claims.items():
        if entries:
            problems += _unexplained(load(root, {"preset": preset}), entries, amendments)
    return problems


def claim_digest(configuration: Configuration, key: Key, claim: ClaimBase) -> str:
    """Return a digest of everything that determines a claim's verdict.

    It covers the rule and the settings of all cells that the claim names, but neither its texts nor how a machine
    computes the cells.
    """
    paper, figure, *_ = key
    experiment = configuration.figure(paper, figure).experiment
    cells: dict[str, set[str]] = {name: set() for name in claim.all_grids}
    for point in configuration.points(paper, experiment):
        if point.grid in cells:
            cells[point.grid].add(digest(_settings(point.cell)))
    rule = claim.model_dump(mode="json", exclude=_TEXTS)
    return digest(
        {"rule": _unlabelled(rule), "cells": {name: sorted(each) for name, each in cells.items()}}
    )


def _unexplained(
    configuration: Configuration,
    entries: Mapping[str, LockedClaim],
    amendments: Mapping[Key, Amendment],
) -> Iterator[str]:
    preset = configuration.main.preset
    claims = _claims(configuration)
    for name, entry in entries.items():
        paper, figure, claim = name.split("/")
        amendment = amendments.get((paper, figure, claim, preset))
        now = REMOVED if name not in claims else claim_digest(configuration, *claims[name])
        if now in (entry.digest, amendment and amendment.digest):
            continue
        what = "was removed" if now == REMOVED else "was changed"
        yield (
            f"docs/claims.lock.yaml: {name} {what} at the preset {preset} after its verdict was recorded "
            f"({entry.verdict}): explain it in docs/amendments.yaml, with digest: {now}"
        )


def _claims(configuration: Configuration) -> dict[str, tuple[Key, ClaimBase]]:
    """Return the claims of all papers' figures by their names in the lock."""
    return {
        f"{paper}/{figure}/{claim.id}": (
            (paper, figure, claim.id, configuration.main.preset),
            claim,
        )
        for paper in configuration.papers
        for figure in configuration.figures(paper)
        for claim in configuration.figure(paper, figure).claims
    }


def _settings(cell: Cell) -> dict[str, object]:
    return {name: value for name, value in cell.canonical().items() if name not in _OF_THE_MACHINE}


def _unlabelled(value: object) -> object:
    """Return a value without labels, which only name quantities on pictures."""
    if isinstance(value, dict):
        return {name: _unlabelled(inner) for name, inner in value.items() if name != "label"}
    return [_unlabelled(inner) for inner in value] if isinstance(value, list) else value
