"""Copies of published files that are already on this machine."""

from dataclasses import dataclass
from pathlib import Path

from scaling_limits.datasets.description import Source


@dataclass(frozen=True)
class Copy:
    """A complete copy of a source: its archive, or one file per payload, in the payloads' order."""

    source: Source
    files: tuple[Path, ...]
    is_archive: bool


def copies(source: Source, data_path: Path | None) -> list[Copy]:
    """The complete copies of `source` under `data_path`, the most specific folder first.

    Looks in the dataset's own folders and in `data_path` itself, for the official names with or
    without `.gz`. Files whose names say little are not looked for in `data_path` itself.
    """
    if data_path is None:
        return []
    found = []
    for place in (*source.places, "."):
        folder = data_path / place
        if source.archive and (archive := _either(folder, source.archive.removesuffix(".gz"))):
            found.append(Copy(source, (archive,), is_archive=True))
        bare = place != "." or source.telling_names
        for inner in dict.fromkeys((source.folder or ".", *(["."] if bare else []))):
            files = tuple(_either(folder / inner, payload.name) for payload in source.payloads)
            complete = tuple(file for file in files if file is not None)
            if len(complete) == len(files):
                found.append(Copy(source, complete, is_archive=False))
    return found


def lacking(source: Source, data_path: Path | None) -> str | None:
    """Of a dataset's own folder under `data_path` that has some of the source's files, which are missing."""
    if data_path is None:
        return None
    for place in source.places:
        for folder in (data_path / place, data_path / place / (source.folder or ".")):
            missing = [each.name for each in source.payloads if not _either(folder, each.name)]
            if 0 < len(missing) < len(source.payloads):
                return f"{folder} has no {', '.join(missing)}"
    return None


def _either(folder: Path, name: str) -> Path | None:
    for candidate in (folder / name, folder / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    return None
