"""Archives of results: ZIP files of stored cells and figures' files, with a manifest of checksums.

The first member, `manifest.json`, contains the SHA-256 of every other member. Members are named by their paths below
`results/`, sorted, not compressed, and have a fixed time, so that archives of equal files are identical byte for byte.
"""

import hashlib
import json
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from scaling_limits.commands.upkeep import origin_of
from scaling_limits.errors import StoreError
from scaling_limits.files import writing
from scaling_limits.pipeline.checksums import CHECKED, PROVENANCE
from scaling_limits.strict import Strict

FORMAT = 1
MANIFEST = "manifest.json"
FIGURE_FILES = (*CHECKED, PROVENANCE)
"""The files of a figure that are exported."""
_CELL = re.compile(r"cells/([0-9a-f]{2})/\1[0-9a-f]{14}\.cell")
_FOLDER = re.compile(r"[^/\\.][^/\\]*")
_TIME = (1980, 1, 1, 0, 0, 0)
# exceptions of zipfile for damaged archives; unknown compression methods raise NotImplementedError, a RuntimeError
_DAMAGES = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, RuntimeError)


class Manifest(Strict):
    """The contents of an archive.

    `sources` are the digests of the code that computed the cells, `libraries` the versions of the numerical libraries
    on the exporting machine, as in a figure's provenance; `members` maps names to SHA-256 checksums.
    """

    format: int = FORMAT
    preset: str
    sources: tuple[str, ...]
    libraries: dict[str, str]
    members: dict[str, str]


@dataclass(frozen=True)
class Archive:
    """An archive whose members were verified by `verify`."""

    path: Path
    manifest: Manifest

    @property
    def cells(self) -> dict[str, str]:
        """The member names of cells by their keys."""
        names = self.manifest.members
        return {PurePosixPath(name).stem: name for name in names if _CELL.fullmatch(name)}

    @property
    def figures(self) -> dict[str, list[str]]:
        """The member names of each figure's files by its folder, `<preset>/<paper>/<figure>`."""
        figures: dict[str, list[str]] = {}
        for name in self.manifest.members:
            if not _CELL.fullmatch(name):
                figures.setdefault(name.rpartition("/")[0], []).append(name)
        return figures

    def contents(self, names: list[str]) -> Iterator[bytes]:
        """Yield the contents of members.

        Raises:
            StoreError: the archive cannot be read, or was changed after it was verified.
        """
        with _opened(self.path) as file:
            for name in names:
                yield _content(self.path, file, name, self.manifest.members[name])


def checksum(content: bytes) -> str:
    """Return the SHA-256 of a member in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def read_file(path: Path) -> bytes:
    """Read a file of results.

    Raises:
        StoreError: the file cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error


def write(path: Path, manifest: Manifest, files: Mapping[str, Path]) -> None:
    """Write an archive atomically.

    Args:
        path: the archive; an existing file is replaced.
        manifest: the manifest, which names the members.
        files: the file of each member.

    Raises:
        StoreError: a member cannot be read, or does not match its checksum in the manifest.
        WriteError: the archive cannot be written.
    """
    with writing(path) as target, zipfile.ZipFile(target, "w") as file:
        text = json.dumps(manifest.model_dump(mode="json"), indent=1, sort_keys=True)
        file.writestr(_entry(MANIFEST), f"{text}\n")
        for name in sorted(manifest.members):
            content = read_file(files[name])
            if checksum(content) != manifest.members[name]:
                raise StoreError(f"{files[name]}: changed during the export; export again")
            file.writestr(_entry(name), content)


def verify(path: Path) -> Archive:
    """Read the manifest of an archive, and verify every member against it. Nothing is written.

    Raises:
        StoreError: the archive cannot be read; or a member is damaged, missing, not in the manifest, does not have the
            name of a stored result, or is not the cell with its name.
    """
    with _opened(path) as file:
        names = Counter(entry.filename for entry in file.infolist())
        if next(iter(names), None) != MANIFEST:
            raise _no_archive(path)
        manifest = _manifest(path, _content(path, file, MANIFEST))
        for name, count in names.items():
            if name not in manifest.members and name != MANIFEST:
                raise _fault(path, repr(name), "is not in the manifest")
            if count > 1:
                raise _fault(path, name, "is there more than once")
        for name, expected in manifest.members.items():
            _require_valid_name(path, name, manifest.preset)
            if name not in names:
                raise _fault(path, name, "is missing")
            content = _content(path, file, name, expected)
            if _CELL.fullmatch(name):
                origin = origin_of(content)
                if origin is None or origin.key != PurePosixPath(name).stem:
                    raise _fault(path, name, "is not the cell that its name says")
    return Archive(path, manifest)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _TIME)
    entry.create_system = 3  # declare Unix on every machine, for reproducible bytes
    entry.external_attr = 0o644 << 16
    return entry


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from error
    except _DAMAGES as error:
        raise _no_archive(path) from error


def _content(path: Path, file: zipfile.ZipFile, name: str, expected: str | None = None) -> bytes:
    """Read a member, and verify its checksum.

    Args:
        path: the archive, for messages.
        file: the opened archive.
        name: the member.
        expected: its SHA-256; None to skip the verification.

    Raises:
        StoreError: the member cannot be read, or does not match.
    """
    try:
        content = file.read(name)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from error
    except _DAMAGES as error:
        raise _fault(path, name, "is damaged") from error
    if expected is not None and checksum(content) != expected:
        raise _fault(path, name, "is damaged (its checksum is not the manifest's)")
    return content


def _manifest(path: Path, content: bytes) -> Manifest:
    try:
        known = json.loads(content)
        if isinstance(known, dict) and known.get("format") != FORMAT:
            raise StoreError(
                f"{path}: format {known.get('format')} is not supported by this version; valid: {FORMAT}"
            )
        return Manifest.model_validate(known)
    except (ValidationError, ValueError) as error:
        raise _fault(path, MANIFEST, "is not a manifest written by export") from error


def _require_valid_name(path: Path, name: str, preset: str) -> None:
    """Reject a name that belongs to neither a cell nor a figure, such as a path outside of the results."""
    *folders, file = name.split("/")
    is_figure = (
        len(folders) == 3
        and folders[0] == preset
        and all(map(_FOLDER.fullmatch, folders))
        and file in FIGURE_FILES
    )
    if not is_figure and not _CELL.fullmatch(name):
        raise _fault(
            path,
            repr(name),
            f"is not a stored result; valid: cells/<2 digits>/<key>.cell, {preset}/<paper>/<figure>/<file>",
        )


def _no_archive(path: Path) -> StoreError:
    return StoreError(f"{path}: damaged, or not an archive written by `scaling-limits export`")


def _fault(path: Path, name: str, problem: str) -> StoreError:
    return StoreError(f"{path}: member {name} {problem}")
