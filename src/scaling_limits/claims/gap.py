"""Claim that the best value over the hyperparameters is lower than that in other grids by a margin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from scaling_limits.claims.base import MARGIN, BestClaim, ClaimBase, Names, Some
from scaling_limits.claims.checks import Problem, numbers, size_problems, values_of
from scaling_limits.claims.intervals import best_ratio_interval, decide
from scaling_limits.claims.measurement import Measurement, UndecidedError, prose, setting
from scaling_limits.claims.optima import open_edge
from scaling_limits.claims.points import (
    Points,
    by_size,
    name_of,
    new_generator,
    no_value,
    ratio_of,
    require_positive,
    table_of,
)
from scaling_limits.claims.simulation import BestSimulation, Recorded, Simulation
from scaling_limits.figures.needs import Grids
from scaling_limits.figures.quantities import Quantity
from scaling_limits.outcomes import number, with_interval

if TYPE_CHECKING:
    from scaling_limits.records import Results


class Claim(BestClaim):
    """The best value over the hyperparameters `over` at the largest size is lower than in the grids `reference`.

    The difference is at least the fraction `margin`. With a negative margin the best value is no higher than by this
    fraction, which also holds if nothing differs. If it `grows`, the ratio of the two best values must be lower by
    this fraction than at the smallest size. With `reference_quantity`, it must be lower by this fraction than the ratio
    for that quantity, such as the loss earlier in training. A side that nowhere learns anything (`Quantity.chance`) is
    compared with its best value, even at the edge of its grid.
    """

    kind: Literal["gap"]
    reference: Some
    margin: float = Field(default=MARGIN, gt=-1, lt=1)
    grows: bool = False
    reference_quantity: Quantity | None = None
    ratio_to = "reference"

    @property
    def compared(self) -> tuple[Names, ...]:
        """The reference."""
        return (self.reference,)

    @property
    def quantities(self) -> dict[str, Quantity]:
        """The quantity, and the quantity with whose gap its gap is compared."""
        other = self.reference_quantity
        return super().quantities | ({"reference_quantity": other} if other else {})

    @model_validator(mode="after")
    def _one_comparison(self) -> Self:
        if self.grows and self.reference_quantity is not None:
            raise ValueError("give grows or reference_quantity: the gap is compared with one other")
        return self

    def problems(self, grids: Grids) -> Iterator[Problem]:
        """Yield problems of the claim, including those of the sizes of both sets of grids."""
        yield from ClaimBase.problems(self, grids)
        problems_of_size = list(
            size_problems(self, "along", self.along, grids, least=2 if self.grows else 1)
        )
        yield from problems_of_size
        ours, theirs = (
            numbers(values_of(self, self.along, names, grids))
            for names in (self.grids, self.reference)
        )
        if not problems_of_size and ours and theirs and max(theirs) != max(ours):
            problem = (
                f"the largest {self.along} of {' and '.join(self.reference)} is {max(theirs):g}"
            )
            yield Problem(("along",), f"{problem}, not {max(ours):g}; take the same")

    def measure(self, results: Results, *compared: Results) -> Measurement:
        """Measure the ratio of the best value to the best value of the reference at the largest size.

        If the claim `grows`, this ratio is divided by the ratio at the smallest size; with `reference_quantity`, by the
        ratio for that quantity. The claim holds if the result is below 1 - `margin`, and fails otherwise; a tie within
        the margin is also a decision.

        Raises:
            UndecidedError: the optimum of the larger value may lie outside its grid, every cell of both sides diverged
                (or of one side, in the ratio by which the first is divided), the sizes differ, or there is a single
                size along which the gap should grow.
        """
        (reference,) = compared
        generator = new_generator()
        first = _arms(self, results, reference, self.quantity)
        ratios = [_ratio(self, first, max, generator)]
        if self.grows:
            ratios.append(_ratio(self, first, min, generator))
        elif self.reference_quantity is not None:
            second = _arms(self, results, reference, self.reference_quantity)
            ratios.append(_ratio(self, second, max, generator))
        value, sampled = ratios[0].value, ratios[0].sampled
        for other in ratios[1:]:
            if not 0 < other.value < np.inf:
                raise no_value(self, other.where)
            value, sampled = float(ratio_of(value, other.value)), ratio_of(sampled, other.sampled)
        interval = best_ratio_interval(value, sampled, self.over)
        below = 1 - self.margin
        what, ratio_name = "the ratio is", f"ratio of the {first.name}"
        if len(ratios) > 1:
            what, ratio_name = "the ratio changes by a factor of", f"change of the {ratio_name}"
        return Measurement(
            holds=decide(value, interval, 0.0, below),
            value=value,
            interval=interval,
            threshold=f"{ratio_name} below {setting(below)}",
            # a change of the ratio concerns two sizes, or two quantities
            place=f"at {ratios[0].where}" if len(ratios) == 1 else "",
            size=ratios[0].size if len(ratios) == 1 else None,
            detail=f"{'; '.join(ratio.text for ratio in ratios)}: {what} "
            f"{with_interval(value, interval)}; it should be below {setting(below)}",
        )

    def simulation(self, recorded: Recorded) -> Simulation:
        """Return the simulation of gaps on either side of the reference."""
        return _Simulation(self, recorded)


class _Arms(NamedTuple):
    """The points of the judged grids and of the reference by size, and their quantity."""

    ours: dict[float, Points]
    theirs: dict[float, Points]
    quantity: Quantity

    @property
    def name(self) -> str:
        """The name of the quantity."""
        return name_of(self.quantity)


class _Ratio(NamedTuple):
    """The ratio of the best value to the reference's, sampled ratios [R], and the size; in words: size and values."""

    value: float
    sampled: np.ndarray
    size: float
    where: str
    text: str


