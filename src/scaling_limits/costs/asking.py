"""The memory and time that a job requests from a scheduler; without jax."""

from collections.abc import Iterable
from math import ceil

from scaling_limits.cells import Cell
from scaling_limits.costs.memory import host_bytes
from scaling_limits.costs.packing import shards
from scaling_limits.costs.rates import JOB_SECONDS, shard_seconds

_LEAST_MB = 1000
"""A scheduler counts the processes of Snakemake around a job as well."""
_MEMORY_SPARE = 1.25
_SLOWER = 2
"""Estimated times are those of one machine: another one may take twice as long."""
_START_MINUTES = 5
"""A job that waits for a file system or a driver has computed nothing yet."""


def job_mb(cells: Iterable[Cell]) -> int:
    """Return the host memory that a job of these cells requests, in MB, rounded up to hundreds."""
    needed = max(host_bytes(cell) for cell in cells) / 1e6
    return max(_LEAST_MB, ceil(_MEMORY_SPARE * needed / 100) * 100)


def job_minutes(cells: Iterable[Cell]) -> int:
    """Return the minutes that a job of these cells requests."""
    seconds = JOB_SECONDS + sum(map(shard_seconds, shards(cells)))
    return _START_MINUTES + ceil(_SLOWER * seconds / 60)
