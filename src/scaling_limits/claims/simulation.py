"""Simulated values of a claim's quantity, with which the claim is known to be true, wrong or void.

A power study (`audit/power.py`) puts them in place of those that the claim's own grids recorded, at the same
settings and seeds. A kind of claim derives a `Simulation` that says which values make it true and wrong.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scaling_limits.claims.base import QUARTER, BestClaim, ClaimBase
from scaling_limits.claims.points import Points, grouped, table_of
from scaling_limits.claims.spread import Scale
from scaling_limits.figures.quantities import Quantity

if TYPE_CHECKING:
    import pandas as pd

    from scaling_limits.records import Results

WRONG_BY = {"true": 0.0, "quarter": 0.25, "half": 0.5}
"""By how much an exponent is wrong. Claims without an exponent are reversed where others are wrong by one half."""
VOID = ("flat", "noise", "diverged")
"""The same everywhere with the recorded spread of each point, or a multiple of the median, and no number at all."""
LOUD, LOUD_ASSUMED = 5.0, 2.5
"""How much noisier than recorded, and than what is assumed of one seed: one claim in twenty is, at `laptop`."""


class Recorded(NamedTuple):
    """The records that a simulation starts from.

    `results` are the cells of the claim's own grids, `compared` those of each group of grids that these are compared
    with, and `quantity` is the claim's own, or the same at one step.
    """

    results: Results
    compared: Sequence[Results]
    quantity: Quantity


class Simulation(ABC):
    """Simulated values of a claim's quantity at one step; rows are those of its recorded `table`."""

    claim: ClaimBase
    noise_factor = 1.0
    """Multiplies the noise: the square root of recorded over planned seeds simulates means over more seeds."""

    def __init__(self, claim: ClaimBase, recorded: Recorded) -> None:
        """Take the values and their spread over seeds from records.

        Raises:
            UndecidedError: the records give no values to start from.
        """
        self.claim = claim
        results, compared, quantity = recorded
        self.results, self.quantity = results, quantity
        self.reference = compared[0] if compared else None
        self.table = results.quantity(quantity).reset_index(drop=True)
        groups = list(claim.groups)
        # at some of several steps every cell may have diverged
        tabulated = table_of(claim, results, claim.columns, quantity=quantity, may_diverge=True)
        points = grouped(tabulated, claim.groups, claim.points)
        self.recorded = self.table["value"].to_numpy(float)
        self.scale = Scale.of([self.recorded], tabulated.top)
        self.seeds = self.table["seed"].to_numpy()
        self.groups = (
            self.table.groupby(groups, sort=True).ngroup().to_numpy() if groups else 0 * self.seeds
        )
        self.shared_noise = np.array([np.sqrt(each.spread.shared) for each in points.values()])
        self.own_noise = self._own_noise(points)

    def _own_noise(self, points: Mapping[tuple[Hashable, ...], Points]) -> np.ndarray:
        """Return the spread [rows] of each point; outside the claim's region, the median of its group."""
        import pandas as pd

        settings = [*self.claim.groups, *self.claim.points]
        frames = []
        for key, each in points.items():
            named_group = dict(zip(self.claim.groups, key, strict=True))
            frames.append(pd.DataFrame({**each.settings, **named_group, "own": each.spread.own}))
        if not settings:
            return np.full(len(self.table), np.sqrt(frames[0]["own"].iloc[0]))
        own = self.table[settings].merge(pd.concat(frames), on=settings, how="left")["own"]
        medians = np.array([np.median(each.spread.own) for each in points.values()])
        return np.sqrt(np.where(own.isna(), medians[self.groups], own))

    @property
    def has_exponent(self) -> bool:
        """Whether the claim is about an exponent, which can be wrong by a quarter."""
        return False

    @property
    def constant_is_void(self) -> bool:
        """Whether values that are the same everywhere say nothing of what is claimed."""
        return True

    @property
    def divergence_is_void(self) -> bool:
        """Whether divergence everywhere says nothing of what is claimed."""
        return True

    def applies(self, scenario: str) -> bool:
        """Whether a scenario tests the claim."""
        if scenario == "quarter":
            return self.has_exponent
        if scenario == "diverged":
            return self.divergence_is_void
        return scenario not in VOID or self.constant_is_void

    def values(self, scenario: str, repeat: int, generator: np.random.Generator) -> np.ndarray:
        """Simulate values [rows]; odd repeats are wrong the other way where there are two."""
        if scenario == "diverged":
            return np.full(len(self.table), np.nan)
        wrong = WRONG_BY.get(scenario, 0.0) * (1 if repeat % 2 else -1)
        return self.draw(scenario, wrong, generator)

    @abstractmethod
    def draw(self, scenario: str, wrong: float, generator: np.random.Generator) -> np.ndarray:
        """Draw values [rows] of a scenario in which something converged and an exponent is `wrong` by this much."""

    def noise_level(self, scenario: str) -> float:
        """Return how much noisier than recorded a scenario is."""
        if scenario != "noise":
            return self.noise_factor
        return self.noise_factor * (LOUD if len(np.unique(self.seeds)) > 1 else LOUD_ASSUMED)

    def means(self, table: pd.DataFrame) -> pd.Series:
        """Return the mean over seeds at the settings of each row; NaN where one of them diverged, as for the judge."""
        finite = table.assign(value=table["value"].where(np.isfinite(table["value"])))
        settings = finite.groupby([*self.claim.groups, *self.claim.points])["value"]
        return settings.transform("mean").where(
            settings.transform("count") == settings.transform("size")
        )


