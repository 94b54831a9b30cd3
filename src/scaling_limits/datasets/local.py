"""Find copies of published files on this machine by their names; `verify` checks what they hold."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from scaling_limits.datasets.description import Source

# Hugging Face's cache nests datasets--<owner>--<name>/snapshots/<revision>/<configuration>
_DEPTH = 4
# a folder with more folders holds images by class, and no layout that is read
_MOST_FOLDERS = 100


@dataclass(frozen=True)
class Copies:
    """Files below a folder that a source may be read from, the folders of the dataset first.

    Attributes:
        source: what they are copies of.
        folders: where they were looked for.
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
        """Whether, by the names alone, the source can be read."""
        return bool(self.archives or self.tables or all(self.payloads.values()))

    @property
    def missing(self) -> list[str]:
        """The payloads without a file, where there are some with one."""
        absent = [name for name, files in self.payloads.items() if not files]
        return absent if len(absent) < len(self.payloads) else []


def forms(source: Source) -> list[str]:
    """Describe the files that `find` looks for."""
    names = ", ".join(payload.name for payload in source.payloads)
    result = [f"{names} (each with or without .gz)", source.archive]
    if source.encode is not None:
        result += ["an .npz file named after the dataset", "train*.parquet with test*.parquet"]
    return [form for form in result if form]


def find(source: Source, root: Path) -> Copies:
    """Look for copies of `source` in `root` and in the dataset's folders below it; no file is read.

    A folder is one of the dataset if its name fits `source.folder` or is a payload's name, as is every folder in one.
    Names of files may end in `.gz` or not, and have a dot before `idx`.
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
    """The dataset's folders with their files, from the outside in: `root` if its name fits, else those in it that fit,
    and what lies in them.
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
    """List a folder, sorted; empty if it cannot be read."""
    try:
        # scandir does not ask the file system about each of what may be thousands of entries
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
    """A file's name as it is published: without compression, and with a hyphen before `idx`."""
    return name.removesuffix(".gz").replace(".idx", "-idx")


def _npz(source: Source, files: Iterable[Path]) -> list[tuple[Path, ...]]:
    """Each `.npz` file named after the dataset."""
    return [
        (file,)
        for file in files
        if file.suffix == ".npz" and re.fullmatch(source.folder, file.stem.lower())
    ]


def _parquet(folders: Iterable[list[Path]]) -> list[tuple[Path, ...]]:
    """The shards of both splits, for each folder that has some of either."""
    result = []
    for files in folders:
        shards = [file for file in files if re.fullmatch(r"(train|test)\b.*\.parquet", file.name)]
        if len({file.name.startswith("train") for file in shards}) == 2:
            result.append(tuple(shards))
    return result
