"""Estimated cost of figures: their cells, the stored cells among them, and time and memory of the others."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scaling_limits.cells import Cell
from scaling_limits.commands.readable import aligned, counted, duration, scaled, size
from scaling_limits.configuration import Configuration
from scaling_limits.costs.asking import job_minutes, requested_minutes
from scaling_limits.costs.count import flops
from scaling_limits.costs.memory import cell_bytes, host_bytes
from scaling_limits.costs.packing import pack
from scaling_limits.costs.rates import FIGURE_SECONDS, JOB_SECONDS, RUN_SECONDS, shard_seconds
from scaling_limits.pipeline.keys import cell_key
from scaling_limits.store import Store

_LONG = 36e3
"""Time in seconds above which the summary names the most expensive experiments."""
_MOST = 0.95
"""Fraction of the total time that the named experiments take together."""
FLOP_UNITS = ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP")


@dataclass(frozen=True)
class Estimate:
    """The estimated cost of cells.

    `cells` is their number, and `stored` the number of stored ones. For the others, the fields are: `shards`, `jobs`
    and `flops` (operations in matrix products); `memory` and `gpu_memory` (of the largest process, on the host and on
    its GPU, in bytes); `seconds` (in total), `longest` (of the longest job) and `longest_cell` (of the longest cell,
    with all cells computed at once), on one core or GPU; `request` (the most that a job requests at its first attempt,
    in seconds); and `jobs_beyond` and `cells_beyond` (jobs, and cells in a job of their own, that request more than a
    limit).
    """

    cells: int = 0
    stored: int = 0
    shards: int = 0
    jobs: int = 0
    flops: float = 0.0
    memory: float = 0.0
    gpu_memory: float = 0.0
    seconds: float = 0.0
    longest: float = 0.0
    longest_cell: float = 0.0
    request: float = 0.0
    jobs_beyond: int = 0
    cells_beyond: int = 0

    def __add__(self, other: "Estimate") -> "Estimate":
        return Estimate(
            self.cells + other.cells,
            self.stored + other.stored,
            self.shards + other.shards,
            self.jobs + other.jobs,
            self.flops + other.flops,
            max(self.memory, other.memory),
            max(self.gpu_memory, other.gpu_memory),
            self.seconds + other.seconds,
            max(self.longest, other.longest),
            max(self.longest_cell, other.longest_cell),
            max(self.request, other.request),
            self.jobs_beyond + other.jobs_beyond,
            self.cells_beyond + other.cells_beyond,
        )

    def wall_seconds(self, cores: int) -> float:
        """Return the wall time on a number of cores.

        Jobs are not divided, and all cores are assumed to be busy until the longest job ends.
        """
        return max(self.longest, self.seconds / cores)


@dataclass(frozen=True)
class Estimates:
    """The estimates of figures `<paper>/<figure>` and of experiments `<paper>/<experiment>`, and their total.

    Cells that several figures share count once in the total.
    """

    figures: Mapping[str, Estimate]
    experiments: Mapping[str, Estimate]
    total: Estimate


def estimate(
    configuration: Configuration,
    figures: Sequence[tuple[str, str]],
    *,
    store: Store | None,
    limit: float = math.inf,
) -> Estimates:
    """Estimate the cost of figures.

    Args:
        configuration: the configuration.
        figures: (paper, figure) of each figure.
        store: the store of computed cells; None counts every cell as missing.
        limit: the time in seconds that a job may request.

    Raises:
        ConfigurationError: a figure does not exist, or the configuration is invalid.
    """
    experiments = [(paper, configuration.figure(paper, name).experiment) for paper, name in figures]
    drawing = Estimate(seconds=FIGURE_SECONDS)
    total = Estimate(seconds=RUN_SECONDS + len(figures) * FIGURE_SECONDS)
    seen: set[str] = set()
    known = {}
    for key in dict.fromkeys(experiments):
        known[key] = _experiment(configuration, *key, store, limit, set())
        total += _experiment(configuration, *key, store, limit, seen)
    estimates = {
        f"{paper}/{name}": known[key] + drawing
        for (paper, name), key in zip(figures, experiments, strict=True)
    }
    named = {f"{paper}/{name}": each for (paper, name), each in known.items() if name is not None}
    return Estimates(estimates, named, total)


def _experiment(
    configuration: Configuration,
    paper: str,
    experiment: str | None,
    store: Store | None,
    limit: float,
    seen: set[str],
) -> Estimate:
    """Return the cost of an experiment's cells whose keys are not in `seen`, and add their keys to it."""
    total = Estimate()
    for packed in pack(configuration.shards(paper, experiment), configuration.preset.job_seconds):
        job = [cell for cell in packed if cell_key(cell) not in seen]
        seen.update(map(cell_key, job))
        missing: dict[str, list[Cell]] = {}
        count = 0
        for cell in job:
            if store is None or cell_key(cell) not in store:
                missing.setdefault(cell.shard(), []).append(cell)
                count += 1
        total += Estimate(cells=len(job), stored=len(job) - count)
        if missing:
            # a job requests time for all of its cells, stored or not
            total += _job(list(missing.values()), 60 * job_minutes(packed), limit)
    return total


