"""Write the page of all figures and verdicts."""

from pathlib import Path

from scaling_limits.audit.index import write_index
from scaling_limits.audit.table import Audit
from scaling_limits.pipeline.scripting import logged

with logged(snakemake.log[0]):
    write_index(
        Audit.model_validate_json(Path(snakemake.input.audit).read_bytes()),
        snakemake.params.figures,
        Path(snakemake.output.index).parent,
    )
