"""Assignment of cells to jobs, equal on every machine and with any store. Does not import jax or pandas."""

from collections.abc import Iterable, Sequence

import numpy as np

from scaling_limits.cells import Cell
from scaling_limits.costs.rates import shard_seconds


def shards(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Return the cells in groups that share one compiled program."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.shard(), []).append(cell)
    return list(groups.values())


def pack(shards: Iterable[Sequence[Cell]], seconds: float) -> list[list[Cell]]:
    """Split an experiment's shards into jobs of about `seconds` of estimated time, with one dtype per job.

    The cells of a shard stay together if they fit, so that the shard is compiled once; larger shards are divided.
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
