"""What the workflow's scripts share: messages to log and terminal, and errors without a traceback."""

import contextlib
import io
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from ..errors import ScalingLimitsError


class _Tee(io.TextIOBase):
    def __init__(self, *streams: TextIO):
        self._streams = streams

    def close(self) -> None:
        """Do nothing: the streams belong to others, and logging handlers close theirs at exit."""

    def write(self, text: str) -> int:
        for stream in self._streams:
            stream.write(text)
        return len(text)

    def flush(self) -> None:
        for stream in self._streams:
            stream.flush()


@contextlib.contextmanager
def logged(log: str | Path) -> Iterator[None]:
    """Send what a script prints to its log as well; a user's error ends it with its message and exit code 1."""
    path = Path(log)
    path.parent.mkdir(parents=True, exist_ok=True)
    terminal = sys.stderr
    with path.open("w", encoding="utf-8") as file:
        tee = _Tee(terminal, file)
        with contextlib.redirect_stderr(tee), contextlib.redirect_stdout(tee):
            try:
                yield
            except ScalingLimitsError as error:
                print(f"error: {error}", file=sys.stderr, flush=True)
                sys.exit(1)
            except Exception:
                traceback.print_exc(file=file)
                raise
