"""Simulated values of a claim's quantity, for which the claim is known to be true, wrong or void.

A power study (`audit/power.py`) replaces the values recorded in the claim's grids by these values, at the same settings
and seeds. Each kind of claim derives a `Simulation` that defines the values for which it is true and wrong.
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
"""Error of an exponent in each scenario. Claims without an exponent are reversed in the scenario `half`."""
VOID = ("flat", "noise", "diverged")
"""Scenarios without information.

`flat`: constant values with the recorded spread of each point; `noise`: constant values with a multiple of the median
spread; `diverged`: no finite value.
"""
LOUD, LOUD_ASSUMED = 5.0, 2.5
"""Noise of the scenario `noise`, relative to the recorded spread and to the spread assumed for one seed.

At `laptop`, one claim in twenty is this noisy.
"""


class Recorded(NamedTuple):
    """The records from which a simulation starts.

    `results` are the cells of the claim's grids, `compared` the cells of each group of grids with which they are
    compared, and `quantity` is the claim's quantity or the same at one step.
    """

    results: Results
    compared: Sequence[Results]
    quantity: Quantity


class Simulation(ABC):
    """Simulated values of a claim's quantity at one step; the rows are those of its recorded `table`."""

    claim: ClaimBase
    noise_factor = 1.0
    """Factor of the noise; the square root of recorded over planned seeds simulates means over more seeds."""

    def __init__(self, claim: ClaimBase, recorded: Recorded) -> None:
        """Read the values and their spread over seeds from the records.

        Raises:
            UndecidedError: the records contain no values to start from.
        """
        self.claim = claim
        results, compared, quantity = recorded
        self.results, self.quantity = results, quantity
        self.reference = compared[0] if compared else None
        self.table = results.quantity(quantity).reset_index(drop=True)
        groups = list(claim.groups)
        # with several steps, every cell may have diverged at some of them
        tabulated = table_of(claim, results, claim.columns, quantity=quantity, may_diverge=True)
        points = grouped(tabulated, claim.groups, claim.points)
        self.recorded = self.table["value"].to_numpy(float)
        self.scale = Scale.of([self.recorded], tabulated.top)
        self.seeds = self.table["seed"].to_numpy()
        self.groups = (
            self.table.groupby(groups, sort=True).ngroup().to_numpy() if groups else 0 * self.seeds
        )
        self.shared_noise = np.array([np.sqrt(each.spread.shared) for each in points.values()])
        self.independent_noise = self._independent_noise(points)

    def _independent_noise(self, points: Mapping[tuple[Hashable, ...], Points]) -> np.ndarray:
        """Return the standard deviation [rows] of each point.

        Points outside the claim's region get the median of their group.
        """
        import pandas as pd

        settings = [*self.claim.groups, *self.claim.points]
        frames = []
        for key, each in points.items():
            named_group = dict(zip(self.claim.groups, key, strict=True))
            frames.append(
                pd.DataFrame(
                    {**each.settings, **named_group, "independent": each.spread.independent}
                )
            )
        if not settings:
            return np.full(len(self.table), np.sqrt(frames[0]["independent"].iloc[0]))
        variances = self.table[settings].merge(pd.concat(frames), on=settings, how="left")[
            "independent"
        ]
        medians = np.array([np.median(each.spread.independent) for each in points.values()])
        return np.sqrt(np.where(variances.isna(), medians[self.groups], variances))

    @property
    def has_exponent(self) -> bool:
        """Whether the claim is about an exponent, which can be wrong by a quarter."""
        return False

    @property
    def constant_is_void(self) -> bool:
        """Whether constant values contain no information about the claim."""
        return True

    @property
    def divergence_is_void(self) -> bool:
        """Whether divergence of all cells contains no information about the claim."""
        return True

    def applies(self, scenario: str) -> bool:
        """Return whether a scenario tests the claim."""
        if scenario == "quarter":
            return self.has_exponent
        if scenario == "diverged":
            return self.divergence_is_void
        return scenario not in VOID or self.constant_is_void

    def values(self, scenario: str, repeat: int, generator: np.random.Generator) -> np.ndarray:
        """Simulate values [rows].

        Args:
            scenario: a key of `WRONG_BY` or one of `VOID`.
            repeat: the number of the simulation; odd and even numbers change an exponent in opposite directions.
            generator: the source of random numbers.
        """
        if scenario == "diverged":
            return np.full(len(self.table), np.nan)
        wrong = WRONG_BY.get(scenario, 0.0) * (1 if repeat % 2 else -1)
        return self.draw(scenario, wrong, generator)

    @abstractmethod
    def draw(self, scenario: str, wrong: float, generator: np.random.Generator) -> np.ndarray:
        """Draw values [rows] of a scenario in which some cell converged.

        Args:
            scenario: the scenario.
            wrong: the error of the exponent.
            generator: the source of random numbers.
        """

    def noise_level(self, scenario: str) -> float:
        """Return the noise of a scenario relative to the recorded spread."""
        if scenario != "noise":
            return self.noise_factor
        return self.noise_factor * (LOUD if len(np.unique(self.seeds)) > 1 else LOUD_ASSUMED)

    def means(self, table: pd.DataFrame) -> pd.Series:
        """Return the mean over seeds at the settings of each row; NaN if any seed diverged, as when judging."""
        finite = table.assign(value=table["value"].where(np.isfinite(table["value"])))
        settings = finite.groupby([*self.claim.groups, *self.claim.points])["value"]
        return settings.transform("mean").where(
            settings.transform("count") == settings.transform("size")
        )


