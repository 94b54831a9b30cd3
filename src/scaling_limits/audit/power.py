"""Power: what the judge makes of values with which a claim is known to be true, false or void.

Scenarios put simulated values in place of those that a claim's own grids recorded: at the same
settings and seeds, with the spread that the records show. References keep their records.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from scaling_limits.audit.select import measured_on
from scaling_limits.claims.base import ClaimBase
from scaling_limits.claims.measurement import UndecidedError
from scaling_limits.claims.points import steps_of
from scaling_limits.claims.simulation import VOID, WRONG_BY, Recorded
from scaling_limits.figures.quantities import Quantity
from scaling_limits.records import Results

REPEATS = 20
"""How many records are judged."""
FINER = (1, 5, 20)
"""Times as many void ones: the next as long as more than a half of what is allowed hold."""
STEPS = 10
"""How many of a claim's steps are simulated at most."""
PLANNED = (4, 6, 8, 12, 16, 24, 32)
"""Numbers of seeds that a plan may have."""
ENOUGH = 0.8
"""The power that a plan should have."""
ONE_IN_TWENTY = 0.05
"""The largest share of void records that may hold."""


@dataclass(frozen=True)
class Power:
    """The share of simulated records that hold, by scenario; None where one says nothing of the claim."""

    holds: Mapping[str, float | None]

    @property
    def void(self) -> float:
        """The largest share of void records that hold."""
        return max(self.holds[scenario] or 0.0 for scenario in VOID)

    @property
    def decides(self) -> bool:
        """The true holds more often than not, wrong by one half never, and void in one of twenty at most."""
        true = self.holds["true"] or 0.0
        return true > 0.5 and not self.holds["half"] and self.void <= ONE_IN_TWENTY


@dataclass(frozen=True)
class Simulated(Results):
    """Cells whose quantities are `tables`."""

    tables: Mapping[Quantity, pd.DataFrame]

    def quantity(self, quantity: Quantity) -> pd.DataFrame:
        """The columns of the cells with the simulated values."""
        return self.tables[quantity].copy()


class _Recorded(Results):
    """The records that a claim's own are compared with, the same for all simulated ones: each quantity is kept."""

    @cached_property
    def _tables(self) -> dict[Quantity, pd.DataFrame]:
        return {}

    def quantity(self, quantity: Quantity) -> pd.DataFrame:
        """The columns of the cells with the recorded values."""
        if quantity not in self._tables:
            self._tables[quantity] = super().quantity(quantity)
        return self._tables[quantity].copy()


def power_of(claim: ClaimBase, results: Results, repeats: int = REPEATS) -> Power:
    """Judge `repeats` simulated records of a claim in each scenario.

    Void ones are judged more often where one in twenty may hold.

    Raises:
        UndecidedError: its cells were not all run, or the records give no values to start from.
    """
    study = _Study(claim, results)
    return Power({scenario: study.share(scenario, repeats) for scenario in (*WRONG_BY, *VOID)})


def recorded_power(claim: ClaimBase, results: Results) -> float | None:
    """Return the share of records simulated as recorded that hold: how often other seeds would give the same verdict.

    Returns:
        None where there is nothing to simulate.
    """
    try:
        return _Study(claim, results).share("true", REPEATS)
    except UndecidedError:
        return None


def planned_seeds(claim: ClaimBase, results: Results) -> int | None:
    """Return the smallest number of seeds with which records simulated as recorded hold in four of five cases.

    More seeds than recorded are simulated by a smaller spread, so the judge keeps its degrees of freedom and the number
    is an upper estimate.

    Returns:
        The recorded number if it suffices; None if none of `PLANNED` does, or one seed shows no spread.

    Raises:
        UndecidedError: its cells were not all run, or the records give no values to start from.
    """
    study = _Study(claim, results)
    # one seed has an assumed spread, which no other number of seeds changes
    more = [each for each in PLANNED if each > study.num_seeds > 1]
    for number in (study.num_seeds, *more):
        if (study.share("true", REPEATS, planned=number) or 0.0) >= ENOUGH:
            return number
    return None


class _Study:
    """A claim judged on simulated records."""

    def __init__(self, claim: ClaimBase, results: Results) -> None:
        self.own, *compared = measured_on(claim, results, claim.grids)
        self.num_seeds = int(self.own.cells["seed"].nunique())
        self.compared = [_Recorded(each.cells, each.records) for each in compared]
        quantities = steps_of(claim, self.own)
        if len(quantities) > STEPS:
            # what breaks a claim at more steps breaks it at some: fewer are no stricter, and each takes its time
            kept = np.linspace(0, len(quantities) - 1, STEPS).round().astype(int)
            quantities = [quantities[k] for k in kept]
            claim = claim.model_copy(update={"at": tuple(each.step for each in quantities)})
        self.claim = claim
        self.simulations = [
            claim.simulation(Recorded(self.own, self.compared, each)) for each in quantities
        ]
        others = [each for key, each in claim.quantities.items() if key != "quantity"]
        self.recorded = {each: self.own.quantity(each) for each in others}

    def share(self, scenario: str, repeats: int, planned: int | None = None) -> float | None:
        """Return the share of simulated records that hold; None where the scenario does not apply to the claim.

        Args:
            scenario: one of `WRONG_BY` and `VOID`.
            repeats: how many records are judged.
            planned: the number of seeds, if it is not the recorded one.
        """
        for each in self.simulations:
            each.noise_factor = float(np.sqrt(self.num_seeds / (planned or self.num_seeds)))
        if not all(each.applies(scenario) for each in self.simulations):
            return None
        counts = [repeats * times for times in (FINER if scenario in VOID else (1,))]
        # nothing is random where everything diverged
        counts = [1] if scenario == "diverged" else counts
        generator = np.random.default_rng([*WRONG_BY, *VOID].index(scenario))
        held: list[bool] = []
        for count in counts:
            held += [self._holds(scenario, k, generator) for k in range(len(held), count)]
            if np.mean(held) <= ONE_IN_TWENTY / 2:
                break
        return float(np.mean(held))

    def _holds(self, scenario: str, repeat: int, generator: np.random.Generator) -> bool:
        # what diverged stays without a number, whatever is made of it
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            tables = self.recorded | {
                each.quantity: each.table.assign(value=each.values(scenario, repeat, generator))
                for each in self.simulations
            }
            simulated = Simulated(self.own.cells, self.own.records, tables)
            try:
                return self.claim.measure(simulated, *self.compared).holds is True
            except UndecidedError:
                return False
