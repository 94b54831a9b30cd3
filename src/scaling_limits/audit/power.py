"""Power: what the judge makes of values with which a claim is known to be true, false or void.

Scenarios put simulated values in the place of those that a claim's own grids recorded: at the same
settings and seeds, with the spread that the records show. References keep their records.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pandas as pd
from scipy.interpolate import RegularGridInterpolator

from scaling_limits.audit.kinds import KINDS
from scaling_limits.audit.kinds.agrees_with import relative_errors
from scaling_limits.audit.kinds.flatter import exchanged
from scaling_limits.audit.kinds.level_set import planes
from scaling_limits.audit.kinds.slope import Bounds, bounds
from scaling_limits.audit.kinds.slope_difference import SimulatedDifference
from scaling_limits.audit.points import grouped, ratio_column, steps_of, table_of
from scaling_limits.audit.select import measured_on
from scaling_limits.audit.spread import LARGEST, Scale
from scaling_limits.audit.verdicts import UndecidedError, words
from scaling_limits.figures.claims import (
    QUARTER,
    AgreesWith,
    Bound,
    Claim,
    Flatter,
    Gap,
    ImprovesWith,
    LevelSet,
    NoGain,
    OptimumClaim,
    OptimumMoves,
    RankCorrelation,
    Slope,
    SlopeDifference,
    TransferCost,
)
from scaling_limits.figures.quantities import Quantity
from scaling_limits.records import Results

WRONG_BY = {"true": 0.0, "quarter": 0.25, "half": 0.5}
"""By how much an exponent is wrong. Claims without an exponent are reversed where others are wrong by one half."""
VOID = ("flat", "noise", "diverged")
"""The same everywhere with the spread of the median size, with more of it, and no number anywhere."""
LOUD, LOUD_ASSUMED = 5.0, 2.5
"""How much noisier than recorded, and than what is assumed of one seed: one claim in twenty is, at `laptop`."""
REPEATS = 20
"""How many records are judged."""
FINER = (1, 5, 20)
"""Times as many void ones: the next as long as more than a half of what is allowed hold."""
STEPS = 10
"""How many of a claim's steps are simulated at most."""
ONE_IN_TWENTY = 0.05
"""The largest share of void records that may hold."""
TINY = 1e-300
"""In place of an error that is exactly zero."""
CLIFF = 1.5
"""How far above all that converged a value has diverged, in logarithms."""


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
        """The simulated values beside the cells' columns."""
        return self.tables[quantity].copy()


class _Recorded(Results):
    """What is compared with, the same for all simulated records: each quantity is worked out once."""

    @cached_property
    def _tables(self) -> dict[Quantity, pd.DataFrame]:
        return {}

    def quantity(self, quantity: Quantity) -> pd.DataFrame:
        """The recorded values beside the cells' columns."""
        if quantity not in self._tables:
            self._tables[quantity] = super().quantity(quantity)
        return self._tables[quantity].copy()


def power_of(claim: Claim, results: Results, repeats: int = REPEATS) -> Power:
    """Judge `repeats` simulated records of a claim in each scenario.

    Void ones are judged more often where one in twenty may hold.

    Raises:
        UndecidedError: its cells were not all run, or the records give no values to start from.
    """
    simulation = _Simulation(claim, results)
    return Power({scenario: simulation.share(scenario, repeats) for scenario in (*WRONG_BY, *VOID)})


def doubt(claim: Claim, results: Results) -> str | None:
    """Why it says little that a claim holds on these records: what is not so would hold on its grids as well.

    None where nothing of the kind holds.

    Raises:
        UndecidedError: as of `power_of`.
    """
    simulation = _Simulation(claim, results)
    wrong = simulation.share("half", REPEATS)
    if wrong:
        return f"its grids do not tell it from what is wrong: {wrong:.0%} of such simulated records hold"
    void = max(simulation.share(scenario, REPEATS) or 0.0 for scenario in VOID)
    if void > ONE_IN_TWENTY:
        return f"its grids do not tell it from chance: {void:.0%} of void simulated records hold"
    return None


