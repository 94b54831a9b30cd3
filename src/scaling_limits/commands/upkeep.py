"""Upkeep of the store: the cells that configurations use, the stored files, and the files in no use.

Only `remove` changes files.
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
from typing import NamedTuple

import numpy as np

from scaling_limits.cells import digest
from scaling_limits.commands.readable import aligned, size
from scaling_limits.configuration import Configuration, load
from scaling_limits.configuration.files import yaml_files
from scaling_limits.errors import StoreError
from scaling_limits.figures import OWN
from scaling_limits.pipeline.keys import cell_key

# temporary files are renamed within seconds, so older ones belong to killed processes
SECONDS_OF_WRITING = 3600.0
NAME = re.compile(r"([0-9a-f]{16})\.(cell|corrupt|cell\.[0-9a-f]+\.tmp)")
_DATASET = re.compile(r".+\.npz\.[0-9a-f]+\.tmp")


class State(StrEnum):
    """The state of a stored file under the current configurations and code."""

    CURRENT = "current"
    STALE = "stale"
    """No configuration uses the cell with the current code and libraries."""
    DAMAGED = "damaged"
    """The file is not a readable cell, or was left by a killed process."""


@dataclass(frozen=True)
class UsedCells:
    """The cells that configurations use.

    An experiment is named `<paper>/<experiment>`; a cell shared by several experiments belongs to the first one.
    """

    keys: Mapping[str, str] = field(default_factory=dict)
    """Experiments by the keys of their cells under the current source and libraries."""
    cells: Mapping[str, str] = field(default_factory=dict)
    """Experiments by the digests of their cells without source and libraries."""


@dataclass(frozen=True)
class Entry:
    """A file of the store.

    `size` is in bytes and `modified` in seconds since 1970. `experiment` is empty if no experiment uses the cell under
    any code or libraries.
    """

    path: Path
    state: State
    experiment: str
    size: int
    modified: float


def configurations(root: Path, overrides: Mapping[str, object]) -> list[Configuration]:
    """Return the configuration of every preset, without and, if there are any, with the overrides.

    Raises:
        ConfigurationError: a configuration is invalid.
    """
    presets = [path.stem for path in yaml_files(root, "config/presets")]
    layers = [{}, overrides] if overrides else [{}]
    return [load(root, {**layer, "preset": preset}) for layer in layers for preset in presets]


def used_keys(wanted: Iterable[Configuration]) -> UsedCells:
    """Return the keys of all cells of all experiments of these configurations, except invalid experiments of the user.

    Raises:
        ConfigurationError: a configuration is invalid; without its cells, used cells would look stale.
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
    return UsedCells(keys, cells)


def survey(folder: Path, wanted: UsedCells, now: float) -> list[Entry]:
    """Return every file of the store with its state, without changing files or following links.

    Files that do not belong to the store, cannot be read, or may be in the process of being written are omitted.

    Args:
        folder: the store's folder; a missing folder is an empty store.
        wanted: the cells in use.
        now: the time in seconds since 1970.
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


def unfinished_datasets(folder: Path, now: float) -> list[Entry]:
    """Return the files that killed processes left behind while they prepared a dataset.

    Args:
        folder: the folder of prepared datasets, which need not exist.
        now: the time in seconds since 1970.
    """
    entries = []
    for path in sorted(folder.glob("*.tmp")):
        try:
            status = path.lstat()
        except OSError:
            continue  # removed in the meantime
        is_old = now - status.st_mtime > SECONDS_OF_WRITING
        if is_old and stat.S_ISREG(status.st_mode) and _DATASET.fullmatch(path.name):
            entries.append(Entry(path, State.DAMAGED, "", status.st_size, status.st_mtime))
    return entries


def remove(entries: Collection[Entry]) -> None:
    """Delete files; missing files are ignored.

    Raises:
        StoreError: a file cannot be deleted; the files before it are deleted.
    """
    for entry in entries:
        try:
            entry.path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"cannot remove {entry.path}: {error.strerror}") from error


def table(entries: Sequence[Entry], now: float) -> str:
    """Return the entries counted by experiment and state, one line each, and a last line with the total."""
    head = ("experiment", "state", "files", "size", "newest", "oldest")

    def kind(entry: Entry) -> tuple[bool, str, int]:
        return not entry.experiment, entry.experiment, list(State).index(entry.state)

    lines = [head]
    for _, group in groupby(sorted(entries, key=kind), kind):
        members = list(group)
        lines.append(_line(members[0].experiment or "-", members[0].state, members, now))
    lines.append(_line("all", "", entries, now))
    return aligned(lines, text_columns=2)


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


def _judge(path: Path, folder: Path, wanted: UsedCells, age: float) -> tuple[State, str] | None:
    """Return state and experiment of a file.

    The result is None for files that are not part of the store, or that a process may be writing.
    """
    name = NAME.fullmatch(path.name)
    if name is None or path.parent != folder / name[1][:2]:
        return None
    key, kind = name.groups()
    experiment = wanted.keys.get(key, "")
    if kind not in ("cell", "corrupt") and age <= SECONDS_OF_WRITING:
        return None
    origin = origin_of(path.read_bytes()) if kind == "cell" else None
    if origin is None or origin.key != key:
        # a job would rename it
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
    """Return the origin of a stored cell. Unlike `Store.load`, this moves no file.

    Args:
        content: the content of a file of the store.

    Returns:
        The origin; None if the checksum does not match, or the file does not contain it.
    """
    expected, _, payload = content.partition(b"\n")
    if hashlib.sha256(payload).hexdigest().encode() != expected:
        return None
    try:
        with np.load(io.BytesIO(payload), allow_pickle=False) as archive:
            known = json.loads(str(archive["meta"]))
        return Origin(known["key"], digest(known["cell"]), str(known.get("source", "")))
    except Exception:  # a file with a valid checksum may contain anything
        return None
