"""The command `run`, which computes and draws figures with Snakemake and shows the progress."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from scaling_limits.audit.index import INDEX, write_drawn_index
from scaling_limits.audit.table import read_verdicts
from scaling_limits.audit.verdicts import verdict_label
from scaling_limits.commands import workflow
from scaling_limits.commands.console import Console
from scaling_limits.commands.following import Followed, started
from scaling_limits.commands.invocation import Invocation, chosen
from scaling_limits.commands.progress import Progress
from scaling_limits.commands.signals import signals_left_to
from scaling_limits.commands.workload import workload
from scaling_limits.configuration import Configuration
from scaling_limits.errors import ScalingLimitsError
from scaling_limits.outcomes import DECIDED

EXTENSIONS = ("png", "pdf", "svg")


def run(
    invocation: Invocation,
    names: Sequence[str],
    further: Sequence[str],
    *,
    dry: bool = False,
    quiet: bool = False,
    verbose: bool = False,
) -> int:
    """Compute and draw figures; print progress and the results.

    Args:
        invocation: the project's folder and changes to its configuration.
        names: `<paper>/<figure>` or `<paper>`; all figures if empty.
        further: additional arguments of Snakemake.
        dry: whether to print only what would be done.
        quiet: whether to print warnings and errors only.
        verbose: whether to show Snakemake's log instead of progress.

    Returns:
        Snakemake's exit code.

    Raises:
        ConfigurationError: a figure or paper does not exist, or the configuration is invalid.
        WriteError: the log or the page of all figures cannot be written.
    """
    configuration = invocation.configuration()
    figures = chosen(configuration, names)
    preset = configuration.main.preset
    everything = ["figures", f"results/{preset}/audit.json"]
    targets = [target for name in names for target in _targets(name)] or everything
    further = [*(["--dry-run"] if dry else []), *further]
    if verbose:
        code, done = workflow.snakemake(invocation, targets, further), True
    else:
        console = Console(quiet=quiet)
        idle = f"Nothing to do: {_counted(figures)} drawn at the preset {preset}."
        code, done = with_progress(
            invocation, configuration, figures, targets, further, console, dry=dry, idle=idle
        )
    if dry:
        return code
    if done and (names or code):
        # a complete and successful run writes this page as the output of a rule
        every = [(p, name) for p in configuration.papers for name in configuration.sound_figures(p)]
        confirmed = configuration.preset.seeds.confirming
        write_drawn_index(invocation.root / "results" / preset, every, preset, confirmed=confirmed)
    if code == 0 and not quiet:
        print(*_outcomes(invocation.root, preset, figures if names else ()), sep="\n")
    return code


def with_progress(
    invocation: Invocation,
    configuration: Configuration,
    figures: Sequence[tuple[str, str]],
    targets: Sequence[str],
    further: Sequence[str],
    console: Console,
    *,
    dry: bool = False,
    idle: str = "",
) -> tuple[int, bool]:
    """Run Snakemake with its log in a file, and print the progress.

    Args:
        invocation: the project's folder and changes to its configuration.
        configuration: the configuration.
        figures: the figures that the targets concern.
        targets: Snakemake's targets.
        further: additional arguments of Snakemake.
        console: the terminal.
        dry: whether to print only what would be done.
        idle: the line to print if there is nothing to do.

    Returns:
        Snakemake's exit code, and whether a figure was drawn.
    """
    preset = configuration.main.preset
    log = Path("logs", preset, "snakemake.log")
    file = None if dry else invocation.root / log
    store = invocation.store()
    progress = Progress(invocation.root, preset, figures, store, console)
    command = workflow.command(invocation, targets, "host")
    with (
        started(command, further, invocation.root, file) as followed,
        signals_left_to(followed.process) as signals,
    ):
        progress.update()
        # Snakemake is planning at the same time and reports the same errors
        with suppress(ScalingLimitsError):
            progress.expect(workload(configuration, figures, store))
        _follow(followed, progress, console, signals)
        console.clear()
        code = followed.process.returncode
        if signals:
            console.problem("interrupted: what is stored is kept, the same command goes on from it")
        elif progress.failed:
            left = progress.figures_left
            console.problem(f"{left:,} of {len(figures):,} figures were not drawn; full log: {log}")
        elif code or not progress.started:
            # Snakemake failed before any job started, or was not asked for figures: show its output
            console.problem(followed.printed().rstrip())
        elif progress.planned is None:
            if idle:
                console.line(idle)
        elif dry:
            console.line(_plan(progress, len(figures)))
    return code, bool(progress.finished)


def _follow(
    followed: Followed, progress: Progress, console: Console, signals: Sequence[object]
) -> None:
    """Report Snakemake's events and warnings until it ends.

    Args:
        followed: the running Snakemake.
        progress: the progress to update.
        console: the terminal.
        signals: the interrupts received so far; the list grows while Snakemake runs.
    """
    running = True
    while running:
        running = followed.wait()
        for event in followed.events():
            progress.handle(event, interrupted=bool(signals))
        for warning in followed.warnings():
            console.problem(warning)
        progress.update()


def _counted(figures: Sequence[tuple[str, str]]) -> str:
    if len(figures) == 1:
        return f"{'/'.join(figures[0])} is"
    return f"all {len(figures):,} figures are"


def _plan(progress: Progress, requested: int) -> str:
    """Return a sentence on what a dry run would do."""
    computed, cells = progress.to_compute()
    figures = progress.to_draw()
    listing = f": {', '.join(figures)}" if 0 < len(figures) < requested or requested == 1 else ""
    return f"Would compute {computed:,} of {cells:,} cells and draw {len(figures):,} of {requested:,} figures{listing}."


def _targets(name: str) -> list[str]:
    """Return Snakemake's targets for a paper or a figure."""
    return [f"figures/{name}.{ending}" for ending in EXTENSIONS] if "/" in name else [name]


def _outcomes(root: Path, preset: str, figures: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield the verdicts of figures, the reasons of undecided ones, and the paths of pictures and pages."""
    for paper, name in figures:
        folder = f"results/{preset}/{paper}/{name}"
        yield f"{paper}/{name}"
        for verdict in read_verdicts(root / folder):
            yield f"  {verdict_label(verdict):8}  {verdict.statement}"
            if verdict.verdict not in DECIDED:
                yield f"  {'':8}  ({verdict.detail})"
        yield f"  picture   figures/{paper}/{name}.png"
        yield f"  page      {folder}/{workflow.PAGE}"
        yield f"  folder    {folder}/"
    yield f"All figures: results/{preset}/{INDEX}"
    if not figures:
        yield f"Verdicts: results/{preset}/audit.md"
