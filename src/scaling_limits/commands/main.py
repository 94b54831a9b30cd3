"""The command line `scaling-limits`.

The implementation of a command is imported when it is called, since most commands do not need pandas.
"""

import sys
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from scaling_limits.commands import completion
from scaling_limits.commands.invocation import Invocation, configured, in_directory
from scaling_limits.errors import ScalingLimitsError


class _Commands(click.Group):
    """A group of commands that reports user errors in one line instead of a traceback."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except ScalingLimitsError as error:
            click.echo(f"error: {error}", err=True)
            sys.exit(1)


class _OfSnakemake(click.Command):
    """A command that passes the arguments after `--` to Snakemake."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        ctx.params["further"] = args[end + 1 :]
        return super().parse_args(ctx, args[:end])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        formatter.write_paragraph()
        formatter.write_text("Arguments after -- are passed to Snakemake.")


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="scaling-limits", prog_name="scaling-limits")
def main() -> None:
    """Compute the figures of five papers on training in wide and deep networks, and judge their claims.

    A figure is named <paper>/<figure>, for example mupc/fig5. A preset (smoke, laptop, paper, full) sets the size of
    its networks.
    """


@main.command(cls=_OfSnakemake)
@click.argument("targets", nargs=-1, metavar="[TARGET]...", shell_complete=completion.figures)
@configured()
@click.option(
    "--cores", type=click.IntRange(1), metavar="N", help="Number of jobs that run at the same time."
)
@click.option(
    "--profile",
    metavar="NAME",
    help="Use profiles/NAME instead of profiles/default, for example slurm.",
)
@click.option(
    "-n", "--dry-run", "dry", is_flag=True, help="Print what would be done, and do nothing."
)
@click.option("-q", "--quiet", is_flag=True, help="Print warnings and errors only.")
@click.option("-v", "--verbose", is_flag=True, help="Show Snakemake's log instead of progress.")
def run(
    invocation: Invocation,
    targets: tuple[str, ...],
    cores: int | None,
    profile: str | None,
    dry: bool,
    quiet: bool,
    verbose: bool,
    further: list[str],
) -> None:
    """Compute and draw figures.

    TARGET is a figure or a paper; by default all figures are drawn and judged. Prints a line for each finished figure
    and the progress of the whole run.
    """
    from scaling_limits.commands import run_command, workflow

    if quiet and (verbose or dry):
        other = "--verbose" if verbose else "--dry-run"
        raise click.UsageError(f"--quiet and {other} exclude each other; give one of them")
    if profile is not None:
        further = [*workflow.with_profile(invocation.root, profile), *further]
    if cores is not None:
        further = ["--cores", str(cores), *further]
    sys.exit(run_command.run(invocation, targets, further, dry=dry, quiet=quiet, verbose=verbose))


@main.command("list")
@click.argument("papers", nargs=-1, metavar="[PAPER]...", shell_complete=completion.papers)
@configured()
def list_figures(invocation: Invocation, papers: tuple[str, ...]) -> None:
    """List papers, their figures and what was computed.

    Prints the title of each figure and its verdicts at the preset.
    """
    from scaling_limits.commands import list_command

    click.echo(list_command.listed(invocation, papers))


@main.command()
@click.argument("figure", shell_complete=completion.figures)
@configured()
def show(invocation: Invocation, figure: str) -> None:
    """Print a figure's resolved configuration.

    Each value is followed by the file and line that it comes from.
    """
    from scaling_limits.commands.show_command import shown

    click.echo(shown(invocation.configuration(), figure))


@main.command()
@click.argument("figures", nargs=-1, metavar="[FIGURE|PAPER]...", shell_complete=completion.figures)
@configured()
@click.option("--cores", type=click.IntRange(1), default=2, show_default=True, metavar="N")
@click.option(
    "--budget",
    type=float,
    metavar="SECONDS",
    help="Fail if the average figure takes more seconds of one core, without stored cells.",
)
@click.option(
    "--limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="HOURS",
    help="List jobs, and cells in a job of their own, that request more than HOURS.",
)
def estimate(
    invocation: Invocation,
    figures: tuple[str, ...],
    cores: int,
    budget: float | None,
    limit: float | None,
) -> None:
    """Estimate the cost of figures.

    Prints cells, work, memory and time of the figures named, of all figures of the papers named, or of all figures.
    """
    from scaling_limits.commands import estimate_command

    if budget is None:
        estimate_command.run(invocation, figures, cores, limit)
    else:
        estimate_command.check(invocation, figures, budget)


@main.group()
def store() -> None:
    """List or prune the stored cells."""


@store.command("list")
@configured(preset=False)
def list_store(invocation: Invocation) -> None:
    """List the stored cells by experiment.

    Prints number, age and state of the cells of each experiment.
    """
    from scaling_limits.commands import store_command

    store_command.run(invocation)


