"""The memory and time that a job requests from a scheduler. Does not import jax."""

from collections.abc import Iterable
from math import ceil

from scaling_limits.cells import Cell
from scaling_limits.costs.memory import host_bytes
from scaling_limits.costs.packing import shards
from scaling_limits.costs.rates import JOB_SECONDS, shard_seconds

_LEAST_MB = 1000
"""Smallest request in MB, since the scheduler also counts Snakemake's processes around a job."""
_MEMORY_SPARE = 1.25
_SLOWER = 2
"""Factor of estimated times, since other machines may take twice as long as the one of the estimates."""
_START_MINUTES = 5
"""Time for starting, since a job may first wait for a file system or a driver."""


def job_mb(cells: Iterable[Cell]) -> int:
    """Return the host memory in MB that a job of these cells requests, rounded up to hundreds."""
    needed = max(host_bytes(cell) for cell in cells) / 1e6
    return max(_LEAST_MB, ceil(_MEMORY_SPARE * needed / 100) * 100)


def job_minutes(cells: Iterable[Cell]) -> int:
    """Return the time in minutes that a job of these cells requests at its first attempt."""
    return requested_minutes(JOB_SECONDS + sum(map(shard_seconds, shards(cells))))


def requested_minutes(seconds: float) -> int:
    """Return the time in minutes that a job requests which is estimated to take `seconds`."""
    return _START_MINUTES + ceil(_SLOWER * seconds / 60)


def attempted_minutes(cells: Iterable[Cell], attempt: int, max_hours: float | None) -> int:
    """Return the time in minutes that a job requests.

    Args:
        cells: the job's cells.
        attempt: the number of this attempt, from 1; each one requests more.
        max_hours: the longest time that a job may request, in hours; None for no limit.
    """
    minutes = attempt * job_minutes(cells)
    return minutes if max_hours is None else min(minutes, int(60 * max_hours))
