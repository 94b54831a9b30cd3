"""Snakemake as a subprocess: audits, and a report of existing results."""

import importlib.util
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from scaling_limits.audit.index import IN_REPORT
from scaling_limits.audit.table import print_table, problems
from scaling_limits.commands.invocation import Invocation, chosen
from scaling_limits.commands.signals import accept_interrupts, signals_left_to
from scaling_limits.configuration import Configuration
from scaling_limits.errors import ConfigurationError, unknown

PAGE = "summary.html"
"""The page of a figure that the report shows, in the figure's folder of results."""


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
        Snakemake's exit code; 1 if the audit of a figure fails.

    Raises:
        ConfigurationError: a paper or figure does not exist, the configuration is invalid, or `allow_missing` is set
            although missing figures would be computed.
    """
    if allow_missing and not stored:
        raise ConfigurationError(
            "--allow-missing", "without --stored no figure is missing; add --stored"
        )
    configuration = given.configuration()
    figures = [] if target is None else chosen(configuration, [target])
    if target is not None and "/" in target:
        return _audit_figure(
            given, configuration, figures[0], further, stored=stored, allow_missing=allow_missing
        )
    if stored:
        given = given.having("audit", "stored", "--stored")
    if allow_missing:
        given = given.having("allow_missing", "true", "--allow-missing")
    return snakemake(given, ["audit" if target is None else f"audit/{target}"], further)


def _audit_figure(
    given: Invocation,
    configuration: Configuration,
    figure: tuple[str, str],
    further: Sequence[str],
    *,
    stored: bool,
    allow_missing: bool,
) -> int:
    from scaling_limits.audit.register import Register
    from scaling_limits.pipeline import judging

    preset = configuration.main.preset
    results = Path("results", preset)
    if not stored:
        target = results.joinpath(*figure, "verdicts.json")
        code = snakemake(given, [str(target)], further)
        if code:
            return code
    figures = judging.figures_to_audit(configuration, [figure], given.root / results)
    docs = given.root / "docs"
    register = Register.read(docs / "deviations.yaml", docs / "amendments.yaml")
    found = judging.judged(preset, figures, register)
    print_table(found)
    failing = problems(found, {}) + ([] if allow_missing else judging.missing(figures))
    for problem in failing:
        print(problem, file=sys.stderr)
    return 1 if failing else 0


def report(given: Invocation, names: Sequence[str], further: Sequence[str]) -> int:
    """Write a report of the existing results of figures, and return Snakemake's exit code.

    Args:
        given: the project's folder and changes to its configuration.
        names: `<paper>/<figure>` or `<paper>`; all figures if empty.
        further: additional arguments of Snakemake.

    Raises:
        ConfigurationError: there are no results, a figure or paper does not exist, or the configuration is invalid.
    """
    configuration = given.configuration()
    figures = chosen(configuration, names)
    there = [figure for figure in figures if _is_there(given.root, configuration, *figure)]
    preset = configuration.main.preset
    if not there:
        command = " ".join(["scaling-limits run", *names, "--preset", preset])
        raise ConfigurationError(
            None, f"none of the figures asked for was drawn at the preset {preset}: {command}"
        )
    file = f"results/{preset}/report.html"
    # the index also shows existing results only
    given = given.having("audit", "stored", "report")
    index = f"results/{preset}/{IN_REPORT}"
    code = snakemake(given, [index], further)
    if code == 0:
        targets = [index, *(f"results/{preset}/{paper}/{name}/{PAGE}" for paper, name in there)]
        code = snakemake(given, targets, ["--report", file, *further])
    if code == 0:
        print(f"Report: {file} ({len(there)} of {len(figures)} figures)")
    return code


def snakemake(given: Invocation, targets: Sequence[str], further: Sequence[str]) -> int:
    """Run Snakemake in the project's folder with its log on the terminal, and return its exit code.

    Raises:
        ConfigurationError: see `command`.
    """
    accept_interrupts()
    process = subprocess.Popen([*command(given, targets), *further], cwd=given.root)
    with signals_left_to(process):
        return process.wait()


def command(given: Invocation, targets: Sequence[str], *quiet: str) -> list[str]:
    """Return the command line of Snakemake.

    Args:
        given: changes to the configuration.
        targets: Snakemake's targets.
        quiet: the kinds of output that its log omits besides the rules of jobs.

    Raises:
        ConfigurationError: Snakemake is not installed.
    """
    if importlib.util.find_spec("snakemake") is None:
        raise ConfigurationError(
            None,
            "Snakemake is not installed; install the extra that has it: pip install 'scaling-limits[workflow]'",
        )
    # -P: do not import a file in the project's folder that has the name of a module
    words = [sys.executable, "-P", "-m", "snakemake", *targets, *given.for_snakemake()]
    return [*words, "--quiet", "rules", *quiet]


def with_profile(root: Path, name: str) -> list[str]:
    """Return the arguments of Snakemake for a profile of the project, which replaces the default profile.

    Raises:
        ConfigurationError: the profile does not exist.
    """
    folders = sorted(path.parent for path in (root / "profiles").glob("*/config.yaml"))
    if name not in (names := [folder.name for folder in folders]):
        raise ConfigurationError("--profile", unknown("profile", name, names))
    return ["--workflow-profile", f"profiles/{name}"]


def _is_there(root: Path, configuration: Configuration, paper: str, figure: str) -> bool:
    return (root / "results" / configuration.main.preset / paper / figure / PAGE).exists()
