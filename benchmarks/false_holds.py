"""How often the judge is wrong: shares of simulated records that hold, by kind of claim.

    python benchmarks/false_holds.py [--jobs N] [--repeats N] [--only TEXT] [--json FILE] [--before FILE] [--write]

The logarithm of a value is its truth + s_p (u + v) / sqrt(2). u is standard normal for each seed of one size and arm, v
for each point and seed. The spread s_p of a point is s exp(0.7 n) with standard normal n; "one loud point" has 0.15 at
the best point and 0.02 elsewhere. All draws follow from the row's name and the number of the repeat.

--json keeps the shares; --before adds true effects from the JSON of an earlier judge; --write replaces the section of
docs/power.md.
"""

import argparse
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from scaling_limits.audit.judge import judge
from scaling_limits.audit.register import Register
from scaling_limits.claims import models
from scaling_limits.commands.power_command import BENCHMARK, PAGE
from scaling_limits.records import Results

REPEATS = 400
UNEQUAL = 0.7
"""Standard deviation of the logarithm of a point's spread."""
QUIET, LOUD = 0.02, 0.15
WILD = 5.0
"""How much larger than elsewhere the spread is at the one wild size."""
BOWL = 0.3
"""The relative rise of the loss one octave from its optimum; (octaves)^2 times as much further out."""
SPREADS = tuple((seeds, s) for s in (0.04, 0.15) for seeds in (2, 3))
LIMITS = {"void": (0.05, 0.08), "half": (0.02, 0.04)}
"""The share that no row may exceed significantly, and the share that none may exceed at all."""

TEXT = """Made by `python benchmarks/false_holds.py --write`: shares of {repeats} simulated records that hold, with
their controls. The logarithm of a value is its truth + s_p (u + v) / √2, with u for each seed of one size and arm and v
for each point and seed, both standard normal, and s_p = s exp(0.7 n) with standard normal n for each point. "One
loud point" has s_p = 0.15 at the best of five learning rates and 0.02 at the others. Learning rates lie one octave
apart; the loss rises by 30 % one octave from the optimum and diverges one octave above it where there is a cliff.
*void*: there is no effect; *half*: an exponent is wrong by one half, or the opposite is true; *quarter*: wrong by one
quarter, or at the threshold. At most 5 % of void records may hold (8 % in any case) and 2 % (4 %) of those wrong by
one half; a share is above what is allowed if its 95 % confidence interval is.
"""

Point = dict[str, Any]
"""Settings, `log` of the true value (infinite where training diverges), `exact` without noise, `loud`."""


@dataclass(frozen=True)
class Row:
    """A row of the table: a claim and the true values of every grid.

    `truth` is void, half (an exponent is wrong by one half, or the opposite of the claim is true), quarter or true. The
    interval should cover `covers`.
    """

    name: str
    truth: str
    claim: dict[str, Any]
    points: Callable[[], list[Point]]
    spreads: Sequence[tuple[int, float | str]] = SPREADS
    covers: float | None = None
    unequal: float = UNEQUAL
    wild: bool = False


def sizes(doublings: int) -> list[int]:
    """Return widths from 64 on."""
    return [64 * 2**k for k in range(doublings + 1)]


def bowls(
    move: float | None,
    *,
    doublings: int = 3,
    rates: int = 10,
    grid: str = "main",
    cliff: bool = False,
    level: Callable[[float], float] = lambda doubling: 0.0,
) -> list[Point]:
    """Bowls over learning rates, an octave apart, whose optimum moves by `move` octaves a doubling; None: flat."""
    points = []
    for k, width in enumerate(sizes(doublings)):
        # in the middle of the grid at the middle size, never on a point of it
        optimum = rates / 2 - 0.3 + (move or 0.0) * (k - doublings / 2)
        for octave in range(rates):
            away = octave - optimum
            rise = 0.0 if move is None else math.log1p(BOWL * away**2)
            log = math.inf if cliff and away > 1 else level(k) + rise
            point = {"grid": grid, "width": width, "learning_rate": 2.0**octave, "log": log}
            points.append(point | {"loud": octave == round(optimum)})
    return points


