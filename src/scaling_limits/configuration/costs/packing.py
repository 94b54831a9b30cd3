"""Which cells share a job. Apart from `jobs`, as this runs while the Snakefile is read and needs no pandas."""

from collections.abc import Iterable, Sequence

import numpy as np

from scaling_limits.cells import Cell, digest
from scaling_limits.pipeline.costs import shard_seconds
from scaling_limits.pipeline.keys import cell_key


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


def job_digest(cells: Iterable[Cell]) -> str:
    """What a job's output depends on: the keys of its cells, and so their source."""
    return digest(sorted(cell_key(cell) for cell in cells))
