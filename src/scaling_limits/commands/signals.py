"""Signals to a run: Snakemake ends its jobs and removes its lock, and the run waits for it."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager


def accept_interrupts() -> None:
    """Stop ignoring SIGINT, so that a process started afterwards can be interrupted.

    A script's shell starts background jobs with SIGINT ignored, and child processes inherit this.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def signals_left_to(process: "subprocess.Popen[bytes]") -> Iterator[list[int]]:
    """Keep running while a signalled process ends: Snakemake must end its jobs and remove its lock.

    Yields:
        The signals received so far.
    """
    received: list[int] = []

    def interrupt(number: int, _: object) -> None:
        # a terminal interrupts both processes
        received.append(number)

    def terminate(number: int, _: object) -> None:
        # Snakemake's handler of SIGTERM may wait forever for a lock that Snakemake holds
        received.append(number)
        process.send_signal(signal.SIGINT)

    handlers = {signal.SIGINT: interrupt, signal.SIGTERM: terminate}
    before = {number: signal.signal(number, each) for number, each in handlers.items()}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