def curve(log: Callable[[float], float], *, doublings: int = 3, grid: str = "main") -> list[Point]:
    """A value at each width, from its logarithm by the number of doublings."""
    return [{"grid": grid, "width": n, "log": log(k)} for k, n in enumerate(sizes(doublings))]


def plane(log: Callable[[float, float], float]) -> list[Point]:
    """A value at each width and depth, from its logarithm by their binary logarithms."""
    return [
        {"grid": "main", "width": 2**n, "depth": 2**d, "log": log(n, d)}
        for n in range(4, 9)
        for d in range(1, 4)
    ]


LN2 = math.log(2)
STAYS = {"kind": "optimum_stays", "along": "width", "over": "learning_rate", "max_shift": 1}
MOVES = {"kind": "optimum_moves", "along": "width", "over": "learning_rate", "min_shift": 1}
COST = {"kind": "transfer_cost", "along": "width", "over": ["learning_rate"], "tolerance": 0.1}
SLOPE = {
    "kind": "slope",
    "along": "width",
    "expected": -1,
    "tolerance": 0.25,
    "control": ["control"],
}
IMPROVES = {"kind": "improves_with", "along": "width", "over": ["learning_rate"], "tolerance": 0.05}
GAP = {"kind": "gap", "along": "width", "over": ["learning_rate"], "reference": ["other"]}
BOUND = {"kind": "bound", "at_most": 1, "by": ["width"]}
AGREES = {"kind": "agrees_with", "along": "width", "reference": ["limit"], "tolerance": 0.05}
RANK = {"kind": "rank_correlation", "ratio": ["depth", "width"], "above": 0.9}


def rows() -> Iterator[Row]:
    """Yield all rows of the table."""
    yield from _optima()
    yield from _values()
    yield from _loud()
    yield from _slopes()
    yield from _maps()


def _optima() -> Iterator[Row]:
    def with_control(claim, move, doublings, cliff=False, control=1.0):
        def points():
            own = bowls(move, doublings=doublings, cliff=cliff)
            return own + bowls(control, doublings=doublings, grid="control", cliff=cliff)

        return {**claim, "control": ["control"]}, points

    for claim, counts in ((STAYS, (3, 2)), (COST, (3,))):
        for n in counts:
            name = f"{claim['kind']}, {n} doublings, 10 rates"
            if claim is STAYS:
                yield Row(f"{name}, flat", "void", *with_control(claim, None, n))
            for shape, cliff in (("bowl", False), ("cliff", True))[: 1 if claim is COST else 2]:
                for truth, move in (("half", 0.5), ("quarter", 0.25), ("true", 0.0)):
                    yield Row(f"{name}, {shape}", truth, *with_control(claim, move, n, cliff))
    moves = MOVES | {"direction": "up"}
    name = "optimum_moves, 3 doublings, 10 rates"
    yield Row(f"{name}, flat", "void", *with_control(moves, None, 3, control=0.0))
    for truth, label, move in (
        ("half", "stays", 0.0),
        ("half", "other way", -0.5),
        ("true", "by 1/2 a doubling", 0.5),
        ("true", "by 1 a doubling", 1.0),
    ):
        yield Row(f"{name}, {label}", truth, *with_control(moves, move, 3, control=0.0))


def _values() -> Iterator[Row]:
    def falling(a_doubling, doublings=3):
        return lambda: bowls(0.0, doublings=doublings, rates=5, level=lambda k: a_doubling * k)

    def arms(ratio, rates=(5, 5)):
        def points():
            own = bowls(0.0, doublings=1, rates=rates[0], level=lambda k: math.log(ratio))
            return own + bowls(0.0, doublings=1, rates=rates[1], grid="other")

        return points

    name = "improves_with, 4 widths, 5 rates"
    for truth, label, rise in (
        ("void", "level", 0.0),
        ("void", "falls by 1.5 % in all", math.log(1 - 0.015) / 3),
        ("half", "rises by 30 % in all", math.log(1.3) / 3),
        ("true", "falls by 30 % in all", math.log(0.7) / 3),
    ):
        yield Row(f"{name}, {label}", truth, IMPROVES, falling(rise))
    name = "gap, 5 rates"
    yield Row(f"{name}, none", "void", GAP, arms(1.0), covers=1.0)
    yield Row("gap, 9 rates against 5, none", "void", GAP, arms(1.0, (9, 5)))
    yield Row(f"{name}, 1 / 0.7", "half", GAP, arms(1 / 0.7))
    yield Row(f"{name}, 0.7", "true", GAP, arms(0.7), covers=0.7)


