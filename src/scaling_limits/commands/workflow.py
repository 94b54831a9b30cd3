"""Snakemake as a subprocess, and a report of existing results."""

import importlib.util
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from scaling_limits.audit.index import IN_REPORT
from scaling_limits.commands.invocation import Invocation, chosen
from scaling_limits.commands.signals import accept_interrupts, signals_left_to
from scaling_limits.configuration import Configuration
from scaling_limits.errors import ConfigurationError, unknown

PAGE = "summary.html"
"""The page of a figure that the report shows, in the figure's folder of results."""


def report(invocation: Invocation, names: Sequence[str], further: Sequence[str]) -> int:
    """Write a report of the existing results of figures, and return Snakemake's exit code.

    Args:
        invocation: the project's folder and changes to its configuration.
        names: `<paper>/<figure>` or `<paper>`; all figures if empty.
        further: additional arguments of Snakemake.

    Raises:
        ConfigurationError: there are no results, a figure or paper does not exist, or the configuration is invalid.
    """
    configuration = invocation.configuration()
    figures = chosen(configuration, names)
    there = [figure for figure in figures if _is_there(invocation.root, configuration, *figure)]
    preset = configuration.main.preset
    if not there:
        command = " ".join(["scaling-limits run", *names, "--preset", preset])
        raise ConfigurationError(
            None, f"none of the figures asked for was drawn at the preset {preset}: {command}"
        )
    file = f"results/{preset}/report.html"
    # the index also shows existing results only
    invocation = invocation.having("audit", "stored", "report")
    index = f"results/{preset}/{IN_REPORT}"
    code = snakemake(invocation, [index], further)
    if code == 0:
        targets = [index, *(f"results/{preset}/{paper}/{name}/{PAGE}" for paper, name in there)]
        code = snakemake(invocation, targets, ["--report", file, *further])
    if code == 0:
        print(f"Report: {file} ({len(there)} of {len(figures)} figures)")
    return code


def snakemake(invocation: Invocation, targets: Sequence[str], further: Sequence[str]) -> int:
    """Run Snakemake in the project's folder with its log on the terminal, and return its exit code.

    Args:
        invocation: the project's folder and changes to its configuration.
        targets: Snakemake's targets.
        further: additional arguments of Snakemake.

    Raises:
        ConfigurationError: see `command`.
    """
    accept_interrupts()
    process = subprocess.Popen([*command(invocation, targets), *further], cwd=invocation.root)
    with signals_left_to(process):
        return process.wait()


def command(invocation: Invocation, targets: Sequence[str], *quiet: str) -> list[str]:
    """Return the command line of Snakemake.

    Args:
        invocation: changes to the configuration.
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
    arguments = [sys.executable, "-P", "-m", "snakemake", *targets, *invocation.for_snakemake()]
    return [*arguments, "--quiet", "rules", *quiet]


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
