"""Execute a figure's notebook."""

from pathlib import Path

from scaling_limits.pipeline.scripting import logged
from scaling_limits.plotting.notebook import execute

with logged(snakemake.log[0]):
    output = Path(snakemake.output.notebook)
    execute(
        Path(snakemake.input.notebook),
        folder=output.parent,
        output=output,
        failed=Path(snakemake.log[0]).with_name("failed.ipynb"),
    )
