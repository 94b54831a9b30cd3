"""Judge all claims from the records, print the verdicts, and exit with code 1 if the audit fails."""

import sys
from pathlib import Path

from scaling_limits.audit.table import print_table
from scaling_limits.configuration import load
from scaling_limits.pipeline.judging import audited
from scaling_limits.pipeline.scripting import logged

with logged(snakemake.log[0]):
    configuration = load(".", snakemake.config)
    audit, problems = audited(
        configuration,
        snakemake.params.figures,
        Path(),
        Path(snakemake.input.json),
        complete=snakemake.params.whole,
        allow_missing=configuration.main.allow_missing,
    )
    print_table(audit)
    print(*problems, sep="\n", file=sys.stderr)
    if problems:
        sys.exit(1)
