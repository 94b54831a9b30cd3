"""Upkeep of the store: what the configurations ask for, what lies there, and what nothing asks for any more.

Nothing here changes a file but `remove`.
"""

import hashlib
import io
import json
import os
import re
import stat
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scaling_limits.cells import digest
from scaling_limits.commands.readable import aligned, size
from scaling_limits.configuration import Configuration, load
from scaling_limits.configuration.files import yaml_files
from scaling_limits.errors import StoreError
from scaling_limits.figures import OWN
from scaling_limits.pipeline.keys import cell_key

# a temporary file is renamed within seconds, so an older one belongs to a process that was killed
SECONDS_OF_WRITING = 3600.0
NAME = re.compile(r"([0-9a-f]{16})\.(cell|corrupt|cell\.[0-9a-f]+\.tmp)")


class State(StrEnum):
    """The state of a stored file under the current configurations and code."""

    CURRENT = "current"
    STALE = "stale"
    """Nothing asks for the cell with the current code and libraries."""
    DAMAGED = "damaged"
    """Not a readable cell, or left over by a process that was killed."""


@dataclass(frozen=True)
class Asked:
    """What configurations ask the store for.

    An experiment is `<paper>/<experiment>`; of several that share a cell the first one has it.
    """

    keys: Mapping[str, str] = field(default_factory=dict)
    """Experiments by the keys of their cells under the current source and libraries."""
    cells: Mapping[str, str] = field(default_factory=dict)
    """Experiments by the digests of their cells alone."""


@dataclass(frozen=True)
class Entry:
    """A file of the store: `size` in bytes, `modified` in seconds since 1970, `experiment` empty if none asks for the
    cell, whatever computed it.
    """

    path: Path
    state: State
    experiment: str
    size: int
    modified: float


def configurations(root: Path, overrides: Mapping[str, object]) -> list[Configuration]:
    """Every preset of the project, as configured in its files and, if there are overrides, with these as well.

    Raises:
        ConfigurationError: one of them is not valid.
    """
    presets = [path.stem for path in yaml_files(root, "config/presets")]
    layers = [{}, overrides] if overrides else [{}]
    return [load(root, {**layer, "preset": preset}) for layer in layers for preset in presets]


def asked(wanted: Iterable[Configuration]) -> Asked:
    """The keys of all cells of all experiments of these configurations, except the user's own that are invalid.

    Raises:
        ConfigurationError: one of them is not valid; part of what is asked for would make the rest look stale.
    """
    keys: dict[str, str] = {}
    cells: dict[str, str] = {}
    for configuration in wanted:
        for slug in configuration.papers:
            for name in configuration.experiments(slug):
                left_out = slug == OWN and name in configuration.faults
                for cell in () if left_out else configuration.cells(slug, name):
                    experiment = f"{slug}/{name}"
                    cells.setdefault(digest(cell.canonical()), experiment)
                    keys.setdefault(cell_key(cell), experiment)
    return Asked(keys, cells)


def survey(folder: Path, wanted: Asked, now: float) -> list[Entry]:
    """Every file of the store with its state; no file is changed, and links are not followed.

    Files that are not the store's, that cannot be read, or that a process may be writing are left out.

    Args:
        folder: the store's folder; one that does not exist is an empty store.
        wanted: what is asked of it.
        now: seconds since 1970.
    """
    entries = []
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            try:
                status = path.lstat()
                judged = (
                    _judge(path, folder, wanted, now - status.st_mtime)
                    if stat.S_ISREG(status.st_mode)
                    else None
                )
            except OSError:
                continue  # unreadable, or removed in the meantime
            if judged is not None:
                entries.append(Entry(path, *judged, status.st_size, status.st_mtime))
    return sorted(entries, key=lambda entry: entry.path)


def remove(entries: Collection[Entry]) -> None:
    """Delete these files; one that is gone already is passed over.

    Raises:
        StoreError: a file cannot be deleted; those before it are.
    """
    for entry in entries:
        try:
            entry.path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"cannot remove {entry.path}: {error.strerror}") from error


def table(entries: Sequence[Entry], now: float) -> str:
    """The entries counted by experiment and state, one line each, with a last line for all of them."""
    head = ("experiment", "state", "files", "size", "newest", "oldest")

    def kind(entry: Entry) -> tuple[bool, str, int]:
        return not entry.experiment, entry.experiment, list(State).index(entry.state)

    lines = [head]
    for _, group in groupby(sorted(entries, key=kind), kind):
        members = list(group)
        lines.append(_line(members[0].experiment or "-", members[0].state, members, now))
    lines.append(_line("all", "", entries, now))
    return aligned(lines, words=2)


def _age(seconds: float) -> str:
    for length, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def _line(
    experiment: str, state: str, members: Sequence[Entry], now: float
) -> tuple[str, str, str, str, str, str]:
    ages = [now - entry.modified for entry in members]
    newest, oldest = (_age(min(ages)), _age(max(ages))) if ages else ("-", "-")
    total = size(sum(entry.size for entry in members))
    return experiment, state, f"{len(members):,}", total, newest, oldest


def _judge(path: Path, folder: Path, wanted: Asked, age: float) -> tuple[State, str] | None:
    """State and experiment of a file; None if it is not the store's, or may be in the course of being written."""
    name = NAME.fullmatch(path.name)
    if name is None or path.parent != folder / name[1][:2]:
        return None
    key, kind = name.groups()
    experiment = wanted.keys.get(key, "")
    if kind not in ("cell", "corrupt") and age <= SECONDS_OF_WRITING:
        return None
    origin = origin_of(path.read_bytes()) if kind == "cell" else None
    if origin is None or origin.key != key:
        # a job would set it aside
        return State.DAMAGED, experiment
    if key in wanted.keys:
        return State.CURRENT, experiment
    return State.STALE, wanted.cells.get(origin.cell, "")


class Origin(NamedTuple):
    """The key of a stored cell, the digest of the cell alone, and the digest of the source that computed it."""

    key: str
    cell: str
    source: str


def origin_of(content: bytes) -> Origin | None:
    """Read where a cell comes from. Unlike `Store.load`, this moves no file.

    Args:
        content: a file of the store.

    Returns:
        The origin; None if the checksum does not match, or the file does not say.
    """
    expected, _, payload = content.partition(b"\n")
    if hashlib.sha256(payload).hexdigest().encode() != expected:
        return None
    try:
        with np.load(io.BytesIO(payload), allow_pickle=False) as archive:
            known: dict[str, Any] = json.loads(str(archive["meta"]))
        return Origin(known["key"], digest(known["cell"]), str(known.get("source", "")))
    except Exception:  # its checksum fits, but a file of someone else's may hold anything
        return None