def _arms(claim: Claim, results: Results, reference: Results, quantity: Quantity) -> _Arms:
    columns = list(claim.over)
    ours, theirs = (
        by_size(
            table_of(
                claim,
                cells,
                [claim.along, *columns],
                quantity=quantity,
                may_diverge=cells is reference,
            ),
            claim.along,
            columns,
            least=2 if claim.grows else 1,
        )
        for cells in (results, reference)
    )
    return _Arms(ours, theirs, quantity)


def _ratio(
    claim: Claim,
    arms: _Arms,
    end: Callable[[Iterable[float]], float],
    generator: np.random.Generator,
) -> _Ratio:
    """Return the ratio of the best values of both arms at one size, as measured and sampled.

    Args:
        claim: the claim.
        arms: the points of both arms by size.
        end: chooses the size of each arm, `min` or `max`; both must be equal.
        generator: draws the samples.

    Raises:
        UndecidedError: the sizes differ, or there is no ratio (`_require_ratio`).
    """
    size, theirs_at = end(arms.ours), end(arms.theirs)
    where = f"{prose(claim.along)} {setting(size)}"
    if size != theirs_at:
        raise UndecidedError(
            f"{prose(claim.along)} differs: {setting(size)} and {setting(theirs_at)}"
        )
    ours, theirs = arms.ours[size], arms.theirs[size]
    _require_ratio(claim, arms.quantity, ours, theirs, where)
    best = [points.draws(generator).min(axis=0) for points in (ours, theirs)]
    text = (
        f"at {where} the best {arms.name} is {number(ours.means.min())}, and "
        f"{number(theirs.means.min())} in {' and '.join(claim.reference)}"
    )
    value = float(ratio_of(ours.means.min(), theirs.means.min()))
    return _Ratio(value, ratio_of(*best), size, where, text)


def _require_ratio(
    claim: Claim, quantity: Quantity, ours: Points, theirs: Points, where: str
) -> None:
    """Reject points that have no ratio at one size.

    The larger value must not lie at an open edge of its grid, beyond which it might be smaller still. A size that does
    not train (`Quantity.chance`) has no optimum, so its best value may lie anywhere, if it was also run at the
    hyperparameters at which the other side is best.

    Raises:
        UndecidedError: the ratio does not exist or may be wrong.
    """
    for points in (ours, theirs):
        require_positive(claim, points, f" at {where}")
    smallest = [points.means.min() for points in (ours, theirs)]
    if not np.isfinite(smallest).any():
        raise no_value(claim, where)
    smaller, larger = (ours, theirs) if smallest[0] <= smallest[1] else (theirs, ours)
    if not quantity.learned(float(larger.means.min())) and _covers(claim, larger, smaller):
        return
    reason = open_edge(larger, list(claim.over), tolerance=0.0)
    if reason is not None:
        raise UndecidedError(f"at {where}, for the larger one, {reason}", "optimum at the edge")


def _covers(claim: Claim, points: Points, other: Points) -> bool:
    """Return whether points lie around the hyperparameters of the smallest value of other points."""
    columns = list(claim.over)
    settings, best = points.settings[columns], other.settings[columns].iloc[other.best]
    return bool(((settings.min() <= best) & (best <= settings.max())).all())


class _Simulation(BestSimulation):
    """Best values as recorded, at the reference's level, or as far beyond it.

    With a negative margin, the level is 1 - margin times the reference's.
    """

    claim: Claim

    @property
    def constant_is_void(self) -> bool:
        """False with a negative margin: values at the reference's level satisfy the claim."""
        return self.claim.margin >= 0

    def exact(self, wrong: float) -> np.ndarray:
        """Return the recorded means, or means as far on the other side of the reference's level."""
        return self._moved(2 if wrong else 0)

    def constant(self) -> np.ndarray:
        """Return the recorded means at the reference's level, without a gap."""
        return self._moved(1)

    def _moved(self, steps: int) -> np.ndarray:
        """Return means [rows] as recorded (0 steps), at the reference's level (1), or as far beyond it (2).

        If the gap is compared with the gap for a reference quantity, the level is that with the same gap. Sizes that
        the reference lacks are unchanged: only the ends, which both have, are judged.
        """
        assert self.reference is not None
        best = self.best(self.table, self.recorded)
        other = self._best_of(self.reference, self.quantity)
        if self.claim.reference_quantity is not None:
            ours, theirs = (
                self._best_of(results, self.claim.reference_quantity)
                for results in (self.results, self.reference)
            )
            other = {s: other[s] * ours[s] / theirs[s] for s in other if s in ours}
        allowed = 1 - min(self.claim.margin, 0.0)
        other = {s: allowed * value for s, value in other.items()}
        moved = {s: best[s] * (other.get(s, best[s]) / best[s]) ** steps for s in best}
        return self.scaled(best, moved)

    def _best_of(self, results: Results, quantity: Quantity) -> dict[float, float]:
        table = results.quantity(quantity)
        return self.best(table, table["value"].to_numpy(float))
