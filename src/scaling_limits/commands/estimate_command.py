"""The command `estimate`."""

import math
from collections.abc import Iterable, Sequence

from scaling_limits.commands.estimate import Estimates, beyond, estimate, summary, table
from scaling_limits.commands.invocation import Invocation, chosen, warn_of_faults
from scaling_limits.commands.readable import duration
from scaling_limits.configuration import Configuration
from scaling_limits.costs.memory import refuse_too_large
from scaling_limits.errors import ConfigurationError


def run(
    invocation: Invocation, names: Sequence[str], cores: int, hours: float | None = None
) -> None:
    """Print the remaining cost of figures.

    Args:
        invocation: the project's folder and changes to its configuration.
        names: `<paper>/<figure>` or `<paper>`; all figures if empty.
        cores: the number of simultaneous processes on a CPU.
        hours: the time that a job may request; jobs and cells that request more are counted.

    Raises:
        ConfigurationError: a figure is unknown, or the configuration is invalid.
    """
    configuration = invocation.configuration()
    figures = _requested_figures(configuration, names)
    device = configuration.main.resources.device
    # resolves all cells, so that errors are reported before the store is read
    refused = too_large(configuration, figures)
    limit = math.inf if hours is None else hours * 3600
    estimates = estimate(configuration, figures, store=invocation.store(), limit=limit)
    print(table(estimates, device=device))
    for line in summary(estimates, device=device, cores=cores):
        print(line)
    if hours is not None:
        for line in beyond(estimates, limit):
            print(line)
    for line in refused:
        print(line)


def check(invocation: Invocation, names: Sequence[str], budget: float) -> None:
    """Print the cost of computing figures from nothing, and fail if the mean exceeds a budget.

    The result does not depend on the machine or the store.

    Args:
        invocation: the project's folder and changes to its configuration.
        names: `<paper>/<figure>` or `<paper>`; all figures if empty.
        budget: the allowed mean per figure, in seconds of one core.

    Raises:
        ConfigurationError: the figures cost more; or as in `run`.
    """
    configuration = invocation.configuration()
    estimates = estimate(configuration, _requested_figures(configuration, names), store=None)
    print(table(estimates, device=configuration.main.resources.device))
    seconds, count = estimates.total.seconds, len(estimates.figures)
    each = seconds / max(1, count)
    totals = (
        f"{duration(seconds)} of one core for {count} figures, {each:.1f} s each on average; "
        f"the budget is {budget:g} s each"
    )
    if each > budget:
        raise ConfigurationError(
            None,
            f"preset '{configuration.main.preset}' costs too much: {totals}. Most of it: {_dearest(estimates)}",
        )
    print(f"Within the budget: {totals}.")


def _requested_figures(configuration: Configuration, names: Sequence[str]) -> list[tuple[str, str]]:
    if not names:
        warn_of_faults([configuration])
    return chosen(configuration, names)


def too_large(configuration: Configuration, figures: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line for each figure with cells that need more memory than a job may use.

    Raises:
        ConfigurationError: a figure is unknown, or the configuration is invalid.
    """
    problems = []
    for paper, name in figures:
        shards = configuration.shards(paper, configuration.figure(paper, name).experiment)
        try:
            refuse_too_large([shard[0] for shard in shards], **configuration.main.resources.memory)
        except ConfigurationError as error:
            problems.append(f"{paper}/{name} would be refused: {error}")
    return problems


def _dearest(estimates: Estimates) -> str:
    ordered = sorted(estimates.figures.items(), key=lambda item: -item[1].seconds)
    return ", ".join(f"{name} ({duration(each.seconds)})" for name, each in ordered[:3])
