"""Compute the cells of a job that are not stored."""

from contextlib import ExitStack
from pathlib import Path

from scaling_limits import runtime
from scaling_limits.configuration import load
from scaling_limits.costs.packing import pack
from scaling_limits.pipeline.gpus import take_gpu
from scaling_limits.pipeline.jobs import run_job
from scaling_limits.pipeline.machine import programs_folder
from scaling_limits.pipeline.programs import shared_programs
from scaling_limits.pipeline.scripting import logged
from scaling_limits.store import Store

with logged(snakemake.log[0]), ExitStack() as until_the_end:
    configuration = load(".", snakemake.config)
    wildcards = snakemake.wildcards
    resources, paths = configuration.main.resources, configuration.main.paths
    every = configuration.shards(wildcards.paper, wildcards.experiment)
    cells = pack(every, configuration.preset.job_seconds)[int(wildcards.job.removeprefix("job-"))]

    def prepare() -> None:
        """Take the device, and share compiled programs."""
        if resources.device == "gpu" and (taken := take_gpu()):
            until_the_end.enter_context(taken)
        runtime.configure(dtype=cells[0].dtype, device=resources.device)
        until_the_end.enter_context(shared_programs(Path(paths.programs, programs_folder())))

    run_job(
        cells,
        store=Store(paths.store),
        datasets_folder=Path(paths.datasets),
        records=Path(snakemake.output.records),
        meta=Path(snakemake.output.meta),
        prepare=prepare,
    )