class _Simulation:
    """Simulated records of a claim, judged."""

    def __init__(self, claim: Claim, results: Results) -> None:
        self.own, *compared = measured_on(claim, results, claim.grids)
        self.compared = [_Recorded(each.cells, each.records) for each in compared]
        quantities = steps_of(claim, self.own, getattr(claim, "at", None))
        if len(quantities) > STEPS:
            # what breaks a claim at more steps breaks it at some: fewer are no stricter, and each takes its time
            kept = np.linspace(0, len(quantities) - 1, STEPS).round().astype(int)
            quantities = [quantities[k] for k in kept]
            claim = claim.model_copy(update={"at": tuple(each.step for each in quantities)})
        self.claim = claim
        self.models = [_Model(claim, self.own, self.compared, each) for each in quantities]
        others = [each for key, each in claim.quantities.items() if key != "quantity"]
        self.recorded = {each: self.own.quantity(each) for each in others}

    def share(self, scenario: str, repeats: int) -> float | None:
        """How many of `repeats` records hold; None where the scenario says nothing of the claim."""
        if not all(model.says(scenario) for model in self.models):
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
                model.quantity: model.table.assign(value=model.values(scenario, repeat, generator))
                for model in self.models
            }
            simulated = Simulated(self.own.cells, self.own.records, tables)
            try:
                found = KINDS[self.claim.kind](self.claim, simulated, *self.compared)
            except UndecidedError:
                return False
        return found.holds is True


