"""Snakemake as a process: figures and audits computed, a report of what is there."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from scaling_limits.audit.index import IN_REPORT
from scaling_limits.audit.table import read_verdicts, verdict_word
from scaling_limits.commands.given import Given, chosen
from scaling_limits.configuration import Configuration
from scaling_limits.errors import ConfigurationError

EXTENSIONS = ("png", "pdf", "svg")
PAGE = "summary.html"
"""What the report shows of a figure, in its folder of results."""


def run(given: Given, names: Sequence[str], further: Sequence[str], *, dry: bool) -> int:
    """Compute and draw what is named, all without names, and say what came of it; Snakemake's exit code.

    Args:
        given: the project's folder and changes of its configuration.
        names: `<paper>/<figure>` or `<paper>`.
        further: arguments of Snakemake.
        dry: only say what would be done.

    Raises:
        ConfigurationError: there is no such figure or paper, or the configuration is not valid.
    """
    configuration = given.configuration()
    figures = chosen(configuration, names)
    preset = configuration.main.preset
    everything = ["figures", f"results/{preset}/audit.json"]
    targets = [target for name in names for target in _targets(name)] or everything
    code = snakemake(given, targets, [*(["--dry-run"] if dry else []), *further])
    if code == 0 and not dry:
        if names:
            print("\n".join(_outcomes(given.root, preset, figures)))
        else:
            print(f"Figures: figures/<paper>/<figure>.png   Verdicts: results/{preset}/audit.md")
    return code


def audit(given: Given, paper: str | None, further: Sequence[str], *, stored: bool) -> int:
    """Judge the claims of all papers, or of one; Snakemake's exit code.

    Args:
        given: the project's folder and changes of its configuration.
        paper: its slug.
        further: arguments of Snakemake.
        stored: judge what is there and compute nothing.

    Raises:
        ConfigurationError: there is no such paper, or the configuration is not valid.
    """
    configuration = given.configuration()
    if paper is not None:
        configuration.paper(paper)
    if stored:
        given = given.having("audit", "stored", "--stored")
    return snakemake(given, ["audit" if paper is None else f"audit/{paper}"], further)


def report(given: Given, names: Sequence[str], further: Sequence[str]) -> int:
    """Gather what is there of the figures named, of all without names, in a report; Snakemake's exit code.

    Args:
        given: the project's folder and changes of its configuration.
        names: `<paper>/<figure>` or `<paper>`.
        further: arguments of Snakemake.

    Raises:
        ConfigurationError: nothing is there; there is no such figure or paper, or the configuration is not valid.
    """
    configuration = given.configuration()
    figures = chosen(configuration, names)
    there = [figure for figure in figures if _is_there(given.root, configuration, *figure)]
    preset = configuration.main.preset
    if not there:
        command = " ".join(["scaling-limits run", *names, "--preset", preset])
        raise ConfigurationError(
            f"none of the figures asked for was drawn at the preset {preset}: {command}"
        )
    file = f"results/{preset}/report.html"
    # the index is of what is there, too
    given = given.having("audit", "stored", "report")
    index = f"results/{preset}/{IN_REPORT}"
    code = snakemake(given, [index], further)
    if code == 0:
        targets = [index, *(f"results/{preset}/{paper}/{name}/{PAGE}" for paper, name in there)]
        code = snakemake(given, targets, ["--report", file, *further])
    if code == 0:
        print(f"Report: {file} ({len(there)} of {len(figures)} figures)")
    return code


def snakemake(given: Given, targets: Sequence[str], further: Sequence[str]) -> int:
    """Run Snakemake in the project's folder to its end; its exit code."""
    command = [sys.executable, "-m", "snakemake", *targets]
    command += [*given.for_snakemake(), "--quiet", "rules", *further]
    process = subprocess.Popen(command, cwd=given.root)
    with _signals_left_to(process):
        return process.wait()


@contextmanager
def _signals_left_to(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    """Outlive a process that is interrupted: Snakemake ends its jobs and takes its lock away."""
    # a terminal interrupts both of them
    handlers = {
        signal.SIGINT: lambda *_: None,
        signal.SIGTERM: lambda *_: process.terminate(),
    }
    before = {number: signal.signal(number, each) for number, each in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _targets(name: str) -> list[str]:
    """What Snakemake calls a paper or a figure."""
    return [f"figures/{name}.{ending}" for ending in EXTENSIONS] if "/" in name else [name]


def _is_there(root: Path, configuration: Configuration, paper: str, figure: str) -> bool:
    return (root / "results" / configuration.main.preset / paper / figure / PAGE).exists()


def _outcomes(root: Path, preset: str, figures: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Where each figure is, and what its claims came to, a line each, and why one is untested."""
    for paper, name in figures:
        yield os.path.normpath(root / "figures" / paper / f"{name}.png")
        for verdict in read_verdicts(root / "results" / preset / paper / name):
            yield f"  {verdict_word(verdict):8}  {verdict.statement}"
            if verdict.verdict == "untested":
                yield f"  {'':8}  ({verdict.detail})"
