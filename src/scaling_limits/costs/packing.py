"""Which cells share a job: the same on every machine and with any store; without jax or pandas."""

from collections.abc import Iterable, Sequence

import numpy as np

from scaling_limits.cells import Cell
from scaling_limits.costs.rates import shard_seconds


def shards(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Cells that compile once, together."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(cell.shard(), []).append(cell)
    return list(found.values())


def pack(shards: Iterable[Sequence[Cell]], seconds: float) -> list[list[Cell]]:
    """Split an experiment's shards into jobs of about `seconds` of estimated time, one dtype a job.

    Cells of a shard stay together where they fit, so that it is compiled once; a larger shard is divided.
    """
    jobs: list[list[Cell]] = []
    room, dtype = 0.0, ""
    for members in shards:
        kind = members[0].dtype
        parts = max(1, round(shard_seconds(members) / seconds))
        for part in np.array_split(np.arange(len(members)), min(parts, len(members))):
            chosen = [members[index] for index in part]
            cost = shard_seconds(chosen)
            if kind != dtype or cost > room:
                jobs.append([])
                room, dtype = seconds, kind
            jobs[-1].extend(chosen)
            room -= cost
    return jobs
