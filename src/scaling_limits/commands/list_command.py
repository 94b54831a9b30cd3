"""The command `list`, which shows all figures with their titles and verdicts."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from scaling_limits.audit.table import read_verdicts
from scaling_limits.commands.invocation import Invocation, refuse_figure_alone, warn_of_faults
from scaling_limits.commands.readable import aligned
from scaling_limits.configuration import Configuration
from scaling_limits.figures import placeholders
from scaling_limits.outcomes import tally


def listed(invocation: Invocation, papers: Sequence[str]) -> str:
    """Return a table of figures: name, state at the preset, and title.

    Args:
        invocation: the project's folder and changes to its configuration.
        papers: slugs; all papers if empty.

    Raises:
        ConfigurationError: a paper does not exist, or the configuration is invalid.
    """
    configuration = invocation.configuration()
    warn_of_faults([configuration])
    for paper in papers:
        refuse_figure_alone(configuration, paper)
    rows = [
        row
        for paper in papers or configuration.papers
        for row in _rows(invocation, configuration, paper)
    ]
    return aligned([("figure", f"at {configuration.main.preset}", "title"), *rows], text_columns=3)


def _rows(
    invocation: Invocation, configuration: Configuration, paper: str
) -> Iterator[tuple[str, str, str]]:
    for name in configuration.sound_figures(paper):
        folder = invocation.root / "results" / configuration.main.preset / paper / name
        state = "not computed"
        if (folder / "verdicts.json").exists():
            verdicts = read_verdicts(folder)
            state = (
                tally(verdict.verdict for verdict in verdicts)
                if verdicts
                else "computed, no claims"
            )
        yield f"{paper}/{name}", state, _title(configuration, paper, name, folder)


def _title(configuration: Configuration, paper: str, name: str, folder: Path) -> str:
    """Return a figure's title; before the figure is computed, placeholders show the names of settings."""
    computed = folder / "figure.json"
    if computed.exists():
        return str(json.loads(computed.read_bytes())["title"])
    written, _ = configuration.paper(paper).figure(name)
    return placeholders.filled(str(written.value("title")), lambda setting: setting)
