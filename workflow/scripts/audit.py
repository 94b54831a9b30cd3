"""Judge all claims from the records, print the verdicts, and exit with code 1 if the audit fails.

It fails if a claim fails that is not registered, a registered claim holds, fewer claims are decided than before, a
locked claim changed without an amendment, a figure has no records, or a file does not match its checksum.
"""

import sys
from pathlib import Path

from scaling_limits.audit.lock import unexplained
from scaling_limits.audit.register import Register
from scaling_limits.audit.table import print_table, problems
from scaling_limits.configuration import load
from scaling_limits.configuration.files import read_yaml
from scaling_limits.pipeline.judging import disagreements, figures_to_audit, judged, missing
from scaling_limits.pipeline.scripting import logged

with logged(snakemake.log[0]):
    configuration = load(".", snakemake.config)
    main = configuration.main
    figures = figures_to_audit(
        configuration, snakemake.params.figures, Path("results", main.preset)
    )
    register = Register.read(Path(snakemake.input.deviations), Path(snakemake.input.amendments))
    confirmed = configuration.preset.seeds.confirming
    audit = judged(main.preset, figures, register, confirmed=confirmed)
    print_table(audit)
    reference = read_yaml(Path(snakemake.input.reference)) if snakemake.params.whole else {}
    found = problems(audit, reference)
    found += disagreements(audit, Path(snakemake.input.json))
    if snakemake.params.whole:
        found += unexplained(Path(snakemake.input.lock), register.amendments, Path())
    if not main.allow_missing:
        found += missing(figures)
    print(*found, sep="\n", file=sys.stderr)
    if found:
        sys.exit(1)
