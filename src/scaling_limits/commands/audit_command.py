"""The command `audit`, which judges the claims of figures from their records, after computing missing ones."""

import sys
from collections.abc import Sequence
from pathlib import Path

from scaling_limits.audit.table import print_table
from scaling_limits.commands.console import Console
from scaling_limits.commands.invocation import Invocation, chosen
from scaling_limits.commands.run_command import with_progress
from scaling_limits.errors import ConfigurationError


def audit(
    invocation: Invocation,
    target: str | None,
    further: Sequence[str],
    *,
    stored: bool,
    allow_missing: bool,
) -> int:
    """Judge the claims of all papers, of one paper, or of a figure.

    Args:
        invocation: the project's folder and changes to its configuration.
        target: `<paper>` or `<paper>/<figure>`; None for all papers.
        further: additional arguments of Snakemake.
        stored: whether to judge stored records only, without computing anything.
        allow_missing: whether to pass if figures have no records.

    Returns:
        Snakemake's exit code; 1 if the audit fails.

    Raises:
        ConfigurationError: a paper or figure does not exist, the configuration is invalid, or `allow_missing` is set
            although missing figures would be computed.
    """
    from scaling_limits.pipeline.judging import audited

    if allow_missing and not stored:
        raise ConfigurationError(
            "--allow-missing", "without --stored no figure is missing; add --stored"
        )
    if stored:
        invocation = invocation.having("audit", "stored", "--stored")
    if allow_missing:
        invocation = invocation.having("allow_missing", "true", "--allow-missing")
    configuration = invocation.configuration()
    figures = chosen(configuration, [] if target is None else [target])
    folder = Path("results", configuration.main.preset, target or "")
    single = target is not None and "/" in target
    written = folder / ("verdicts.json" if single else "audit.json")
    if not (single and stored):
        # silent if nothing is left to compute
        code, _ = with_progress(
            invocation, configuration, figures, [str(written)], further, Console(quiet=False)
        )
        if code:
            return code
    audit, problems = audited(
        configuration,
        figures,
        invocation.root,
        None if single else invocation.root / written,
        complete=target is None and not configuration.main.allow_missing,
        allow_missing=configuration.main.allow_missing,
    )
    print_table(audit)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0
