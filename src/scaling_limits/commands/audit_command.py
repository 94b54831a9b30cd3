"""The command `audit`, which judges the claims of figures from their records, after computing missing ones."""

import sys
from collections.abc import Sequence
from pathlib import Path

from scaling_limits.audit.table import print_table, problems
from scaling_limits.commands import workflow
from scaling_limits.commands.console import Console
from scaling_limits.commands.invocation import Invocation, chosen
from scaling_limits.commands.run_command import with_progress
from scaling_limits.configuration import Configuration
from scaling_limits.errors import ConfigurationError


def audit(
    given: Invocation,
    target: str | None,
    further: Sequence[str],
    *,
    stored: bool,
    allow_missing: bool,
) -> int:
    """Judge the claims of all papers, of one paper, or of a figure.

    Args:
        given: the project's folder and changes to its configuration.
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
    if allow_missing and not stored:
        raise ConfigurationError(
            "--allow-missing", "without --stored no figure is missing; add --stored"
        )
    configuration = given.configuration()
    figures = chosen(configuration, [] if target is None else [target])
    single = target is not None and "/" in target
    if not stored:
        folder = Path("results", configuration.main.preset, target or "")
        verdicts = folder / ("verdicts.json" if single else "audit.json")
        code, _ = with_progress(
            given, configuration, figures, [str(verdicts)], further, Console(quiet=False)
        )
        if code:
            return code
    if single:
        return _audit_figure(given, configuration, figures[0], allow_missing=allow_missing)
    if stored:
        given = given.having("audit", "stored", "--stored")
    if allow_missing:
        given = given.having("allow_missing", "true", "--allow-missing")
    # nothing is left to compute: of this process, only the table and the problems are shown
    targets = ["audit" if target is None else f"audit/{target}"]
    return workflow.snakemake(given, targets, further, "all")


def _audit_figure(
    given: Invocation, configuration: Configuration, figure: tuple[str, str], *, allow_missing: bool
) -> int:
    from scaling_limits.audit.register import Register
    from scaling_limits.pipeline import judging

    preset = configuration.main.preset
    figures = judging.figures_to_audit(
        configuration, [figure], given.root.joinpath("results", preset)
    )
    docs = given.root / "docs"
    register = Register.read(docs / "deviations.yaml", docs / "amendments.yaml")
    found = judging.judged(preset, figures, register)
    print_table(found)
    failing = problems(found, {}) + ([] if allow_missing else judging.missing(figures))
    for problem in failing:
        print(problem, file=sys.stderr)
    return 1 if failing else 0