def _job(shards: Sequence[Sequence[Cell]], request: float, limit: float) -> Estimate:
    """Return the cost of a job.

    Args:
        shards: the cells that it computes.
        request: the time in seconds that it requests.
        limit: the time in seconds that it may request.
    """
    seconds = JOB_SECONDS + sum(map(shard_seconds, shards))
    firsts = [JOB_SECONDS + shard_seconds(shard[:1]) for shard in shards]
    return Estimate(
        shards=len(shards),
        jobs=1,
        flops=sum(len(shard) * flops(shard[0]) for shard in shards),
        memory=max(host_bytes(shard[0]) for shard in shards),
        gpu_memory=max(cell_bytes(shard[0]) * (shard[0].device == "gpu") for shard in shards),
        seconds=seconds,
        longest=seconds,
        longest_cell=max(firsts),
        request=request,
        jobs_beyond=int(request > limit),
        cells_beyond=sum(
            len(shard)
            for shard, first in zip(shards, firsts, strict=True)
            if 60 * requested_minutes(first) > limit
        ),
    )


def summary(estimates: Estimates, *, device: str, cores: int) -> list[str]:
    """Return lines about all figures: unit of the times, total time, longest job, most expensive experiments."""
    total, gpu = estimates.total, device == "gpu"
    unit = "an H100 GPU" if gpu else "one core of the machine that the presets were made on"
    wall = duration(total.wall_seconds(1 if gpu else cores))
    lines = [
        f"Times are those of {unit}; expect half to twice.",
        f"On {'one GPU' if gpu else f'{cores} idle cores'} about {wall} in all.",
    ]
    if total.jobs:
        longest = f"the longest takes {duration(total.longest)}"
        lines.append(
            f"{counted(total.jobs, 'job')}; {longest}. No cell takes more than {duration(total.longest_cell)}."
        )
    if len(estimates.experiments) > 1 and total.seconds > _LONG:
        lines.append(f"Most of it: {', '.join(_dearest(estimates))}.")
    return lines


def _dearest(estimates: Estimates) -> list[str]:
    """Return the most expensive experiments, which together take `_MOST` of the time."""
    dearest: list[str] = []
    left = (1 - _MOST) * estimates.total.seconds
    ordered = sorted(estimates.experiments.items(), key=lambda item: item[1].seconds)
    for name, each in ordered:
        left -= each.seconds
        if left < 0:
            dearest.insert(0, f"{name} ({duration(each.seconds)})")
    return dearest


def beyond(estimates: Estimates, limit: float) -> list[str]:
    """Return lines about the jobs, and cells in a job of their own, that request more than a limit, by experiment.

    Args:
        estimates: the estimates with this limit.
        limit: the time in seconds that a job may request.
    """
    lines = []
    for name, each in estimates.experiments.items():
        if not each.jobs_beyond:
            continue
        jobs = (
            f"{each.jobs_beyond:,} of {counted(each.jobs, 'job')}, up to {duration(each.request)}"
        )
        if each.cells_beyond:
            cells = f"{each.cells_beyond:,} of {counted(each.cells - each.stored, 'cell')}"
            jobs += f"; {cells}, up to {duration(60 * requested_minutes(each.longest_cell))}"
        lines.append(f"{name}: {jobs}")
    if not lines:
        return [f"No job requests more than {duration(limit)}."]
    return [
        f"Jobs that request more than {duration(limit)}, and cells that would in a job of their own:",
        *lines,
    ]


def table(estimates: Estimates, *, device: str) -> str:
    """Return a table with one line for each figure, and a line for the total if there are several."""
    gpu = device == "gpu"
    memory = ("host memory", "GPU memory") if gpu else ("memory",)
    time = "device time" if gpu else "time of one core"
    head = ("figure", "cells", "stored", "shards", "jobs", "work", *memory, time)
    lines = [head, *(_line(name, each, gpu=gpu) for name, each in estimates.figures.items())]
    if len(estimates.figures) > 1:
        lines.append(_line("all", estimates.total, gpu=gpu))
    return aligned(lines, text_columns=1)


def _line(name: str, each: Estimate, *, gpu: bool) -> tuple[str, ...]:
    counts = (each.cells, each.stored, each.shards, each.jobs)
    memory = (each.memory, each.gpu_memory) if gpu else (each.memory,)
    return (
        name,
        *(f"{count:,}" for count in counts),
        scaled(each.flops, FLOP_UNITS) if each.flops else "-",
        *(size(amount) if amount else "-" for amount in memory),
        duration(each.seconds),
    )
