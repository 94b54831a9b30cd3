"""Functions shared by the workflow's scripts: output to log and terminal, and errors without a traceback."""

import contextlib
import gc
import io
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.files import unwritable


class _Tee(io.TextIOBase):
    def __init__(self, terminal: TextIO, log: io.RawIOBase):
        self._terminal = terminal
        self._log = log

    def close(self) -> None:
        """Do nothing: the streams belong to others, and logging handlers close theirs at exit."""

    def write(self, text: str) -> int:
        self._terminal.write(text)
        self.note(text)
        return len(text)

    def note(self, text: str) -> None:
        """Write to the log only. A full disk is ignored, since a log is no reason to fail."""
        with contextlib.suppress(OSError):
            self._log.write(text.encode(errors="replace"))

    def flush(self) -> None:
        self._terminal.flush()


@contextlib.contextmanager
def logged(log: str | Path) -> Iterator[None]:
    """Copy what a script prints to its log, and exit with a message and code 1 on foreseen errors.

    Foreseen are user errors, interrupts, and errors of the operating system, whose traceback is written to the log. Any
    other exception is a bug and shows its traceback.
    """
    path = Path(log)
    terminal = sys.stderr
    _collect_seldom()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("wb", buffering=0)
    except OSError as error:
        sys.exit(f"error: {unwritable(path, error)}")
    with file:
        tee = _Tee(terminal, file)
        with contextlib.redirect_stderr(tee), contextlib.redirect_stdout(tee):
            try:
                yield
            except (ScalingLimitsError, OSError) as error:
                if isinstance(error, OSError):
                    tee.note(traceback.format_exc())
                print(f"error: {error}", file=sys.stderr, flush=True)
                sys.exit(1)
            except KeyboardInterrupt:
                print(
                    "interrupted: what is stored is kept, and the same command goes on from there",
                    file=sys.stderr,
                )
                sys.exit(1)
            except Exception:
                tee.note(traceback.format_exc())
                raise


def _collect_seldom() -> None:
    """Exclude imported objects from garbage collection, and collect less often.

    Tracing a program and drawing a figure create many small objects and few cycles; searching for cycles would take a
    tenth of the time.
    """
    gc.freeze()
    gc.set_threshold(100_000)