@store.command("prune")
@configured(preset=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
def prune_store(invocation: Invocation, yes: bool) -> None:
    """Remove stored cells that no configuration uses.

    Kept are cells that any preset asks for, with the project's configuration alone or with the changes given here.
    """
    from scaling_limits.commands import store_command

    store_command.run(invocation, prune=True, yes=yes)


@main.command("export")
@click.argument("of_preset", metavar="PRESET", shell_complete=completion.presets)
@click.argument("archive", metavar="FILE", type=click.Path(path_type=Path))
@configured(preset=False)
def export_results(invocation: Invocation, of_preset: str, archive: Path) -> None:
    """Write the stored results of a preset to an archive.

    FILE holds the stored cells that the figures of PRESET ask for, and the records of finished figures. Not all cells
    need to be stored. An existing FILE is replaced.
    """
    from scaling_limits.commands import export_command

    export_command.run(invocation, of_preset, archive)


@main.command("import")
@click.argument(
    "archives", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)
@configured(preset=False)
def import_results(invocation: Invocation, archives: tuple[Path, ...]) -> None:
    """Add the results of archives to those stored here.

    Each FILE was written by `export`. All are verified before anything is written. Cells and figures that are here
    already are kept.
    """
    from scaling_limits.commands import import_command

    import_command.run(invocation, archives)


@main.command()
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@in_directory
def diff(first: str, second: str, directory: Path) -> None:
    """Compare two results.

    Each is a preset that was run, or a folder of results. Prints the settings and verdicts that differ.
    """
    from scaling_limits.audit.compare import differences, results_of

    lines = differences(*(results_of(name, directory) for name in (first, second)))
    click.echo("\n".join(lines) if lines else "No differences.")


@main.command(cls=_OfSnakemake)
@click.argument("target", required=False, shell_complete=completion.figures)
@configured()
@click.option(
    "--stored",
    is_flag=True,
    help="Judge stored records, compute nothing; fails if a figure has none.",
)
@click.option(
    "--allow-missing", is_flag=True, help="With --stored: report figures without records, and pass."
)
def audit(
    invocation: Invocation,
    target: str | None,
    stored: bool,
    allow_missing: bool,
    further: list[str],
) -> None:
    """Judge all claims, or the claims of TARGET, from the records.

    TARGET is a figure or a paper.

    Computes what is missing and prints the verdicts. Fails (exit code 1) if a claim fails that is not registered, a
    registered one holds, the fraction of decided claims is below the one in tests/reference/decided.yaml (smoke and
    laptop), or a file does not match its checksum.
    """
    from scaling_limits.commands import audit_command

    code = audit_command.audit(
        invocation, target, further, stored=stored, allow_missing=allow_missing
    )
    sys.exit(code)


@main.command(cls=_OfSnakemake)
@click.argument("targets", nargs=-1, metavar="[TARGET]...", shell_complete=completion.figures)
@configured()
def report(invocation: Invocation, targets: tuple[str, ...], further: list[str]) -> None:
    """Write a report of the figures that have been drawn.

    TARGET is a figure or a paper; by default the report shows all figures drawn at the preset.
    """
    from scaling_limits.commands import workflow

    sys.exit(workflow.report(invocation, targets, further))


class _Sizes(click.ParamType[tuple[int, ...]]):
    """Integers separated by commas."""

    name = "sizes"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        try:
            return tuple(int(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"'{value}'; valid are integers separated by commas, as in 64,128,256")


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--widths", type=_Sizes(), default="64,128,256,512", show_default=True, metavar="N,..."
)
@click.option("--depths", type=_Sizes(), default="1", show_default=True, metavar="N,...")
@click.option("--seeds", type=click.IntRange(1), default=3, show_default=True, metavar="N")
@click.option("--steps", type=click.IntRange(2), default=10, show_default=True, metavar="N")
@click.option(
    "--plot", "picture", type=click.Path(path_type=Path), metavar="FILE", help="Save the picture."
)
def check(
    file: Path,
    widths: tuple[int, ...],
    depths: tuple[int, ...],
    seeds: int,
    steps: int,
    picture: Path | None,
) -> None:
    """Check how the features of your own model scale.

    FILE is a Python file that defines build, optimiser, data and optionally loss (docs/check.md). Prints the exponents
    and the verdict of each layer. Fails (exit code 1) unless the model is stable.
    """
    from scaling_limits.commands import check_command

    stable = check_command.run(
        file, picture, widths=widths, depths=depths, seeds=seeds, steps=steps
    )
    sys.exit(0 if stable else 1)


@main.command()
@click.argument(
    "presets", nargs=-1, required=True, metavar="PRESET...", shell_complete=completion.presets
)
@configured(preset=False)
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, metavar="N")
def power(invocation: Invocation, presets: tuple[str, ...], jobs: int) -> None:
    """Simulate the power of the claims.

    Uses the grids and the recorded spread of presets that were run. Writes docs/power.md.
    """
    from scaling_limits.commands import power_command

    power_command.run(invocation, presets, jobs)


@main.command()
@click.argument("of_preset", metavar="PRESET", shell_complete=completion.presets)
@configured(preset=False)
def lock(invocation: Invocation, of_preset: str) -> None:
    """Lock the claims whose confirmed verdicts are recorded.

    Adds the claims in the results of PRESET to docs/claims.lock.yaml, with a digest of everything that decides them.
    PRESET must use confirming seeds (seeds.first).
    """
    from scaling_limits.commands import lock_command

    lock_command.run(invocation, of_preset)


@main.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh"]))
def print_completion(shell: str) -> None:
    """Print the script that completes commands, figures and presets.

    For bash, add to ~/.bashrc: eval "$(scaling-limits completion bash)". For zsh, add the same with zsh to ~/.zshrc.
    """
    script = get_completion_class(shell)
    assert script is not None
    click.echo(script(main, {}, "scaling-limits", "_SCALING_LIMITS_COMPLETE").source())
