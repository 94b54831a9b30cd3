"""Print the estimated cost of figures."""

import math
from collections.abc import Iterable, Sequence

from scaling_limits.commands.estimate import Estimates, beyond, estimate, summary, table
from scaling_limits.commands.invocation import Invocation, chosen, warn_of_faults
from scaling_limits.commands.readable import duration
from scaling_limits.configuration import Configuration
from scaling_limits.costs.memory import refuse_too_large
from scaling_limits.errors import ConfigurationError


def run(given: Invocation, names: Sequence[str], cores: int, hours: float | None = None) -> None:
    """Print what is still to be computed for these figures (all if none are named), and how long it takes.

    Args:
        given: the project's folder and changes of its configuration.
        names: `<paper>/<figure>` or `<paper>`.
        cores: processes that compute at once, on a CPU.
        hours: how long a job may take where it is to run; cells that take longer are counted.

    Raises:
        ConfigurationError: an unknown figure, or the configuration is not valid.
    """
    configuration = given.configuration()
    figures = _asked_for(configuration, names)
    device = configuration.main.resources.device
    # asks for all cells: what is wrong with them is said at once, before the store is read
    refused = too_large(configuration, figures)
    limit = math.inf if hours is None else hours * 3600
    found = estimate(configuration, figures, store=given.store(), limit=limit)
    print(table(found))
    for line in summary(found, device=device, cores=cores):
        print(line)
    if hours is not None:
        for line in beyond(found, limit):
            print(line)
    for line in refused:
        print(line)


def check(given: Invocation, names: Sequence[str], budget: float) -> None:
    """Print what these figures cost from nothing, and refuse more than `budget` seconds of one core a figure.

    The answer does not depend on the machine or the store.

    Raises:
        ConfigurationError: they cost more; or as `run`.
    """
    configuration = given.configuration()
    found = estimate(configuration, _asked_for(configuration, names), store=None)
    print(table(found))
    each = found.total.seconds / max(1, len(found.figures))
    said = (
        f"{duration(found.total.seconds)} of one core for {len(found.figures)} figures, {each:.1f} s each on average; "
        f"the budget is {budget:g} s each"
    )
    if each > budget:
        raise ConfigurationError(
            None,
            f"preset '{configuration.main.preset}' costs too much: {said}. Most of it: {_dearest(found)}",
        )
    print(f"Within the budget: {said}.")


def _asked_for(configuration: Configuration, names: Sequence[str]) -> list[tuple[str, str]]:
    if not names:
        warn_of_faults([configuration])
    return chosen(configuration, names)


def too_large(configuration: Configuration, figures: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line for each figure with cells that need more memory than a job may take.

    Raises:
        ConfigurationError: an unknown figure, or the configuration is not valid.
    """
    problems = []
    for paper, name in figures:
        shards = configuration.shards(paper, configuration.figure(paper, name).experiment)
        try:
            refuse_too_large([shard[0] for shard in shards], **configuration.main.resources.memory)
        except ConfigurationError as error:
            problems.append(f"{paper}/{name} would be refused: {error}")
    return problems


def _dearest(found: Estimates) -> str:
    ordered = sorted(found.figures.items(), key=lambda item: -item[1].seconds)
    return ", ".join(f"{name} ({duration(each.seconds)})" for name, each in ordered[:3])
