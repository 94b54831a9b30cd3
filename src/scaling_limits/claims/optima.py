"""Optima: the best value of a hyperparameter, or the largest nearly optimal value, with its uncertainty.

An optimum lies between the points of a grid, at the vertex of the parabola through the best point and its neighbours in
the logarithms of both axes. Next to divergence it may lie anywhere within half a grid step of the best point, and at
the edge of its grid anywhere beyond. Samples of an optimum include this uncertainty and the spread over seeds.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from scaling_limits.claims.base import Names, SizeClaim, Some
from scaling_limits.claims.intervals import Bounds, interval_of
from scaling_limits.claims.measurement import (
    Evidence,
    Interval,
    OptimumRow,
    UndecidedError,
    prose,
    setting,
)
from scaling_limits.claims.points import (
    Points,
    by_size,
    new_generator,
    no_value,
    quantity_name,
    table_of,
)
from scaling_limits.claims.simulation import NoisySimulation, Recorded, Simulation
from scaling_limits.outcomes import with_interval

if TYPE_CHECKING:
    from scaling_limits.records import Results

OCTAVE = 1.0 - 1e-6
"""Distance in octaves that counts as one octave, allowing for rounding."""
CLIFF = 1.5
"""Distance above all converged values, in logarithms, beyond which a simulated value counts as diverged."""


class OptimumClaim(SizeClaim):
    """A claim about the best value of a hyperparameter along a size.

    `over` is the hyperparameter; at each of its values, the best value over the columns `profile` counts. An optimum
    that is not interior to its grid still lies within bounds, which may decide the claim. With `within`, the claim is
    about the largest value of the hyperparameter at which a positive quantity is at most 1 + `within` times the best:
    the end of a flat bowl, that is, the largest stable learning rate. Sizes that do not train are left out
    (`Quantity.chance`).
    """

    over: str
    profile: Names = ()
    within: float | None = Field(default=None, gt=0)
    control: Some

    @property
    def columns(self) -> Names:
        """The size, the hyperparameter, and the columns over which the best value counts."""
        return (self.along, self.over, *self.profile)

    @property
    def competing(self) -> bool:
        """True: values of the hyperparameter compete."""
        return True

    @property
    def shown(self) -> Literal["optima"]:
        """Optima."""
        return "optima"

    @abstractmethod
    def claimed_shifts(self, doublings: float) -> Bounds:
        """Return the shifts in octaves for which the claim is true.

        Args:
            doublings: the number of doublings from the smallest size to the largest.
        """

    def evidence(self, results: Results, *_: Results) -> list[OptimumRow]:
        """Return the optimum at each size that trains.

        Raises:
            UndecidedError: see `optima_of`.
        """
        return [
            OptimumRow(
                float(size),
                *(2.0**end if math.isfinite(end) else None for end in (o.at, *o.interval)),
            )
            for size, o in optima_of(self, results).items()
        ]

    def claimed(self, evidence: Evidence) -> Bounds | None:
        """Return the claimed shifts from the first optimum in octaves; None for fewer than two sizes."""
        sizes = [row.size for row in evidence if isinstance(row, OptimumRow)]
        return self.claimed_shifts(math.log2(sizes[-1] / sizes[0])) if len(sizes) > 1 else None

    def simulation(self, recorded: Recorded) -> Simulation:
        """Return the simulation of an optimum that does not move."""
        return OptimumSimulation(self, recorded)


_WIDER = 3.0
"""Ratio of the intervals of two optima from which the wider one alone makes their shift uncertain."""


@dataclass(frozen=True)
class Optimum:
    """The best, or largest nearly optimal, value of a hyperparameter at one size, in octaves (log2).

    `sampled` [2, R] are lower and upper bounds of plausible locations, which are equal except at the edges of the grid.
    `reason` states why the optimum does not lie between points, or is None.
    """

    at: float
    sampled: np.ndarray
    reason: str | None

    @property
    def interval(self) -> Interval:
        """The 95 % confidence interval; an end is infinite if the optimum may lie anywhere beyond the grid."""
        return interval_of(*self.sampled) or (self.at, self.at)


@dataclass(frozen=True)
class Shift:
    """The shift of an optimum between two sizes in octaves, with its confidence interval.

    `detail` describes the shift, `place` names its sizes, `uncertain` the one from which most of the interval comes, if
    it is one, and `reason` states why an end of the interval is open.
    """

    sizes: tuple[float, float]
    value: float
    interval: Interval
    detail: str
    place: str
    uncertain: str
    reason: str | None

    @property
    def doublings(self) -> float:
        """The number of doublings between the two sizes."""
        return float(np.log2(self.sizes[1] / self.sizes[0]))


def optima_of(claim: OptimumClaim, results: Results) -> dict[float, Optimum]:
    """Return the optimum at each size that trains, the smallest size first.

    Raises:
        UndecidedError: there are fewer than two sizes, every cell of some size diverged, or fewer than two sizes train.
    """
    columns = [claim.over, *claim.profile]
    sizes = by_size(table_of(claim, results, [claim.along, *columns]), claim.along, columns)
    generator = new_generator()
    optima: dict[float, Optimum] = {}
    for size, points in sizes.items():
        if not np.isfinite(points.means).any():
            raise no_value(claim, f"{prose(claim.along)} {setting(size)}")
        if claim.quantity.learned(float(np.nanmin(points.means))):
            optima[size] = _optimum(claim, points, generator)
    if len(optima) < min(2, len(sizes)):
        raise UndecidedError(f"fewer than two values of {prose(claim.along)} train", "sizes")
    return optima


def shifts_of(claim: OptimumClaim, results: Results) -> list[Shift]:
    """Return the shift of the optimum from the smallest size to each other size.

    Raises:
        UndecidedError: see `optima_of`.
    """
    optima = optima_of(claim, results)
    start, *later = optima
    return [_shift(claim, start, size, optima[start], optima[size]) for size in later]


def _shift(claim: OptimumClaim, start: float, end: float, first: Optimum, last: Optimum) -> Shift:
    """Return the shift of the optimum between two sizes.

    Args:
        claim: the claim.
        start: the size from which the shift is measured.
        end: the size to which it is measured.
        first: the optimum at `start`.
        last: the optimum at `end`.
    """
    value = last.at - first.at
    sampled = last.sampled[0] - first.sampled[1], last.sampled[1] - first.sampled[0]
    interval = interval_of(*sampled) or (value, value)
    reasons = [
        f"at {prose(claim.along)} {setting(size)}, {optimum.reason}"
        for size, optimum in ((start, first), (end, last))
        if optimum.reason
    ]
    place = f"from {prose(claim.along)} {setting(start)} to {setting(end)}"
    detail = f"{_optimum_name(claim)} moves by {with_interval(value, interval)} octaves {place}"
    widths = [optimum.interval[1] - optimum.interval[0] for optimum in (first, last)]
    wider = setting((start, end)[int(np.argmax(widths))])
    uncertain = f", uncertain at {wider}" if max(widths) > _WIDER * min(widths) else ""
    reason = reasons[0] if reasons else None
    return Shift((start, end), value, interval, detail, place, uncertain, reason)


def _optimum_name(claim: OptimumClaim) -> str:
    name = prose(claim.over)
    if claim.within is None:
        return f"the best {name}"
    return f"the largest {name} within a factor {setting(1 + claim.within)} of the best"


def _optimum(claim: OptimumClaim, points: Points, generator: np.random.Generator) -> Optimum:
    rates = np.unique(points.settings[claim.over].to_numpy(float))
    octaves = np.log2(rates)
    scale = points.spread.scale
    # without a largest value, as for losses, the quantity may span orders of magnitude
    logarithms = scale.logarithmic and scale.top is None
    if claim.within is not None and not logarithms:
        raise UndecidedError(
            f"{quantity_name(claim)} is not positive, so that ratios are undefined"
        )

    def located(means: np.ndarray) -> np.ndarray:
        values = profile(points, claim.over, rates, np.log(means) if logarithms else means)
        if claim.within is None:
            return _vertex(octaves, values)
        return _upper_end(octaves, values, float(np.log1p(claim.within)))

    low, high = (float(end) for end in located(points.means[:, None])[:, 0])
    # with a single rate, both ends are open
    ends = [end for end in (low, high) if np.isfinite(end)] or [octaves[-1]]
    at = float(np.mean(ends))
    inside = bool(np.isfinite([low, high]).all())
    if claim.within is None and not inside:
        # the best value that is known is the last one of the grid
        at = float(octaves[0] if np.isfinite(high) else octaves[-1])
    reason = None
    if low < high:
        location = "next to diverged cells" if inside else "at the edge of the grid"
        reason = f"{_optimum_name(claim)}, {setting(float(f'{2**at:.3g}'))}, is {location}"
    sampled = located(points.draws(generator))
    anywhere = generator.uniform(*np.where(np.isfinite(sampled).all(axis=0), sampled, 0.0))
    return Optimum(at, np.where(np.isfinite(sampled).all(axis=0), anywhere, sampled), reason)


def profile(points: Points, over: str, rates: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return the profile of means over one hyperparameter.

    Args:
        points: the points of one size.
        over: the hyperparameter.
        rates: its values [K].
        means: the means of the points [P, R].

    Returns:
        The smallest mean [K, R] at each value of the hyperparameter.
    """
    axis = points.settings[over].to_numpy(float)
    return np.stack([means[axis == rate].min(axis=0) for rate in rates])