class _Model:
    """The values of a claim's quantity at one step, in all scenarios."""

    def __init__(
        self,
        claim: Claim,
        own: Results,
        compared: Sequence[Results],
        quantity: Quantity,
    ) -> None:
        self.claim, self.quantity = claim, quantity
        self.own_cells = own.cells
        self.table = own.quantity(quantity).reset_index(drop=True)
        groups, points = _columns(claim)
        columns = [*groups, *points]
        # at some of several steps every cell may have diverged
        found = table_of(claim, own, columns, quantity=quantity, may_diverge=True)
        spreads = grouped(found, groups, points)
        self.recorded = self.table["value"].to_numpy(float)
        self.scale = Scale.of([self.recorded], found.top)
        self.seeds = self.table["seed"].to_numpy()
        self.groups = (
            self.table.groupby(groups, sort=True).ngroup().to_numpy() if groups else 0 * self.seeds
        )
        self.shared = np.array([np.sqrt(p.spread.shared) for p in spreads.values()])
        self.own = np.array([np.sqrt(np.median(p.spread.own)) for p in spreads.values()])
        self.results, self.reference = own, compared[0] if compared else None
        self.errors = (
            relative_errors(claim, own, compared[0]).rows if isinstance(claim, AgreesWith) else None
        )
        self.difference = (
            SimulatedDifference.of(claim, own, self.reference, self.table)
            if isinstance(claim, SlopeDifference)
            else None
        )
        # nothing in them is random, and of each there are as many kinds as there are scenarios
        self.exact, self.arm = cache(self._exact), cache(self._arm)

    def says(self, scenario: str) -> bool:
        """Whether a scenario says something of the claim."""
        claim = self.claim
        if scenario == "quarter" and not _has_exponent(claim):
            return False
        if scenario == "diverged" and isinstance(claim, Bound):
            # divergence that is evidence is what the claim says
            return claim.divergence is None
        if scenario in ("flat", "noise"):
            if isinstance(claim, Bound | AgreesWith):
                return False
            if isinstance(claim, NoGain):
                # what is the same everywhere gains nothing
                return claim.margin is not None
            if isinstance(claim, SlopeDifference):
                # equal slopes differ by 0
                return (claim.at_least or 0) > 0 or (claim.at_most or 0) < 0
            # values that are the same everywhere have the slope 0
            return not isinstance(claim, Slope) or claim.expected not in (None, 0)
        return True

    def values(self, scenario: str, repeat: int, generator: np.random.Generator) -> np.ndarray:
        """Simulated values of the rows; odd repeats are wrong the other way where there are two."""
        if scenario == "diverged":
            return np.full(len(self.table), np.nan)
        wrong = WRONG_BY.get(scenario, 0.0) * (1 if repeat % 2 else -1)
        if self.errors is not None:
            return self._about_the_limit(abs(wrong), generator)
        if self.difference is not None:
            truth = None if scenario in VOID else not wrong
            return self.difference.values(truth, self._loud(scenario), generator)
        if isinstance(self.claim, Gap):
            exact = self.arm({"true": 0, "half": 2}.get(scenario, 1))
        elif scenario in VOID:
            exact = np.full(len(self.table), np.median(self.recorded[np.isfinite(self.recorded)]))
        else:
            exact = self.exact(wrong)
        seeds, columns = np.unique(self.seeds, return_inverse=True)
        luck = generator.standard_normal((len(self.shared), len(seeds)))[self.groups, columns]
        shared, own = (
            # where sizes scatter differently, the mean of loud values does as well
            np.full_like(each, np.median(each)) if scenario in VOID else each
            for each in (self.shared, self.own)
        )
        noise = shared[self.groups] * luck
        noise = noise + own[self.groups] * generator.standard_normal(len(self.table))
        values = self.scale.back(self.scale.to(exact) + self._loud(scenario) * noise)
        return self._beyond(values) if wrong and isinstance(self.claim, Bound) else values

    def _loud(self, scenario: str) -> float:
        """How much noisier than recorded a scenario is."""
        if scenario != "noise":
            return 1.0
        return LOUD if len(np.unique(self.seeds)) > 1 else LOUD_ASSUMED

    def _exact(self, wrong: float) -> np.ndarray:
        claim = self.claim
        if isinstance(claim, OptimumClaim | TransferCost):
            return self._bowls(wrong)
        if isinstance(claim, Slope):
            return self._power(wrong)
        if isinstance(claim, Bound):
            return self.recorded
        if isinstance(claim, RankCorrelation):
            ratio = ratio_column(claim, self.table, claim.ratio)
            order = np.argsort(np.argsort(-ratio if wrong else ratio))
            return np.asarray(np.sort(self.recorded)[order])
        if isinstance(claim, NoGain):
            return self._about_no_gain(wrong)
        if isinstance(claim, Flatter):
            means = self._means(self.table)
            return exchanged(claim, self.table, means) if wrong else means.to_numpy(float)
        if isinstance(claim, LevelSet):
            return planes(claim, self.table, self._means(self.table), wrong)
        return self._in_order(turned=bool(wrong))

    def _beyond(self, values: np.ndarray) -> np.ndarray:
        """As far beyond the bound as values are within."""
        claim = self.claim
        assert isinstance(claim, Bound)
        bound = float((claim.at_most if claim.at_least is None else claim.at_least) or 0)
        # no logarithm of a bound at zero
        scale = Scale(
            self.scale.logarithmic and (bound > 0 or self.scale.top is not None), self.scale.top
        )
        limit = scale.to(np.array(bound))
        if not claim.over:
            return scale.back(2 * limit - scale.to(values))
        found = self.table.assign(value=scale.to(self.recorded))
        means = found.groupby([*claim.by, *claim.over])["value"].transform("mean")
        best = means.groupby(self.groups).transform("min").to_numpy(float)
        # where everything diverged the best is infinitely far above
        moved = np.where(np.isfinite(best), scale.to(values) + 2 * (limit - best), limit - LARGEST)
        return scale.back(moved)

    def _bowls(self, wrong: float) -> np.ndarray:
        """The smallest size's values, whose optimum moves along the size."""
        claim = self.claim
        assert isinstance(claim, OptimumClaim | TransferCost)
        size = self.table[claim.along].to_numpy(float)
        doublings = np.log2(size / size.min())
        if not doublings.max():
            raise UndecidedError(f"there is one {words(claim.along)}")
        octaves = wrong * doublings
        if isinstance(claim, OptimumMoves):
            # the threshold is a quarter of an exponent from the truth
            direction = 1 if claim.direction == "up" else -1
            octaves = (
                direction * (claim.min_shift / doublings.max() + QUARTER - abs(wrong)) * doublings
            )
        over = [claim.over] if isinstance(claim, OptimumClaim) else list(claim.over)
        columns = _columns(claim)[1]
        first = self.table[size == size.min()].groupby(columns)["value"].mean().sort_index()
        levels = _levels(first)
        axes = [np.log2(level) for level in levels]
        if len(columns) > 1:
            first = first.reindex(pd.MultiIndex.from_product(levels, names=columns))
        bowl = self.scale.to(first.to_numpy(float)).reshape([len(axis) for axis in axes])
        top = bowl[np.isfinite(bowl)].max()
        # beyond the edge of stability, as what was not run; the edge moves with the bowl
        bowl = np.where(np.isfinite(bowl), bowl, top + 2 * CLIFF)
        moved = RegularGridInterpolator(axes, bowl, bounds_error=False, fill_value=None)
        at = [
            np.log2(self.table[c].to_numpy(float)) - (octaves if c in over else 0.0)
            for c in columns
        ]
        values = moved(np.stack(at, axis=-1))
        return self.scale.back(np.where(values > top + CLIFF, np.inf, values))

    def _power(self, wrong: float) -> np.ndarray:
        """A power of the size, from the smallest size's values on."""
        claim = self.claim
        assert isinstance(claim, Slope)
        exponents = {
            group: _exponent(kept, wrong) for group, kept in bounds(claim, self.own_cells).items()
        }
        columns = [column for column in claim.each if column in self.own_cells]
        keys = self.table[columns].itertuples(index=False, name=None)
        exponent = np.array([exponents[key] for key in keys])
        size = self.table[claim.along].to_numpy(float)
        by_group = pd.DataFrame({"group": self.groups, "size": size, "value": self.recorded})
        smallest = by_group.loc[by_group.groupby("group")["size"].transform("min") == size]
        level = smallest.groupby("group")["value"].mean().to_numpy()[self.groups]
        start = smallest.groupby("group")["size"].first().to_numpy()[self.groups]
        return np.asarray(level * (size / start) ** exponent)

    def _in_order(self, *, turned: bool) -> np.ndarray:
        """As recorded, or the sizes' values in the opposite order."""
        best = self._best(self.table, self.recorded)
        sizes = sorted(best)
        other = dict(zip(sizes, (best[size] for size in reversed(sizes)), strict=True))
        return self._scaled(best, other if turned else best)

    def _about_no_gain(self, wrong: float) -> np.ndarray:
        """As far on the right, or the wrong, side of the bound as the recorded ratio of best values is from it."""
        claim = self.claim
        assert isinstance(claim, NoGain)
        best = self._best(self.table, self.recorded)
        first, last = min(best), max(best)
        away = abs(np.log(best[last] / best[first] / claim.bound))
        ratio = claim.bound * np.exp(-away if wrong else away)
        return self._scaled(best, best | {last: best[first] * ratio})

    def _arm(self, steps: int) -> np.ndarray:
        """As recorded (0 steps), at the reference's level (1), or beyond it by as much (2).

        The level is that of the same gap as by the reference quantity, if the gap is compared with one. Sizes that the
        reference lacks stay as recorded: judged are the ends, which both have.
        """
        assert isinstance(self.claim, Gap)
        assert self.reference is not None
        best = self._best(self.table, self.recorded)
        other = self._best_of(self.reference, self.quantity)
        if self.claim.reference_quantity is not None:
            ours, theirs = (
                self._best_of(results, self.claim.reference_quantity)
                for results in (self.results, self.reference)
            )
            other = {s: other[s] * ours[s] / theirs[s] for s in other if s in ours}
        moved = {s: best[s] * (other.get(s, best[s]) / best[s]) ** steps for s in best}
        return self._scaled(best, moved)

    def _best_of(self, results: Results, quantity: Quantity) -> dict[float, float]:
        table = results.quantity(quantity)
        return self._best(table, table["value"].to_numpy(float))

    def _best(self, table: pd.DataFrame, values: np.ndarray) -> dict[float, float]:
        """The best mean over seeds at each size."""
        claim = self.claim
        assert isinstance(claim, ImprovesWith | Gap | NoGain)
        means = self._means(table.assign(value=values))
        return dict(means.groupby(table[claim.along]).min())

    def _means(self, table: pd.DataFrame) -> pd.Series:
        """For each row the mean over seeds at its settings; none where one of them diverged, as the judge has it."""
        groups, points = _columns(self.claim)
        finite = table.assign(value=table["value"].where(np.isfinite(table["value"])))
        settings = finite.groupby([*groups, *points])["value"]
        return settings.transform("mean").where(
            settings.transform("count") == settings.transform("size")
        )

    def _scaled(self, best: Mapping[float, float], other: Mapping[float, float]) -> np.ndarray:
        """The recorded means, with other best values at each size."""
        claim = self.claim
        assert isinstance(claim, ImprovesWith | Gap | NoGain)
        means = self._means(self.table)
        factors = [other[size] / best[size] for size in self.table[claim.along]]
        return np.asarray(means.to_numpy(float) * np.array(factors))

    def _about_the_limit(self, wrong: float, generator: np.random.Generator) -> np.ndarray:
        """Errors that fall as a power of the size that is wrong, as large as recorded at one end.

        Of a claim without an exponent, errors in common that are as far beyond the tolerance as recorded ones are
        within.
        """
        claim = self.claim
        assert isinstance(claim, AgreesWith)
        assert self.errors is not None
        rows = self.errors[self.errors["step"] == (self.quantity.step or 0)]
        key = [claim.along, *claim.by, "seed"]
        limit = (
            self.table[key]
            .merge(rows[[*key, "limit"]], on=key, how="left")["limit"]
            .to_numpy(float)
        )
        theory = 1.0 if (claim.slope_at_most or -0.5) < -0.75 else 0.5
        missed = 0.0
        if wrong and claim.slope_at_most is None:
            largest = rows[rows[claim.along] == rows[claim.along].max()]
            found = largest.groupby([*claim.by])["value"].mean() if claim.by else largest["value"]
            missed = claim.tolerance**2 / max(np.abs(found).max(), TINY)
            wrong = 0.0
        size = self.table[claim.along].to_numpy(float)
        sizes = rows[claim.along].to_numpy(float)
        end = sizes.min() if wrong else sizes.max()
        level = np.sqrt((rows["value"].to_numpy(float)[sizes == end] ** 2).mean())
        error = level * self._falls(end / size, end, theory - wrong)
        sign = generator.standard_normal(len(limit)) if len(np.unique(self.seeds)) > 1 else 1.0
        return np.asarray(limit * (1 + missed + error * sign))

    def _falls(self, shrunk: np.ndarray, end: float, power: float) -> np.ndarray:
        """A power of the size, 1 at `end`, up to what it is for a reference that is but larger."""
        claim = self.claim
        assert isinstance(claim, AgreesWith)
        assert self.reference is not None
        cells = self.reference.cells
        known = cells[claim.along].dropna().unique() if claim.along in cells else np.array([])
        left = (end / float(known[0])) ** power if len(known) == 1 and known[0] > end else 0.0
        return np.asarray((shrunk**power - left) / (1 - left))


