"""Output to the terminal during a run: lines, and below them one progress line that is redrawn in place."""

import shutil
import sys
import time

SECONDS_BETWEEN_LINES = 60.0
"""Time between printed progress lines if they cannot be redrawn."""


class Console:
    """Prints results to standard output, and progress and problems to standard error.

    If standard error is a terminal, the progress line is redrawn in place. Otherwise it is printed as a plain line, at
    most every `SECONDS_BETWEEN_LINES` seconds.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._redraws = sys.stderr.isatty()
        self._shown = ""
        self._printed = time.monotonic()

    def line(self, text: str) -> None:
        """Print a result."""
        if self._quiet:
            return
        self.clear()
        print(text, flush=True)

    def problem(self, text: str) -> None:
        """Print an error or a warning."""
        self.clear()
        print(text, file=sys.stderr, flush=True)

    def progress(self, text: str) -> None:
        """Replace the progress line."""
        if self._quiet:
            return
        if self._redraws:
            text = text[: shutil.get_terminal_size().columns - 1]
            if text != self._shown:
                self.clear()
                print(text, end="", file=sys.stderr, flush=True)
                self._shown = text
        elif time.monotonic() - self._printed >= SECONDS_BETWEEN_LINES:
            print(text, file=sys.stderr, flush=True)
            self._printed = time.monotonic()

    def clear(self) -> None:
        """Remove the progress line."""
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self._shown = ""
