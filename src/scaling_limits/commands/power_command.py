"""The command `power`, which writes the power study of the claims to a page."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pandas as pd
from pandas.api.types import is_numeric_dtype

from scaling_limits import markdown
from scaling_limits.audit.power import Power, planned_seeds, power_of
from scaling_limits.audit.select import select
from scaling_limits.claims.base import ClaimBase
from scaling_limits.claims.measurement import UndecidedError, prose, setting
from scaling_limits.commands.invocation import Invocation, chosen
from scaling_limits.configuration import Configuration, load
from scaling_limits.errors import ConfigurationError
from scaling_limits.files import write_file
from scaling_limits.records import Results

PAGE = Path("docs", "power.md")
BENCHMARK = "## How often the judge is wrong"
"""The heading of the last section, which another program writes."""
_HEAD = """# Power of the claims

`scaling-limits power` writes this page. It replaces the recorded values of each claim by simulated ones, with the same
settings, seeds and spread, and judges them. The numbers are the fractions of simulated records for which the claim
holds. Figures without results keep the rows of an earlier run, which may have no number of seeds; their claims that
were added since then have no row.

- *true*: the claim is true (claims without an exponent: values as recorded). The loss around each optimum has the shape
  recorded at the smallest size.
- *1/4*, *1/2*: an exponent is wrong by this much, upwards or downwards. An optimum moves by this many octaves per
  doubling of the size. If a claim has a one-sided threshold, the true exponent lies a quarter within it. A ratio x / y
  becomes x / y^2 or x / y^(1/2) (column 1/2). For claims without an exponent, column 1/2 reverses the claim: it
  reverses an order, exchanges two hyperparameters, or reflects a bounded value (a value, a gain, a difference of
  slopes) at its bound. Level sets are simulated as straight lines.
- *void*: the values contain no information. They are constant, with the recorded spread or with five times the median
  spread (2.5 times the assumed spread of one seed), or all cells diverge; the largest of the three fractions is
  printed. Constant values are not void if the claim states a slope of 0 or no gain.
- *decides*: the claim holds in more than half of the *true* records, in no *1/2* record, and in at most one of twenty
  *void* records.
- *seeds*: the number of seeds with which *true* holds in four of five cases. It is an upper estimate, and empty if 32
  seeds do not suffice. The seeds of a confirmed run are planned from it.

Each scenario has 20 simulated records, *void* up to 400. Controls are not simulated: a claim is inconclusive if its
control does not violate it, even if its own grid decides.
"""

_COLUMNS = ("figure", "claim", "kind", "grid", "true", "1/4", "1/2", "void", "decides", "seeds")

Row = tuple[str, ...]
Claims = dict[tuple[str, str], ClaimBase]
"""Claims by figure and name, as written on the page."""


def run(invocation: Invocation, presets: Sequence[str], jobs: int) -> None:
    """Print the power of the claims at these presets, and write it to `docs/power.md`.

    The page keeps its rows for presets and figures without results, as long as the claims exist.

    Args:
        invocation: the project's folder and changes to its configuration.
        presets: the presets that were run.
        jobs: the number of processes.

    Raises:
        ConfigurationError: no figure was computed at one of these presets.
    """
    path = invocation.root / PAGE
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    written = _written(old)
    sections = []
    for preset in sorted({*written, *presets}):
        claims = _claims(load(invocation.root, {**invocation.changes, "preset": preset}))
        powers = {row[:2]: row for row in written.get(preset, ())}
        if preset in presets:
            fresh = rows(preset, claims, invocation.root, jobs)
            powers |= {row[:2]: row for row in fresh}
        sections.append(_section(preset, [powers[claim] for claim in claims if claim in powers]))
    page = "\n".join([_HEAD, *sections, *_benchmark_section(old)])
    print(page)
    write_file(path, page)


def rows(preset: str, claims: Claims, root: Path, jobs: int) -> list[Row]:
    """Compute the power of the claims whose figures have results at a preset.

    Args:
        preset: the name of the preset.
        claims: the claims by figure (`paper/name`) and name.
        root: the project's folder.
        jobs: the number of processes.

    Returns:
        The rows of the page's table, one for each claim whose figure was computed.

    Raises:
        ConfigurationError: no figure was computed at this preset.
    """
    folder = root / "results" / preset
    work = [
        (figure, claim, folder / figure)
        for (figure, _), claim in claims.items()
        if (folder / figure / "cells.parquet").exists()
    ]
    if not work:
        raise ConfigurationError(
            None, f"no figure was computed at the preset {preset}: make figures"
        )
    # spawn instead of fork: the caller may have loaded JAX, which has threads
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return list(pool.map(_row, *zip(*work, strict=True), chunksize=2))


def _claims(configuration: Configuration) -> Claims:
    """Return all claims of a preset."""
    return {
        (f"{paper}/{name}", f"`{claim.id}`"): claim
        for paper, name in chosen(configuration, [])
        for claim in configuration.figure(paper, name).claims
    }


def _section(preset: str, rows: Sequence[Row]) -> str:
    decided = sum(row[-2] == "yes" for row in rows)
    head = f"## Preset `{preset}`\n\n{decided} of {len(rows)} claims' grids decide.\n"
    return "\n".join([head, *markdown.table(_COLUMNS, rows), ""])


def _written(page: str) -> dict[str, list[Row]]:
    """Return the rows of a page by preset."""
    rows: dict[str, list[Row]] = {}
    for part in page.partition(BENCHMARK)[0].split("## Preset `")[1:]:
        lines = [line[2:-2] for line in part.splitlines() if line.startswith("| ")]
        cells = [tuple(line.split(" | ")) for line in lines]
        # rows of older pages have no number of seeds
        full = [row if len(row) == len(_COLUMNS) else (*row, "") for row in cells[2:]]
        rows[part.partition("`")[0]] = [row for row in full if len(row) == len(_COLUMNS)]
    return rows


def _benchmark_section(page: str) -> list[str]:
    """Return the section of the benchmark, which `benchmarks/false_holds.py` writes."""
    _, heading, text = page.partition(BENCHMARK)
    return [heading + text] if heading else [""]


def _row(figure: str, claim: ClaimBase, folder: Path) -> Row:
    results = Results.read(folder)
    named = (figure, f"`{claim.id}`", claim.kind.replace("_", " "))
    try:
        grid = ", ".join(_grid(claim, select(claim, results, claim.grids).cells))
        power = power_of(claim, results)
        seeds = planned_seeds(claim, results)
    except UndecidedError as reason:
        return (*named, str(reason), *("",) * 6)
    decides = "yes" if power.decides else "no"
    return (*named, grid, *_shares(power), decides, "" if seeds is None else str(seeds))


def _grid(claim: ClaimBase, cells: pd.DataFrame) -> Iterator[str]:
    """Yield the sizes, the hyperparameters and the seeds of a claim's cells as text."""
    hyperparameters = claim.points if claim.competing else ()
    for column in dict.fromkeys(claim.columns):
        if column not in cells:
            continue
        values = sorted(cells[column].unique())
        if column in hyperparameters or not is_numeric_dtype(cells[column]):
            yield f"{len(values)} {prose(column)}s"
        else:
            yield f"{prose(column)} {setting(values[0])} to {setting(values[-1])} ({len(values)})"
    count = cells["seed"].nunique()
    yield f"{count} seed{'s' if count > 1 else ''}"


def _shares(power: Power) -> Iterator[str]:
    holds = [power.holds[scenario] for scenario in ("true", "quarter", "half")]
    for fraction in (*holds, power.void):
        yield "" if fraction is None else f"{fraction:.2f}"
