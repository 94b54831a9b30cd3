"""Power: the judge's verdicts on simulated values for which a claim is known to be true, wrong or void.

Scenarios replace the values that a claim's grids recorded by simulated ones, at the same settings and seeds and with
the recorded spread. References keep their records.
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
"""Number of simulated records that are judged."""
FINER = (1, 5, 20)
"""Multiples of `REPEATS` for void records; the next one is used while more than half of the allowed fraction holds."""
STEPS = 10
"""Largest number of a claim's steps that are simulated."""
PLANNED = (4, 6, 8, 12, 16, 24, 32)
"""Numbers of seeds that a plan may have."""
ENOUGH = 0.8
"""The power that a plan should reach."""
ONE_IN_TWENTY = 0.05
"""Largest fraction of void records that may hold."""


@dataclass(frozen=True)
class Power:
    """The fraction of simulated records that hold, by scenario; None if a scenario does not apply to the claim."""

    holds: Mapping[str, float | None]

    @property
    def void(self) -> float:
        """The largest fraction of void records that hold."""
        return max(self.holds[scenario] or 0.0 for scenario in VOID)

    @property
    def decides(self) -> bool:
        """Whether the claim's grids distinguish true, wrong and void records.

        True records must hold in most cases, records wrong by one half never, and void records in at most one of
        twenty.
        """
        true = self.holds["true"] or 0.0
        return true > 0.5 and not self.holds["half"] and self.void <= ONE_IN_TWENTY


@dataclass(frozen=True)
class Simulated(Results):
    """Cells whose quantities are given by `tables`."""

    tables: Mapping[Quantity, pd.DataFrame]

    def quantity(self, quantity: Quantity) -> pd.DataFrame:
        """Return the simulated values with the cells' columns."""
        return self.tables[quantity].copy()


class _Recorded(Results):
    """The reference records, which are the same in all simulations, with a cache of each quantity."""

    @cached_property
    def _tables(self) -> dict[Quantity, pd.DataFrame]:
        return {}

    def quantity(self, quantity: Quantity) -> pd.DataFrame:
        """Return the recorded values with the cells' columns."""
        if quantity not in self._tables:
            self._tables[quantity] = super().quantity(quantity)
        return self._tables[quantity].copy()


def power_of(claim: ClaimBase, results: Results, repeats: int = REPEATS) -> Power:
    """Judge `repeats` simulated records of a claim in each scenario.

    More void records are judged if the fraction that holds is close to one in twenty.

    Raises:
        UndecidedError: not all of its cells were run, or the records contain no values to start from.
    """
    study = _Study(claim, results)
    return Power({scenario: study.share(scenario, repeats) for scenario in (*WRONG_BY, *VOID)})


def recorded_power(claim: ClaimBase, results: Results) -> float | None:
    """Return the fraction of records simulated as recorded that hold.

    It estimates how often other seeds would give the same verdict.

    Returns:
        The fraction, or None if nothing can be simulated.
    """
    try:
        return _Study(claim, results).share("true", REPEATS)
    except UndecidedError:
        return None


def planned_seeds(claim: ClaimBase, results: Results) -> int | None:
    """Return the smallest number of seeds with which records simulated as recorded hold in four of five cases.

    More seeds than recorded are simulated by a smaller spread. The judge keeps the recorded degrees of freedom, so that
    the number is an upper estimate.

    Returns:
        The recorded number if it suffices; None if no number in `PLANNED` does, or if one seed gives no spread.

    Raises:
        UndecidedError: not all of its cells were run, or the records contain no values to start from.
    """
    study = _Study(claim, results)
    # the spread of a single seed is assumed, so more seeds cannot be planned from it
    more = [each for each in PLANNED if each > study.num_seeds > 1]
    for number in (study.num_seeds, *more):
        if (study.share("true", REPEATS, planned=number) or 0.0) >= ENOUGH:
            return number
    return None


class _Study:
    """A claim judged on simulated records."""

    def __init__(self, claim: ClaimBase, results: Results) -> None:
        self.results, *compared = measured_on(claim, results, claim.grids)
        self.num_seeds = int(self.results.cells["seed"].nunique())
        self.compared = [_Recorded(each.cells, each.records) for each in compared]
        quantities = steps_of(claim, self.results)
        if len(quantities) > STEPS:
            # a subset of the steps is never stricter than all steps, and each step takes time
            indices = np.linspace(0, len(quantities) - 1, STEPS).round().astype(int)
            quantities = [quantities[k] for k in indices]
            claim = claim.model_copy(update={"at": tuple(each.step for each in quantities)})
        self.claim = claim
        self.simulations = [
            claim.simulation(Recorded(self.results, self.compared, each)) for each in quantities
        ]
        further = [each for key, each in claim.quantities.items() if key != "quantity"]
        self.recorded = {each: self.results.quantity(each) for each in further}

    def share(self, scenario: str, repeats: int, planned: int | None = None) -> float | None:
        """Return the fraction of simulated records that hold, or None if the scenario does not apply to the claim.

        Args:
            scenario: one of `WRONG_BY` and `VOID`.
            repeats: how many records are judged.
            planned: the number of seeds, if it differs from the recorded one.
        """
        for each in self.simulations:
            each.noise_factor = float(np.sqrt(self.num_seeds / (planned or self.num_seeds)))
        if not all(each.applies(scenario) for each in self.simulations):
            return None
        counts = [repeats * times for times in (FINER if scenario in VOID else (1,))]
        # nothing is random if everything diverged
        counts = [1] if scenario == "diverged" else counts
        generator = np.random.default_rng([*WRONG_BY, *VOID].index(scenario))
        held: list[bool] = []
        for count in counts:
            held += [self._holds(scenario, k, generator) for k in range(len(held), count)]
            if np.mean(held) <= ONE_IN_TWENTY / 2:
                break
        return float(np.mean(held))

    def _holds(self, scenario: str, repeat: int, generator: np.random.Generator) -> bool:
        # diverged values remain non-finite in all operations
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            tables = self.recorded | {
                each.quantity: each.table.assign(value=each.values(scenario, repeat, generator))
                for each in self.simulations
            }
            simulated = Simulated(self.results.cells, self.results.records, tables)
            try:
                return self.claim.measure(simulated, *self.compared).holds is True
            except UndecidedError:
                return False