def _loud() -> Iterator[Row]:
    spreads = ((2, "loud"), (3, "loud"))

    def arms(ratio):
        def points():
            own = bowls(0.0, doublings=1, rates=5, level=lambda k: math.log(ratio))
            return own + bowls(0.0, doublings=1, rates=5, grid="other")

        return points

    def falling(ratio):
        return lambda: bowls(0.0, doublings=1, rates=5, level=lambda k: math.log(ratio) * k)

    for truth, ratio in (("void", 1.0), ("half", 1 / 0.6), ("true", 0.6)):
        covers = ratio if truth != "half" else None
        label = f"ratio {ratio:.3g}, one loud point"
        yield Row(f"gap, 5 rates, {label}", truth, GAP, arms(ratio), spreads, covers)
        name = f"improves_with, 2 widths, 5 rates, {label}"
        yield Row(name, truth, IMPROVES, falling(ratio), spreads, covers)


def _slopes() -> Iterator[Row]:
    for truth, slope in (
        ("void", 0.0),
        ("half", -0.5),
        ("half", -1.5),
        ("quarter", -0.7),
        ("quarter", -0.75),
        ("true", -1.0),
    ):
        covers = -1.0 if truth == "true" else None
        points = _power(slope)
        yield Row(f"slope -1 ± 0.25, 4 widths, {slope:g}", truth, SLOPE, points, covers=covers)
    for label, unequal, wild in (("equal spreads", 0.0, False), ("one wild size", 0.0, True)):
        name = f"slope -1 ± 0.25, 4 widths, {label}"
        yield Row(name, "true", SLOPE, _power(-1.0), covers=-1.0, unequal=unequal, wild=wild)


def _power(slope: float) -> Callable[[], list[Point]]:
    return lambda: [*curve(lambda k: slope * k * LN2), *curve(lambda k: 0.0, grid="control")]


def _maps() -> Iterator[Row]:
    for truth, times in (("half", 1.3), ("half", 2.5), ("true", 0.6)):
        points = _level(math.log(times))
        yield Row(f"bound at 12 points, {times:g} times", truth, BOUND, points)
    yield Row("bound at 12 points, at the edge", "quarter", BOUND, _level(0.0))

    def errors(largest, slope):
        def points():
            own = curve(lambda k: math.log1p(largest * 2.0 ** (slope * (k - 3))))
            return [*own, {"grid": "limit", "log": 0.0, "exact": True}, *_far()]

        return points

    claim = AGREES | {"slope_at_most": -0.4, "control": ["control"]}
    for truth, label, largest, slope in (
        ("half", "no fall", 0.04, 0.0),
        ("half", "1.5 times the tolerance", 0.075, -1.0),
        ("true", "a fifth of it", 0.01, -1.0),
    ):
        yield Row(f"agrees_with, 4 widths, {label}", truth, claim, errors(largest, slope))
    name = "rank correlation, 15 points"
    for truth, label, power in (
        ("void", "level", None),
        ("half", "1 / N", 0.0),
        ("half", "L^1/2 / N", 0.5),
        ("half", "L^2 / N", 2.0),
        ("true", "L / N", 1.0),
    ):
        yield Row(f"{name}, {label}", truth, RANK, _ordered(power))


def _far() -> list[Point]:
    """Networks that stay half as large as their limit."""
    return curve(lambda k: math.log(0.5), grid="control")


def _level(log: float) -> Callable[[], list[Point]]:
    return lambda: [{"grid": "main", "width": 2 + k, "log": log} for k in range(12)]


