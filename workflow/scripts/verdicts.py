"""Gather the verdicts of figures in one table; this succeeds regardless of the verdicts."""

from pathlib import Path

from scaling_limits.audit.table import collect, write_audit
from scaling_limits.configuration import load
from scaling_limits.pipeline.judging import figures_to_audit
from scaling_limits.pipeline.scripting import logged

with logged(snakemake.log[0]):
    configuration = load(".", snakemake.config)
    preset = configuration.main.preset
    figures = figures_to_audit(configuration, snakemake.params.figures, Path("results", preset))
    audit = collect(preset, figures, confirmed=configuration.preset.seeds.confirming)
    write_audit(audit, Path(snakemake.output.json).parent)
