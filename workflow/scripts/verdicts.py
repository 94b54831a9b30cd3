"""Collect the verdicts of figures into one table; succeeds whatever they say."""

from pathlib import Path

from scaling_limits.audit.table import FigureClaims, collect, write_audit
from scaling_limits.configuration import load
from scaling_limits.pipeline.scripting import logged

with logged(snakemake.log[0]):
    configuration = load(".", snakemake.config)
    preset = configuration.main.preset
    figures = [
        FigureClaims(
            paper,
            name,
            Path("results", preset, paper, name),
            configuration.figure(paper, name).claims,
        )
        for paper, name in snakemake.params.figures
    ]
    write_audit(collect(preset, figures), Path(snakemake.output.json).parent)
