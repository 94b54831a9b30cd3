"""Reading published files: every payload is compared with its checksum before anyone sees it."""

import gzip
import hashlib
import io
import tarfile
import zlib
from pathlib import Path, PurePosixPath

from scaling_limits.datasets.corrupt import corrupt
from scaling_limits.datasets.description import Payload, Source
from scaling_limits.datasets.local import Copy
from scaling_limits.errors import DatasetError


class OtherDatasetError(DatasetError):
    """The file is an intact file of another dataset, published under the same name."""


def read(copy: Copy) -> dict[str, bytes]:
    """The verified payloads of a copy, by name.

    Raises:
        DatasetError: a file cannot be read, or is corrupt (it is then moved aside).
        OtherDatasetError: a file belongs to another dataset.
    """
    if copy.is_archive:
        return read_archive(copy.source, copy.files[0])
    pairs = zip(copy.source.payloads, copy.files, strict=True)
    return {payload.name: read_payload(payload, file) for payload, file in pairs}


def read_payload(payload: Payload, path: Path) -> bytes:
    """The verified bytes of one file, decompressed if it ends in `.gz`; raises as `read` does."""
    content = _content(path)
    if path.suffix == ".gz":
        try:
            content = gzip.decompress(content)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            itself = f"the file itself: {_checksum(content, payload)}"
            found = f"one that cannot be decompressed ({error}; {itself})"
            raise corrupt(path, expected=f"payload {payload.checksum}", found=found) from error
    found = _checksum(content, payload)
    if found == payload.checksum:
        return content
    if payload.namesake and _checksum(content, payload, like=payload.namesake) == payload.namesake:
        raise OtherDatasetError(f"{path} is another dataset's file of the same name")
    raise corrupt(path, expected=payload.checksum, found=found)


def read_archive(source: Source, path: Path) -> dict[str, bytes]:
    """The verified members of a tar archive, compressed or not; raises as `read` does."""
    content = _content(path)
    algorithm = source.archive_checksum.partition(":")[0]
    # the payloads count, so an archive that was packed again is as good as the official one
    expected = f"the official archive ({source.archive_checksum}) or another with its files"
    itself = f"the archive itself: {algorithm}:{hashlib.new(algorithm, content).hexdigest()}"
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
        raise corrupt(
            path, expected=expected, found=f"one that cannot be read ({error}; {itself})"
        ) from error
    for name, payload in wanted.items():
        if name not in members:
            raise corrupt(path, expected=expected, found=f"one without {name} ({itself})")
        found = _checksum(members[name], payload)
        if found != payload.checksum:
            raise corrupt(
                path, expected=f"{name} with {payload.checksum}", found=f"{found} ({itself})"
            )
    return members


def _checksum(content: bytes, payload: Payload, like: str = "") -> str:
    algorithm = (like or payload.checksum).partition(":")[0]
    return f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}") from error
