"""Reading of published files: every payload is compared with its checksum before it is used.

The format of a file is determined by its first bytes, not by its name. No file is changed here.
"""

import gzip
import hashlib
import io
import tarfile
import zlib
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from scaling_limits.datasets import tables
from scaling_limits.datasets.description import Payload, Source
from scaling_limits.datasets.local import Copies
from scaling_limits.errors import DatasetError

_GZIP = b"\x1f\x8b"


class MismatchError(DatasetError):
    """The content of a file differs from the published one; holds the expected and the actual content."""

    def __init__(self, path: Path, *, expected: str, found: str) -> None:
        super().__init__(f"{path}: expected {expected}, found {found}")
        self.path, self.expected, self.found = path, expected, found


class Verified(NamedTuple):
    """The payloads of a source by name, as published, and a folder from which they were read."""

    payloads: dict[str, bytes]
    folder: Path


def read(copies: Copies, reasons: list[str]) -> Verified | None:
    """Read a source from the first copies with the published content.

    Args:
        copies: the files to try.
        reasons: a list to which the reason is appended for each unusable file.

    Returns:
        The payloads, or None if the copies do not contain all of them.
    """
    source = copies.source
    for archive in copies.archives:
        try:
            return Verified(read_archive(source, archive), archive.parent)
        except DatasetError as error:
            reasons.append(str(error))
    payloads: dict[str, bytes] = {}
    for payload in source.payloads:
        for file in copies.payloads[payload.name]:
            try:
                payloads[payload.name] = read_payload(payload, file)
                break
            except DatasetError as error:
                reasons.append(str(error))
    if len(payloads) == len(source.payloads):
        return Verified(payloads, file.parent)
    for files in copies.tables:
        try:
            return Verified(read_table(source, files), files[0].parent)
        except DatasetError as error:
            reasons.append(str(error))
    return None


def read_payload(payload: Payload, path: Path) -> bytes:
    """Return the verified bytes of one file, decompressed if it is a gzip file.

    Raises:
        MismatchError: the file is corrupt or is a different file.
        DatasetError: it cannot be read.
    """
    content = _content(path)
    if content.startswith(_GZIP):
        try:
            content = gzip.decompress(content)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            file_text = f"the file itself: {_checksum(content, payload)}"
            problem = f"a file that cannot be decompressed ({error}; {file_text})"
            raise MismatchError(
                path, expected=f"payload {payload.checksum}", found=problem
            ) from error
    checksum = _checksum(content, payload)
    if checksum != payload.checksum:
        raise MismatchError(path, expected=payload.checksum, found=checksum)
    return content


def read_archive(source: Source, path: Path) -> dict[str, bytes]:
    """Return the verified members of a tar archive, compressed or not; raises as `read_payload` does."""
    content = _content(path)
    algorithm = source.archive_checksum.partition(":")[0]
    # only the payloads are verified, so a repacked archive is accepted, too
    expected = f"the official archive ({source.archive_checksum}) or another archive of its files"
    archive_text = f"the archive itself: {algorithm}:{hashlib.new(algorithm, content).hexdigest()}"
    wanted = {payload.name: payload for payload in source.payloads}
    members: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:*") as archive:
            for member in archive:
                name = PurePosixPath(member.name).name
                stream = archive.extractfile(member) if name in wanted else None
                if stream is not None:
                    members[name] = stream.read()
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise MismatchError(
            path, expected=expected, found=f"an unreadable archive ({error}; {archive_text})"
        ) from error
    for name, payload in wanted.items():
        if name not in members:
            raise MismatchError(
                path, expected=expected, found=f"an archive without {name} ({archive_text})"
            )
        checksum = _checksum(members[name], payload)
        if checksum != payload.checksum:
            raise MismatchError(
                path,
                expected=f"{name} with {payload.checksum}",
                found=f"{checksum} ({archive_text})",
            )
    return members


def read_table(source: Source, files: tuple[Path, ...]) -> dict[str, bytes]:
    """Return the payloads from labelled images in tables, verified by the checksums of the published files.

    Raises:
        DatasetError: a table cannot be read, or contains other images or labels.
    """
    assert source.encode is not None
    try:
        payloads = source.encode(*tables.read({file: _content(file) for file in files}))
    except KeyError as error:
        raise DatasetError(f"{files[0]} has no column {error}") from error
    except (ValueError, TypeError) as error:
        raise DatasetError(f"{files[0]} does not contain images with labels: {error}") from error
    for payload in source.payloads:
        checksum = _checksum(payloads[payload.name], payload)
        if checksum != payload.checksum:
            expected = f"images and labels that give {payload.name} with {payload.checksum}"
            raise MismatchError(files[0], expected=expected, found=checksum)
    return payloads


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}") from error


def _checksum(content: bytes, payload: Payload) -> str:
    algorithm = payload.checksum.partition(":")[0]
    return f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"