def _vertex(octaves: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return bounds [2, R] of the location of the smallest of the values [K, R].

    The bounds are equal, at a parabola's vertex, if both neighbours are finite. Otherwise they are the midpoints to the
    neighbours, and infinite on a side without a neighbour.
    """
    best = values.argmin(axis=0)
    x = np.concatenate([[-np.inf], octaves, [np.inf]])
    y = np.pad(values, ((1, 1), (0, 0)), constant_values=np.inf)
    columns = np.arange(values.shape[1])
    x0, x1, x2 = (x[best + k] for k in range(3))
    y0, y1, y2 = (y[best + k, columns] for k in range(3))
    with np.errstate(invalid="ignore", divide="ignore"):
        down, up = (y0 - y1) / (x1 - x0), (y2 - y1) / (x2 - x1)
        # mean of the two midpoints, weighted by the slopes on either side
        vertex = ((x0 + x1) * up + (x1 + x2) * down) / (2 * (up + down))
    flat = np.nan_to_num(down + up) == 0
    vertex = np.where(flat, x1, vertex)
    inside = np.isfinite(y0) & np.isfinite(y2)
    return np.where(inside, vertex, np.stack([(x0 + x1) / 2, (x1 + x2) / 2]))


def _upper_end(octaves: np.ndarray, values: np.ndarray, allowed: float) -> np.ndarray:
    """Return bounds [2, R] of the largest position at which values [K, R] exceed the smallest by at most `allowed`.

    Positions between two points are interpolated linearly. Next to a diverged point the upper bound is this point, and
    at the end of the grid it is infinite.
    """
    ends = []
    for column in values.T:
        best = int(np.argmin(column))
        good = np.append(column[best:] <= column[best] + allowed, False)
        last = best + int(np.argmin(good)) - 1
        # a bowl may start at the edge of the grid if it is flat there; if it still falls, its minimum lies beyond
        begins = best > 0 or bool((column[1:2] <= column[0] + allowed).any())
        below = octaves[last] if begins else -np.inf
        if last + 1 == len(octaves):
            ends.append((below, np.inf))
        elif np.isinf(column[last + 1]):
            ends.append((below, octaves[last + 1]))
        else:
            fraction = (column[best] + allowed - column[last]) / (column[last + 1] - column[last])
            end = octaves[last] + fraction * (octaves[last + 1] - octaves[last])
            ends.append((end if begins else -np.inf, end))
    return np.array(ends).T


def neighbours(rates: np.ndarray, best: int) -> Iterator[tuple[str, range, bool]]:
    """Yield each side of the best rate.

    Values that are not all positive, such as exponents, count as one octave apart if they are neighbours.

    Yields:
        The name of the side, the points up to one octave away, and whether they reach an octave.
    """
    octaves = np.log2(rates) if (rates > 0).all() else np.arange(len(rates), dtype=float)
    distance = np.abs(octaves - octaves[best])
    for side, step, end in (("lower", -1, -1), ("upper", 1, len(rates))):
        inside = range(best + step, end, step)
        far = [k for k in inside if distance[k] >= OCTAVE]
        near = range(best + step, far[0] + step, step) if far else inside
        yield side, near, bool(far)


def open_edge(points: Points, over: Sequence[str], tolerance: float) -> str | None:
    """Return the hyperparameter that is best at an edge where the quantity still falls, as a text, or None.

    The quantity still falls if the point one octave inside is worse by more than the factor 1 + `tolerance`. A flat
    direction may end anywhere, since a larger grid would change the value by less than the claim distinguishes.

    Args:
        points: the points of one size.
        over: the hyperparameters.
        tolerance: the relative difference below which values count as equal.
    """
    for column in over:
        rates = np.unique(points.settings[column].to_numpy(float))
        means = profile(points, column, rates, points.means[:, None])[:, 0]
        best = int(np.argmin(means))
        sides = list(neighbours(rates, best))
        inward = [near[-1] for _, near, far in sides if far]
        closed = all(far or not np.isfinite(means[list(near)]).all() for _, near, far in sides)
        if not closed and any(means[k] > (1 + tolerance) * means[best] for k in inward):
            return (
                f"the best {prose(column)}, {setting(rates[best])}, is at the edge of the grid, "
                "where the quantity still falls"
            )
    return None


class BowlSimulation(NoisySimulation):
    """The values of the smallest size at every size; if the exponent is wrong, their optimum moves along the size."""

    # the optimum is a power of the size
    has_exponent = True

    @property
    def moving(self) -> Names:
        """The hyperparameters whose optimum moves."""
        return self.claim.points

    def shift(self, wrong: float, doublings: np.ndarray) -> np.ndarray:
        """Return the shift of the optimum, in octaves, over a number of doublings of the size."""
        return wrong * doublings

    def exact(self, wrong: float) -> np.ndarray:
        """Return the values of the smallest size, interpolated and shifted."""
        from scipy.interpolate import RegularGridInterpolator

        (along,), columns = self.claim.groups, list(self.claim.points)
        size = self.table[along].to_numpy(float)
        doublings = np.log2(size / size.min())
        if not doublings.max():
            raise UndecidedError(f"there is one {prose(along)}", "sizes")
        shift = self.shift(wrong, doublings)
        levels, bowl = self._bowl(along, columns)
        axes = [np.log2(level) for level in levels]
        top = bowl[np.isfinite(bowl)].max()
        # diverged and missing points lie beyond the edge of stability, which moves with the bowl
        bowl = np.where(np.isfinite(bowl), bowl, top + 2 * CLIFF)
        moved = RegularGridInterpolator(axes, bowl, bounds_error=False, fill_value=None)
        at = [
            np.log2(self.table[column].to_numpy(float)) - (shift if column in self.moving else 0.0)
            for column in columns
        ]
        values = moved(np.stack(at, axis=-1))
        return self.scale.back(np.where(values > top + CLIFF, np.inf, values))

    def _bowl(self, along: str, columns: list[str]) -> tuple[list[np.ndarray], np.ndarray]:
        """Return the values of each hyperparameter, and the smallest size's means on their grid.

        The means are NaN at points that were not computed.
        """
        import pandas as pd

        smallest = self.table[self.table[along] == self.table[along].min()]
        first = smallest.groupby(columns)["value"].mean().sort_index()
        levels = [np.unique(first.index.get_level_values(k)) for k in range(first.index.nlevels)]
        if len(columns) > 1:
            first = first.reindex(pd.MultiIndex.from_product(levels, names=columns))
        values = self.scale.to(first.to_numpy(float))
        return levels, values.reshape([len(level) for level in levels])


class OptimumSimulation(BowlSimulation):
    """A bowl that moves along the hyperparameter whose optimum is judged."""

    claim: OptimumClaim

    @property
    def moving(self) -> Names:
        """The hyperparameter."""
        return (self.claim.over,)