def _exponent(kept: Bounds, wrong: float) -> float:
    """A slope between two bounds, or a quarter from the only one, that is wrong by some number."""
    if math.isinf(kept.low):
        return kept.high - QUARTER + abs(wrong)
    if math.isinf(kept.high):
        return kept.low + QUARTER - abs(wrong)
    return (kept.low + kept.high) / 2 + wrong


def _has_exponent(claim: Claim) -> bool:
    if isinstance(claim, AgreesWith):
        return claim.slope_at_most is not None
    return isinstance(claim, OptimumClaim | TransferCost | Slope | LevelSet)


def _levels(values: pd.Series) -> list[np.ndarray]:
    """The distinct settings of each column of an index."""
    return [np.unique(values.index.get_level_values(k)) for k in range(values.index.nlevels)]


def _columns(claim: Claim) -> tuple[list[str], list[str]]:
    """What groups of points share a seed's luck by, and what tells the points of a group apart."""
    if isinstance(claim, OptimumClaim):
        return [claim.along], [claim.over, *claim.profile]
    if isinstance(claim, TransferCost | ImprovesWith | Gap | NoGain):
        return [claim.along], list(claim.over)
    if isinstance(claim, Slope):
        return list(claim.each), [claim.along]
    if isinstance(claim, Flatter | SlopeDifference | LevelSet):
        groups = list(claim.groups)
        return groups, [column for column in claim.columns if column not in groups]
    if isinstance(claim, AgreesWith):
        return [claim.along], list(claim.by)
    if isinstance(claim, Bound) and claim.over:
        return list(claim.by), list(claim.over)
    return [], list(claim.by)