class NoisySimulation(Simulation):
    """Exact values, with noise of the recorded spread: what seeds share in a group of points, and a point's own."""

    def __init__(self, claim: ClaimBase, recorded: Recorded) -> None:
        super().__init__(claim, recorded)
        # nothing in them is random, and there are as many of each as scenarios
        self._exact, self._constant = cache(self.exact), cache(self.constant)

    @abstractmethod
    def exact(self, wrong: float) -> np.ndarray:
        """Return noise-free values [rows]: true if `wrong` is 0, else wrong by this exponent, or reversed."""

    def constant(self) -> np.ndarray:
        """Return values [rows] that are the same everywhere."""
        finite = self.recorded[np.isfinite(self.recorded)]
        return np.full(len(self.table), np.median(finite))

    def draw(self, scenario: str, wrong: float, generator: np.random.Generator) -> np.ndarray:
        """Draw values [rows] about the exact ones."""
        exact = self._constant() if scenario in VOID else self._exact(wrong)
        seeds, columns = np.unique(self.seeds, return_inverse=True)
        luck = generator.standard_normal((len(self.shared_noise), len(seeds)))[self.groups, columns]
        shared, own = (
            # where loud values scatter differently, their means differ as well
            np.full_like(each, np.median(each)) if scenario == "noise" else each
            for each in (self.shared_noise, self.own_noise)
        )
        noise = shared[self.groups] * luck + own * generator.standard_normal(len(self.table))
        return self.scale.back(self.scale.to(exact) + self.noise_level(scenario) * noise)


class BestSimulation(NoisySimulation):
    """Simulation of claims about the best value at each size."""

    claim: BestClaim

    def best(self, table: pd.DataFrame, values: np.ndarray) -> dict[float, float]:
        """Return the best mean over seeds at each size, from the values [rows] of a table."""
        means = self.means(table.assign(value=values))
        return dict(means.groupby(table[self.claim.along]).min())

    def scaled(self, best: Mapping[float, float], target: Mapping[float, float]) -> np.ndarray:
        """Return the recorded means [rows], scaled at each size so that their best value becomes the target."""
        means = self.means(self.table)
        factors = [target[size] / best[size] for size in self.table[self.claim.along]]
        return np.asarray(means.to_numpy(float) * np.array(factors))


def exponent_between(low: float, high: float, wrong: float) -> float:
    """Return an exponent that is `wrong` by some number: from the middle of two bounds, or a quarter from one."""
    if np.isinf(low):
        return high - QUARTER + abs(wrong)
    if np.isinf(high):
        return low + QUARTER - abs(wrong)
    return (low + high) / 2 + wrong
