"""Print the verdicts; end with an error if a claim fails that should not, or fewer claims are decided than before."""

import sys
from pathlib import Path

from scaling_limits.audit.table import Audit, print_table, problems
from scaling_limits.configuration.files import read_yaml
from scaling_limits.pipeline.scripting import logged

with logged(snakemake.log[0]):
    audit = Audit.model_validate_json(Path(snakemake.input.json).read_bytes())
    print_table(audit)
    reference = read_yaml(Path(snakemake.input.reference)) if snakemake.params.whole else {}
    found = problems(audit, reference)
    print(*found, sep="\n", file=sys.stderr)
    if found:
        sys.exit(1)
