"""Execute a figure's notebook, and write the figure's page."""

from pathlib import Path

from scaling_limits.audit.summary import write_summary
from scaling_limits.pipeline.scripting import logged
from scaling_limits.plots.notebook import execute

with logged(snakemake.log[0]):
    output = Path(snakemake.output.notebook)
    execute(
        Path(snakemake.input.notebook),
        folder=output.parent,
        output=output,
        failed=Path(snakemake.log[0]).with_name("failed.ipynb"),
    )
    write_summary(output.parent)
