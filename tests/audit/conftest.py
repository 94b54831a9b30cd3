"""Synthetic cells and records: bowls in log2 of the learning rates, maps of width and depth."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pandas as pd
import pytest

from scaling_limits.audit.judge import judge
from scaling_limits.audit.register import Register
from scaling_limits.audit.select import measured_on
from scaling_limits.audit.verdicts import Verdict
from scaling_limits.claims.base import ClaimBase
from scaling_limits.claims.measurement import UndecidedError
from scaling_limits.records import AXES, Results
from toys import parsed_claim

RATES = tuple(2.0**k for k in range(-8, 1))


def tabulate(rows: Iterable[Mapping], metric: str = "train_loss") -> Results:
    """Cells from rows of settings, `value` and perhaps axes; equal settings are one cell."""
    table = pd.DataFrame(rows)
    if "step" not in table:
        table["step"] = 10
    recorded = [c for c in (*AXES, "value") if c in table]
    settings = [c for c in table.columns if c not in (*recorded, "grid")]
    table["cell_id"] = [f"c{k}" for k in table.groupby([*settings, "grid"]).ngroup()]
    cells = table[["grid", "cell_id", *settings]].drop_duplicates(ignore_index=True)
    records = table[["cell_id", *recorded]].assign(metric=metric)
    return Results(cells, records)


def bowl_rows(
    optimum: Callable[[float], float],
    *,
    grid: str = "main",
    widths: Iterable[int] = (32, 64, 128, 256),
    rates: Iterable[float] = RATES,
    seeds: int = 3,
    noise: float = 0.01,
    depth_of_bowl: float = 0.3,
    diverges_above: float = np.inf,
    level: Callable[[float], float] = lambda width: 1.0 / np.log2(width),
    other_rates: Iterable[float] = (1.0,),
) -> list[dict]:
    """level (1 + c (log2 rate - optimum)^2), noisy per seed, flat in `activity_learning_rate`."""
    rng = np.random.default_rng(0)
    rows = []
    for width in widths:
        for rate in rates:
            for other in other_rates:
                for seed in range(seeds):
                    bowl = 1 + depth_of_bowl * (np.log2(rate) - optimum(width)) ** 2
                    value = level(width) * bowl * np.exp(noise * rng.standard_normal())
                    if rate > diverges_above:
                        value = np.nan if seed else np.inf
                    rows.append(
                        {
                            "grid": grid,
                            "width": width,
                            "depth": 8,
                            "learning_rate": rate,
                            "seed": seed,
                        }
                        | {"activity_learning_rate": other, "value": value}
                    )
    return rows


def map_rows(
    value: Callable[[int, int, int], float],
    *,
    grid: str = "main",
    widths: Iterable[int] = (16, 32, 64, 128, 256),
    depths: Iterable[int] = (2, 4, 8),
    seeds: int = 3,
    steps: Iterable[int] = (0, 10),
) -> list[dict]:
    """`value(width, depth, seed)` at each step."""
    return [
        {"grid": grid, "width": n, "depth": d, "seed": s, "step": t, "value": value(n, d, s)}
        for n in widths
        for d in depths
        for s in range(seeds)
        for t in steps
    ]


def parsed(claim: Mapping) -> ClaimBase:
    """A claim as in the configuration, with what all have in common."""
    common = {"id": "the-claim", "statement": "It is so.", "source": "Fig 1", "grids": ["main"]}
    common["quantity"] = {"metric": "train_loss"}
    return parsed_claim(common | dict(claim))


def measure(claim: Mapping, results: Results) -> bool | None:
    """Whether one claim holds, without its control; None where that is not decided."""
    read = parsed(claim)
    chosen = measured_on(read, results, read.grids)
    try:
        return read.measure(*chosen).holds
    except UndecidedError:
        return None


def decide(
    claim: Mapping,
    results: Results,
    *,
    substituted: bool = False,
    titles: Mapping[str, str] | None = None,
) -> Verdict:
    """The verdict on one claim."""
    (verdict,) = judge(
        [parsed(claim)],
        results,
        paper="mupc",
        figure="fig5",
        preset="smoke",
        substituted=substituted,
        register=Register(),
        # it takes longer; test_power.py has it
        with_power=False,
        titles=titles,
    )
    return verdict


@pytest.fixture(name="tabulate")
def _tabulate():
    return tabulate


@pytest.fixture(name="bowl_rows")
def _bowl_rows():
    return bowl_rows


@pytest.fixture(name="map_rows")
def _map_rows():
    return map_rows


@pytest.fixture(name="measure")
def _measure():
    return measure


@pytest.fixture(name="decide")
def _decide():
    return decide