def _ordered(power: float | None) -> Callable[[], list[Point]]:
    if power is None:
        return lambda: plane(lambda n, d: 0.0)
    return lambda: plane(lambda n, d: LN2 * (power * d - n))


@cache
def _cells(name: str, truth: str, seeds: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The points of a row, and its cells: seeds vary fastest."""
    points = pd.DataFrame(_row(name, truth).points())
    # of points without the key it is not a number
    points["exact"] = points.get("exact", pd.Series(False, points.index)).eq(True)
    settings = points.drop(columns=["log", "exact", "loud"], errors="ignore")
    cells = settings.loc[settings.index.repeat(seeds)].assign(
        seed=np.tile(np.arange(seeds), len(points)), num_steps=10
    )
    if points["exact"].any():
        cells["limit"] = np.where(points["exact"].repeat(seeds), "exact", None)
        cells = cells[~points["exact"].repeat(seeds) | (cells["seed"] == 0)]
    cells = cells.reset_index(drop=True)
    return points, cells.assign(cell_id=[f"c{k}" for k in range(len(cells))])


def records(row: Row, seeds: int, s: float | str, generator: np.random.Generator) -> Results:
    """Draw records."""
    points, cells = _cells(row.name, row.truth, seeds)
    number = len(points)
    unequal = np.exp(row.unequal * generator.standard_normal(number))
    loud = s == "loud"
    spread = np.where(points["loud"], LOUD, QUIET) if loud else float(s) * unequal
    group = points.groupby(["grid", "width"], dropna=False).ngroup().to_numpy()
    if row.wild:
        spread = np.where(group == generator.integers(group.max() + 1), WILD, 1.0) * spread
    u = generator.standard_normal((group.max() + 1, seeds))[group]
    v = generator.standard_normal((number, seeds))
    noise = spread[:, None] * (u + v) / math.sqrt(2)
    log = points["log"].to_numpy()[:, None] + np.where(points["exact"], 0.0, 1.0)[:, None] * noise
    kept = ~points["exact"].to_numpy()[:, None] | (np.arange(seeds) == 0)[None]
    values = np.exp(log)[kept]
    table = pd.DataFrame({"cell_id": cells["cell_id"], "metric": "value", "step": 10})
    return Results(cells, table.assign(value=values))


@cache
def _row(name: str, truth: str) -> Row:
    (row,) = (each for each in rows() if (each.name, each.truth) == (name, truth))
    return row


@cache
def _claim(name: str, truth: str) -> Any:
    common = {"id": "claim", "statement": "It is so.", "source": "benchmark", "grids": ["main"]}
    fields = common | {"quantity": {"metric": "value"}} | _row(name, truth).claim
    return models()[fields["kind"]].model_validate(fields)


Task = tuple[str, str, int, float | str, int]


def shares(task: Task) -> dict[str, float]:
    """The shares of a row's repeats that hold and fail, and whose interval covers the truth."""
    name, truth, seeds, s, repeats = task
    row, claim = _row(name, truth), _claim(name, truth)
    counts = {"holds": 0, "fails": 0, "covered": 0, "intervals": 0}
    for repeat in range(repeats):
        digest = sha256(f"{name}|{truth}|{seeds}|{s}|{repeat}".encode()).digest()[:8]
        results = records(row, seeds, s, np.random.default_rng(int.from_bytes(digest)))
        (verdict,) = judge(
            [claim],
            results,
            paper="benchmark",
            figure="table",
            preset="benchmark",
            substituted=False,
            register=Register(),
            with_power=False,
        )
        if verdict.verdict in ("holds", "fails"):
            counts[verdict.verdict] += 1
        if row.covers is not None and verdict.interval is not None:
            counts["intervals"] += 1
            low, high = verdict.interval
            counts["covered"] += low <= row.covers <= high
    return {key: count / repeats for key, count in counts.items()}


def exceeded(kind: str, share: float, repeats: int) -> bool:
    """Whether a share of false holds is significantly above what is allowed, or above the limit."""
    allowed, limit = LIMITS[kind]
    low = binomtest(round(share * repeats), repeats).proportion_ci(0.95, "exact").low
    return bool(low > allowed or share > limit)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--only", default="", help="rows whose name or truth contains this")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--write", action="store_true")
    said = parser.parse_args()
    chosen = [row for row in rows() if said.only in f"{row.name} {row.truth}"]
    tasks = [(r.name, r.truth, *spread, said.repeats) for r in chosen for spread in r.spreads]
    found: dict[str, dict[str, float]] = {}
    with ProcessPoolExecutor(said.jobs, mp_context=get_context("spawn")) as pool:
        for (name, truth, seeds, s, _), share in zip(tasks, pool.map(shares, tasks), strict=True):
            found[f"{name} | {truth} | {seeds} | {s}"] = share
            print(f"{name}, {truth}, {seeds} seeds, s {s}: {share}", flush=True)
            if said.json:
                said.json.write_text(json.dumps(found, indent=1))
    before = json.loads(said.before.read_text()) if said.before else {}
    section = "\n".join(page(found, before, said.repeats))
    print(section)
    if said.write:
        write_section(Path(__file__).parents[1] / PAGE, section)


