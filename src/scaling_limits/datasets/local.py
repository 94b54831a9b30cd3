"""Search for copies of published files on this machine by their names; `verify` checks their contents."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from scaling_limits.datasets.description import Source

# Hugging Face's cache nests datasets--<owner>--<name>/snapshots/<revision>/<configuration>
_DEPTH = 4
# a folder with more subfolders holds images by class, a layout that is not supported
_MOST_FOLDERS = 100


@dataclass(frozen=True)
class Copies:
    """Files below a folder from which a source may be read, those in the dataset's folders first.

    Attributes:
        source: the source that they are copies of.
        folders: the folders that were searched.
        payloads: for each payload, by name, the files that may hold it.
        archives: files that may be the archive.
        tables: labelled images: an `.npz` file, or the Parquet files of a folder.
    """

    source: Source
    folders: tuple[Path, ...]
    payloads: dict[str, list[Path]]
    archives: list[Path]
    tables: list[tuple[Path, ...]]

    @property
    def complete(self) -> bool:
        """Whether the source can be read, judged by file names alone."""
        return bool(self.archives or self.tables or all(self.payloads.values()))

    @property
    def missing(self) -> list[str]:
        """The payloads without a file; empty if no payload has a file."""
        absent = [name for name, files in self.payloads.items() if not files]
        return absent if len(absent) < len(self.payloads) else []


def formats(source: Source) -> list[str]:
    """Describe the files for which `find` searches."""
    names = ", ".join(payload.name for payload in source.payloads)
    result = [f"{names} (each with or without .gz)", source.archive]
    if source.encode is not None:
        result += ["an .npz file named after the dataset", "train*.parquet with test*.parquet"]
    return [name for name in result if name]


def find(source: Source, root: Path) -> Copies:
    """Search for copies of `source` in `root` and in the dataset's folders below it; no file is read.

    A folder belongs to the dataset if its name matches `source.folder` or is the name of a payload, or if it is inside
    such a folder. Names of files may or may not end in `.gz`, and may have a dot before `idx`.
    """
    own = _folders(source, root)
    by_folder = {**own, root: _listing(root).files}
    files = [file for each in by_folder.values() for file in each]
    in_own = [file for each in own.values() for file in each]
    return Copies(
        source,
        folders=tuple(by_folder),
        payloads={
            payload.name: _named(payload.name, files if source.telling_names else in_own)
            for payload in source.payloads
        },
        archives=_named(_bare(source.archive), files) if source.archive else [],
        tables=[] if source.encode is None else [*_npz(source, files), *_parquet(own.values())],
    )


def _folders(source: Source, root: Path) -> dict[Path, list[Path]]:
    """Return the dataset's folders with their files, from the outside in.

    These are `root` if its name matches, else the matching folders in it, and the folders inside of them.
    """
    names = {payload.name for payload in source.payloads if source.telling_names}

    def fits(folder: Path) -> bool:
        name = Path(os.path.abspath(folder)).name
        return re.search(source.folder, name.lower()) is not None or _bare(name) in names

    level = [root] if fits(root) else [folder for folder in _listing(root).folders if fits(folder)]
    result = {}
    for _ in range(_DEPTH):
        listings = {folder: _listing(folder) for folder in level}
        result.update({folder: listing.files for folder, listing in listings.items()})
        level = [
            inner
            for listing in listings.values()
            if len(listing.folders) <= _MOST_FOLDERS
            for inner in listing.folders
        ]
    return result


class _Listing(NamedTuple):
    folders: list[Path]
    files: list[Path]


def _listing(folder: Path) -> _Listing:
    """List a folder in alphabetical order; empty if it cannot be read."""
    try:
        # scandir avoids a file-system call per entry, and there may be thousands of entries
        with os.scandir(folder) as entries:
            result = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return _Listing([], [])
    return _Listing(
        [folder / entry.name for entry in result if entry.is_dir()],
        [folder / entry.name for entry in result if entry.is_file()],
    )


def _named(name: str, files: Iterable[Path]) -> list[Path]:
    return [file for file in files if _bare(file.name) == name]


def _bare(name: str) -> str:
    """Return a file's name as published: without compression, and with a hyphen before `idx`."""
    return name.removesuffix(".gz").replace(".idx", "-idx")


def _npz(source: Source, files: Iterable[Path]) -> list[tuple[Path, ...]]:
    """Return each `.npz` file named after the dataset."""
    return [
        (file,)
        for file in files
        if file.suffix == ".npz" and re.fullmatch(source.folder, file.stem.lower())
    ]


def _parquet(folders: Iterable[list[Path]]) -> list[tuple[Path, ...]]:
    """Return the shards of both splits, for each folder that has shards of both."""
    result = []
    for files in folders:
        shards = [file for file in files if re.fullmatch(r"(train|test)\b.*\.parquet", file.name)]
        if len({file.name.startswith("train") for file in shards}) == 2:
            result.append(tuple(shards))
    return result