class NoisySimulation(Simulation):
    """Exact values plus noise of the recorded spread, partly shared by the points of a group and partly independent."""

    def __init__(self, claim: ClaimBase, recorded: Recorded) -> None:
        super().__init__(claim, recorded)
        # these values are deterministic, and there is one of each per scenario
        self._exact, self._constant = cache(self.exact), cache(self.constant)

    @abstractmethod
    def exact(self, wrong: float) -> np.ndarray:
        """Return noise-free values [rows].

        Args:
            wrong: 0 for a true claim; otherwise the error of the exponent, or any other number to reverse the claim.
        """

    def constant(self) -> np.ndarray:
        """Return constant values [rows]."""
        finite = self.recorded[np.isfinite(self.recorded)]
        return np.full(len(self.table), np.median(finite))

    def draw(self, scenario: str, wrong: float, generator: np.random.Generator) -> np.ndarray:
        """Draw values [rows] around the exact values."""
        exact = self._constant() if scenario in VOID else self._exact(wrong)
        seeds, columns = np.unique(self.seeds, return_inverse=True)
        luck = generator.standard_normal((len(self.shared_noise), len(seeds)))[self.groups, columns]
        shared, independent = (
            # equal noise everywhere: with different noise, means would differ between points
            np.full_like(each, np.median(each)) if scenario == "noise" else each
            for each in (self.shared_noise, self.independent_noise)
        )
        noise = shared[self.groups] * luck + independent * generator.standard_normal(
            len(self.table)
        )
        return self.scale.back(self.scale.to(exact) + self.noise_level(scenario) * noise)


class BestSimulation(NoisySimulation):
    """Simulation of claims about the best value at each size."""

    claim: BestClaim

    def best(self, table: pd.DataFrame, values: np.ndarray) -> dict[float, float]:
        """Return the best mean over seeds at each size, from the values [rows] of a table."""
        means = self.means(table.assign(value=values))
        return dict(means.groupby(table[self.claim.along]).min())

    def scaled(self, best: Mapping[float, float], target: Mapping[float, float]) -> np.ndarray:
        """Return the recorded means [rows], scaled at each size so that the best value equals the target."""
        means = self.means(self.table)
        factors = [target[size] / best[size] for size in self.table[self.claim.along]]
        return np.asarray(means.to_numpy(float) * np.array(factors))


def exponent_between(low: float, high: float, wrong: float) -> float:
    """Return an exponent shifted by `wrong` from the middle of two bounds, or from a quarter inside a single bound."""
    if np.isinf(low):
        return high - QUARTER + abs(wrong)
    if np.isinf(high):
        return low + QUARTER - abs(wrong)
    return (low + high) / 2 + wrong