COLUMNS = ("2 | 0.04", "3 | 0.04", "2 | 0.15", "3 | 0.15", "2 | loud", "3 | loud")
HEADS = tuple(column.replace(" | ", " seeds, ") for column in COLUMNS)


def page(
    found: Mapping[str, Mapping[str, float]],
    before: Mapping[str, Mapping[str, float]],
    repeats: int,
) -> Iterator[str]:
    """Yield the lines of the section: false holds, true effects, coverage.

    Args:
        found: the shares of each row and spread.
        before: those of an earlier judge, for true effects.
        repeats: how many records were judged.
    """
    names = list(dict.fromkeys(tuple(key.split(" | ")[:2]) for key in found))
    exceeding = [
        key
        for key, share in found.items()
        if (truth := key.split(" | ")[1]) in LIMITS and exceeded(truth, share["holds"], repeats)
    ]
    yield f"{BENCHMARK}\n"
    yield TEXT.format(repeats=repeats)
    yield from _table(
        ("record", "truth"),
        ((name, truth) for name, truth in names if truth != "true"),
        lambda key: _share(found, key),
    )
    exceeding_text = ", ".join(exceeding) or "none"
    yield f"\nAbove what is allowed: {exceeding_text}.\n"
    yield "True effects that hold" + (", after those of the earlier judge:\n" if before else ":\n")
    yield from _table(
        ("record",),
        ((name, truth) for name, truth in names if truth == "true"),
        lambda key: " → ".join(_share(each, key) for each in (before, found) if key in each),
    )
    both = [key for key in before if key in found]
    if both:
        old, new = (sum(each[key]["holds"] for key in both) for each in (before, found))
        yield f"\nAll together {new / old:.2f} times as many as before."
    yield "\nShare of 95% intervals that cover the truth:\n"
    yield from _table(
        ("record", "truth"),
        (names_of for names_of in names if _row(*names_of).covers is not None),
        lambda key: f"{found[key]['covered'] / found[key]['intervals']:.2f}",
        found,
    )


def _share(found: Mapping[str, Mapping[str, float]], key: str) -> str:
    return f"{found[key]['holds']:.3f}" if key in found else ""


def _table(
    head: tuple[str, ...],
    names: Iterable[tuple[str, str]],
    cell: Callable[[str], str],
    among: Mapping[str, object] | None = None,
) -> Iterator[str]:
    yield f"| {' | '.join((*head, *HEADS))} |"
    yield "|" + " --- |" * (len(head) + len(HEADS))
    for name, truth in names:
        keys = [f"{name} | {truth} | {column}" for column in COLUMNS]
        cells = [cell(key) if among is None or key in among else "" for key in keys]
        yield f"| {' | '.join(((name, truth)[: len(head)]) + tuple(cells))} |"


def write_section(path: Path, section: str) -> None:
    """Replace the last section of the page."""
    text, _, _ = path.read_text(encoding="utf-8").partition(BENCHMARK)
    path.write_text(f"{text.rstrip()}\n\n{section}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
