"""What figures will cost: `python -m scaling_limits.commands.estimate_command [FIGURE ...]`, see `make estimate`."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from scaling_limits.commands.command_line import duration, overrides
from scaling_limits.commands.estimate import Estimates, estimate, table
from scaling_limits.commands.store_command import FOLDER
from scaling_limits.commands.times import timed
from scaling_limits.configuration import Configuration, load
from scaling_limits.configuration.costs.memory import refuse_too_large
from scaling_limits.configuration.costs.rates import fitted, nominal
from scaling_limits.errors import ConfigurationError, ScalingLimitsError
from scaling_limits.store import Store


def run(root: Path, changes: dict[str, Any], names: Sequence[str], cores: int) -> None:
    """Print what is still to be computed for these figures (all if none are named), and how long this machine takes.

    Raises:
        ConfigurationError: an unknown figure, or the configuration is not valid.
    """
    configuration = load(root, changes)
    figures = chosen(configuration, names)
    device = configuration.main.resources.device
    # asks for all cells: what is wrong with them is said at once, before the store is read
    refused = too_large(configuration, figures)
    times = timed(root / FOLDER, device)
    rates = fitted(times, nominal())
    found = estimate(configuration, figures, rates=rates, store=Store(root / FOLDER))
    print(table(found))
    unit = "GPU" if device == "gpu" else "core"
    print(
        f"From the times of {len(times):,} stored shards on one {unit}, from half of what they will be to twice."
        if times
        else f"No cell is stored: times are those of one core of another machine, not of this {unit}."
    )
    wall = duration(found.total.wall_seconds(1 if device == "gpu" else cores))
    print(f"On {'one GPU' if device == 'gpu' else f'{cores} idle cores'} about {wall} in all.")
    for line in refused:
        print(line)


def check(root: Path, changes: dict[str, Any], names: Sequence[str], budget: float) -> None:
    """Print what these figures cost from nothing, and refuse more than `budget` seconds of one core a figure.

    These are seconds at the nominal rates, so that the answer does not depend on the machine or the store.

    Raises:
        ConfigurationError: they cost more; or as `run`.
    """
    configuration = load(root, changes)
    found = estimate(configuration, chosen(configuration, names), rates=nominal(), store=None)
    print(table(found))
    each = found.total.seconds / max(1, len(found.figures))
    said = (
        f"{duration(found.total.seconds)} of one core for {len(found.figures)} figures, {each:.1f} s each on average; "
        f"the budget is {budget:g} s each"
    )
    if each > budget:
        raise ConfigurationError(
            f"preset '{configuration.main.preset}' costs too much: {said}. Most of it: {_dearest(found)}"
        )
    print(f"Within the budget: {said}.")


def chosen(configuration: Configuration, names: Sequence[str]) -> list[tuple[str, str]]:
    """The (paper, figure) pairs of `<paper>/<figure>` or `<paper>`; all without names.

    Raises:
        ConfigurationError: there is no such paper or figure.
    """
    figures: dict[tuple[str, str], None] = {}
    for name in names or configuration.papers:
        paper, slash, figure = name.partition("/")
        if slash:
            configuration.figure(paper, figure)
        wanted = [figure] if slash else configuration.figures(paper)
        figures |= dict.fromkeys((paper, each) for each in wanted)
    return list(figures)


def too_large(configuration: Configuration, figures: Iterable[tuple[str, str]]) -> list[str]:
    """What is said of figures with cells that do not fit into `resources.mem_mb`.

    Raises:
        ConfigurationError: an unknown figure, or the configuration is not valid.
    """
    problems = []
    for paper, name in figures:
        shards = configuration.shards(paper, configuration.figure(paper, name).experiment)
        try:
            refuse_too_large([shard[0] for shard in shards], configuration.main.resources.mem_mb)
        except ConfigurationError as error:
            problems.append(f"{paper}/{name} would be refused: {error}")
    return problems


def _dearest(found: Estimates) -> str:
    ordered = sorted(found.figures.items(), key=lambda item: -item[1].seconds)
    return ", ".join(f"{name} ({duration(each.seconds)})" for name, each in ordered[:3])


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line; a user's error, or too small a budget, ends it with a message and exit code 1."""
    parser = argparse.ArgumentParser(description="Estimate what figures cost before computing.")
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help="<paper>/<figure>, or <paper>")
    parser.add_argument("--preset", help="that of the configuration if left out")
    parser.add_argument("--config", nargs="*", default=[], metavar="KEY=VALUE")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument(
        "--budget", type=float, metavar="SECONDS", help="of one core a figure, on average"
    )
    options = parser.parse_args(arguments)
    try:
        changes = overrides(options.config)
        if options.preset is not None:
            changes["preset"] = options.preset
        if options.budget is None:
            run(Path(), changes, options.figures, options.cores)
        else:
            check(Path(), changes, options.figures, options.budget)
    except ScalingLimitsError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
