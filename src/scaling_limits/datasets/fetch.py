"""Downloads with mirrors and retries after increasing pauses; a file is written only when it is complete."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, TypeVar

from scaling_limits.errors import DatasetError
from scaling_limits.files import write_file

ROUNDS = 4
_TIMEOUT_SECONDS = 30.0
_CHUNK_BYTES = 1 << 18
_RETRIED_STATUS = (408, 425, 429)

Checked = TypeVar("Checked")


def fetch(
    urls: Sequence[str],
    target: Path,
    *,
    check: Callable[[Path], Checked],
    wait: Callable[[float], None],
    report: Callable[[str], None],
) -> Checked:
    """Download one file and return the result of `check`.

    All mirrors are tried in turn, in at most `ROUNDS` rounds with pauses of 1, 2, 4... seconds between them. A mirror
    that rejects the request, or whose file fails `check`, is not tried again.

    Args:
        urls: addresses of the file, one for each mirror, in the order in which they are tried.
        target: path to write.
        check: reads the file at a path; raises DatasetError if the file is wrong.
        wait: pauses for a number of seconds.
        report: receives one line of progress or failure.

    Returns:
        The result of `check`.

    Raises:
        DatasetError: no mirror provided a valid file; the message names the failure of each one.
        WriteError: the file cannot be written on this machine, so other mirrors are not tried.
    """
    mirrors = list(urls)
    failures: list[str] = []
    for attempt in range(ROUNDS):
        if attempt:
            wait(2.0 ** (attempt - 1))
        for url in tuple(mirrors):
            try:
                write_file(target, _download(url, target.name, report))
                return check(target)
            except (OSError, http.client.HTTPException) as error:
                failure = f"{url}: {error or type(error).__name__}"
                if isinstance(error, urllib.error.HTTPError):
                    error.close()
                    if 400 <= error.code < 500 and error.code not in _RETRIED_STATUS:
                        mirrors.remove(url)
            except DatasetError as error:
                failure = f"{url}: {error}"
                mirrors.remove(url)
            failures.append(failure)
            report(failure)
        if not mirrors:
            break
    reasons = "\n  ".join(dict.fromkeys(failures))
    raise DatasetError(
        f"{target.name} could not be downloaded ({len(failures)} attempts):\n  {reasons}"
    )


def _download(url: str, name: str, report: Callable[[str], None]) -> bytes:
    request = urllib.request.Request(url, headers={"User-Agent": "scaling-limits"})
    with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response:
        length = response.headers.get("Content-Length")
        return _body(response, int(length) if length else None, name, report)


def _body(source: BinaryIO, total: int | None, name: str, report: Callable[[str], None]) -> bytes:
    content, tenths = bytearray(), 0
    while chunk := source.read(_CHUNK_BYTES):
        content += chunk
        if total and 10 * len(content) // total > tenths:
            tenths = 10 * len(content) // total
            report(f"{name}: {10 * tenths} % of {total / 1e6:.1f} MB")
    if total is not None and len(content) != total:
        raise ConnectionError(f"the connection was closed after {len(content)} of {total} bytes")
    return bytes(content)
