"""Which cells share a job: the same on every machine and with any store; without jax or pandas."""

from collections.abc import Sequence

import numpy as np

from scaling_limits.cells import Cell
from scaling_limits.configuration.costs.rates import nominal, shard_seconds


def pack(cells: Sequence[Cell], seconds: float) -> list[list[Cell]]:
    """Split an experiment's cells into jobs of about `seconds` of estimated time, one dtype a job.

    Cells of a shard stay together where they fit, so that it is compiled once; a larger shard is divided.
    """
    shards: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        shards.setdefault((cell.dtype, cell.shard()), []).append(cell)
    jobs: list[list[Cell]] = []
    room, dtype = 0.0, ""
    for (kind, _), members in shards.items():
        parts = max(1, round(shard_seconds(members, nominal()) / seconds))
        for part in np.array_split(np.arange(len(members)), min(parts, len(members))):
            chosen = [members[index] for index in part]
            cost = shard_seconds(chosen, nominal())
            if kind != dtype or cost > room:
                jobs.append([])
                room, dtype = seconds, kind
            jobs[-1].extend(chosen)
            room -= cost
    return jobs
