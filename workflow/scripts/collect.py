"""Gather a figure's records, judge its claims, and write their provenance."""

from pathlib import Path

from scaling_limits.audit.register import Register
from scaling_limits.configuration import load
from scaling_limits.pipeline.figures import collect
from scaling_limits.pipeline.scripting import logged

with logged(snakemake.log[0]):
    collect(
        load(".", snakemake.config),
        snakemake.wildcards.paper,
        snakemake.wildcards.figure,
        job_records=[Path(path) for path in snakemake.input.records],
        job_meta=[Path(path) for path in snakemake.input.meta],
        register=Register.read(Path(snakemake.input.deviations), Path(snakemake.input.amendments)),
        folder=Path(snakemake.output[0]).parent,
    )
