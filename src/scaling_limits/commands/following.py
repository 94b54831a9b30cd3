"""Snakemake as a subprocess whose log goes to a file and whose events are read while it runs."""

import json
import os
import select
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from scaling_limits.commands.signals import accept_interrupts
from scaling_limits.files import JsonObject, unwritable

SECONDS = 0.5
"""Longest time in seconds between two checks for events."""
_PIECE = 1 << 16


class Followed:
    """A Snakemake process, its events, and the warnings in its log."""

    def __init__(self, process: "subprocess.Popen[bytes]", events: int, log: int) -> None:
        """Follow a process that was just started.

        Args:
            process: the Snakemake process.
            events: the file descriptor for reading events without blocking.
            log: the file descriptor of the file to which Snakemake and its jobs print.
        """
        self.process = process
        self._events, self._log = events, log
        self._open = True
        self._event_lines, self._log_lines = _Lines(), _Lines()
        self._position = 0

    def wait(self) -> bool:
        """Wait for an event, for at most `SECONDS`; return whether the process was running before."""
        running = self.process.poll() is None
        if running and self._open:
            select.select([self._events], [], [], SECONDS)
        elif running:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(SECONDS)
        return running

    def events(self) -> Iterator[JsonObject]:
        """Yield the events since the last call."""
        try:
            while content := os.read(self._events, _PIECE):
                for line in self._event_lines.completed(content):
                    yield json.loads(line)
            self._open = False
        except BlockingIOError:
            pass

    def warnings(self) -> Iterator[str]:
        """Yield the warnings that were printed since the last call."""
        # pread, since the file offset is shared with the processes that write to the file
        while content := os.pread(self._log, _PIECE, self._position):
            self._position += len(content)
            for line in self._log_lines.completed(content):
                if line.startswith("warning: "):
                    yield line

    def printed(self) -> str:
        """Return all that was printed."""
        size = os.fstat(self._log).st_size
        return os.pread(self._log, size, 0).decode(errors="replace")


class _Lines:
    """Splits a stream that is read in pieces into lines."""

    def __init__(self) -> None:
        self._begun = b""

    def completed(self, content: bytes) -> list[str]:
        *lines, self._begun = (self._begun + content).split(b"\n")
        return [line.decode(errors="replace") for line in lines]


@contextmanager
def started(
    command: Sequence[str], further: Sequence[str], folder: Path, log: Path | None
) -> Iterator[Followed]:
    """Start Snakemake and follow it.

    Args:
        command: the command line of Snakemake, to which the options for events are added.
        further: arguments after these options.
        folder: the project's folder.
        log: the file for the log, which replaces an older one; None for a dry run, whose log Snakemake prints to
            standard output and which keeps no file.

    Raises:
        WriteError: the file cannot be written.
    """
    events, sent = os.pipe()
    os.set_blocking(events, False)
    with open(events, "rb"), open(sent, "wb") as sending, _opened(log) as printed:
        accept_interrupts()
        options = ["--logger", "scaling-limits", "--logger-scaling-limits-pipe", str(sent)]
        process = subprocess.Popen(
            [*command, *options, *further],
            cwd=folder,
            stdout=printed if log is None else None,
            stderr=printed,
            pass_fds=[sent],
        )
        # so that reading ends when Snakemake ends
        sending.close()
        yield Followed(process, events, printed.fileno())


def _opened(path: Path | None) -> IO[bytes]:
    """Open a new file for reading and appending."""
    if path is None:
        return tempfile.TemporaryFile("a+b")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # another run may still write to the older one
        path.unlink(missing_ok=True)
        return path.open("a+b")
    except OSError as error:
        raise unwritable(path, error) from error
