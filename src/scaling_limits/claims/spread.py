"""Spread of values over seeds, and the means that are plausible given the spread.

Two or three seeds give a poor estimate of the spread at one point, but many points together give a good one. The
variance of a point is therefore combined with the typical variance at its size and the neighbouring sizes, which counts
as `PRIOR_SEEDS` additional seeds (a moderated t statistic). If points compete for the best value, as learning rates do,
the typical variance is taken from points near the best: learning rates that are far from optimal often scatter less
than the optimum, which may lie close to the edge of stability. Effects that all points of a size share, because a seed
has one initialisation and one order of samples, are separated from the effects of single points. They cancel if points
of one size are compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

DRAWS = 10_000
PRIOR_SEEDS = 3
"""Number of additional seeds as which the typical variance of other points counts."""
NEAR_BEST = 1.5
"""Points within this factor of the best mean count as near it."""
ROUNDING = 1e-15
LARGEST = 300.0
"""Bound on the logarithms of sampled values, so that ratios are finite and have logarithms."""
ONE_SEED_INDEPENDENT, ONE_SEED_SHARED = 0.1, 0.1
"""Relative spread assumed for a single seed, at each point and in common.

It is the upper quartile of the spread that the papers' claims show at `laptop`; their median is half of it.
"""
ONE_SEED_DEGREES = 2
"""Degrees of freedom of the assumed spread, as many as three seeds give."""


@dataclass(frozen=True)
class Scale:
    """The scale on which the spread is uniform.

    It is log x for positive values, and −log(top − x) for values with a largest value `top`. Values of both signs are
    not transformed.
    """

    logarithmic: bool
    top: float | None

    @classmethod
    def of(cls, groups: Sequence[np.ndarray], top: float | None) -> "Scale":
        """Return the scale for values; `top` is their largest possible value."""
        finite = np.concatenate([values[np.isfinite(values)] for values in groups])
        return cls(top is not None or bool(finite.size and finite.min() > 0), top)

    def to(self, values: np.ndarray) -> np.ndarray:
        """Transform values to this scale; infinite values are unchanged."""
        if not self.logarithmic:
            return values
        finite = np.isfinite(values)
        some = np.where(finite, values, 1.0)
        # smaller distances from the top are rounding errors
        scaled = (
            np.log(some) if self.top is None else -np.log(np.maximum(self.top - some, ROUNDING))
        )
        return np.where(finite, scaled, values)

    def back(self, values: np.ndarray) -> np.ndarray:
        """Invert `to` for finite values."""
        if not self.logarithmic:
            return values
        values = np.clip(values, -LARGEST, LARGEST)
        return np.asarray(np.exp(values) if self.top is None else self.top - np.exp(-values))


@dataclass(frozen=True)
class Spread:
    """Variances over seeds on a `scale`: `independent` [P] of each point, and `shared` by all points.

    `degrees` are the degrees of freedom of both; infinite if nothing is random.
    """

    independent: np.ndarray
    shared: float
    degrees: float
    scale: Scale

    def draws(
        self, means: np.ndarray, num_seeds: int, generator: np.random.Generator
    ) -> np.ndarray:
        """Sample plausible means [P, DRAWS] around measured means [P]; infinite means are unchanged.

        Args:
            means: the measured means [P].
            num_seeds: the number of seeds in each mean.
            generator: the source of random numbers.
        """
        shared, independent = (
            _student(generator, self.degrees, (size, DRAWS)) for size in (1, len(means))
        )
        noise = np.sqrt(self.shared) * shared + np.sqrt(self.independent)[:, None] * independent
        sampled = self.scale.back(self.scale.to(means)[:, None] + noise / np.sqrt(num_seeds))
        return np.where(np.isfinite(means)[:, None], sampled, means[:, None])

    def ends(self, means: np.ndarray, num_seeds: int, tail: float) -> np.ndarray:
        """Return the ends [P, 2] of a confidence interval about each measured mean [P]; infinite means have none.

        Args:
            means: the measured means [P].
            num_seeds: the number of seeds in each mean.
            tail: the probability beyond each end.
        """
        from scipy.special import ndtri, stdtrit

        wide = -float(ndtri(tail) if np.isinf(self.degrees) else stdtrit(self.degrees, tail))
        half = wide * np.sqrt((self.independent + self.shared) / num_seeds)
        ends = self.scale.back(self.scale.to(means)[:, None] + half[:, None] * [-1.0, 1.0])
        return np.where(np.isfinite(means)[:, None], ends, means[:, None])


def spreads_of(
    groups: Sequence[np.ndarray], scale: Scale, *, exact: bool, competing: bool
) -> list[Spread]:
    """Return the spread of each group of points, moderated by the neighbouring groups.

    Args:
        groups: the values [P, S] of points at the same seeds, whose effects they share.
        scale: the scale on which the spread is uniform.
        exact: whether nothing is random, so that there is no spread.
        competing: whether only the best point of a group counts, so that the spread is moderated by the spread of
            points near the best.
    """
    if exact:
        return [Spread(np.zeros(len(v)), 0.0, np.inf, scale) for v in groups]
    variances = [_variances(scale.to(values)) for values in groups]
    if not any(degrees for _, _, degrees in variances):
        finite = np.concatenate([values[np.isfinite(values)] for values in groups])
        unit = 1.0 if scale.logarithmic else float(np.abs(finite).max(initial=0.0))
        each, common = (
            (unit * fraction) ** 2 for fraction in (ONE_SEED_INDEPENDENT, ONE_SEED_SHARED)
        )
        return [Spread(np.full(len(v), each), common, ONE_SEED_DEGREES, scale) for v in groups]
    from scipy.special import gammaincinv

    def typical_of(values: np.ndarray, independent: np.ndarray, degrees: int) -> float:
        if not degrees:
            return np.nan
        if competing:
            return float(independent[_near_best(values)].mean())
        # the median is robust to points near divergence, whose variances span orders of magnitude
        return float(np.nanmedian(independent) * degrees / (2 * gammaincinv(degrees / 2, 0.5)))

    typical = np.array(
        [
            typical_of(values, independent, degrees)
            for values, (independent, _, degrees) in zip(groups, variances, strict=True)
        ]
    )
    in_common = np.array([shared if degrees else np.nan for _, shared, degrees in variances])
    spreads = []
    for k, (independent, shared, degrees) in enumerate(variances):
        prior_independent, prior_shared = (_nearby(values, k) for values in (typical, in_common))
        moderated = _moderated(
            np.where(np.isfinite(independent), independent, prior_independent),
            prior_independent,
            degrees,
        )
        moderated_shared = _moderated(np.array(shared), prior_shared, degrees)
        spreads.append(Spread(moderated, float(moderated_shared), PRIOR_SEEDS + degrees, scale))
    return spreads


def _near_best(values: np.ndarray) -> np.ndarray:
    """Return which points [P, S] have a mean near the smallest; diverged points do not."""
    means = values.mean(axis=1)
    best = means.min()
    return np.asarray(means <= best + (NEAR_BEST - 1) * abs(best))


def _nearby(values: np.ndarray, at: int) -> float:
    """Return the mean of a value and its neighbours, or of all values if these are missing.

    Neighbouring sizes are used because the spread may depend on the size.
    """
    near = values[max(at - 1, 0) : at + 2]
    return float(np.nanmean(near if np.isfinite(near).any() else values))


def _variances(values: np.ndarray) -> tuple[np.ndarray, float, int]:
    """Return the variances over seeds of points [P, S].

    Returns:
        The variance of each point [P] (NaN if it diverged), the variance shared by all points, and the degrees of
        freedom.
    """
    degrees = values.shape[1] - 1
    finite = np.isfinite(values).all(axis=1)
    if not degrees or not finite.any():
        return np.full(len(values), np.nan), 0.0, 0
    independent = np.full(len(values), np.nan)
    deviations = values[finite] - values[finite].mean(axis=1, keepdims=True)
    shared = np.median(deviations, axis=0)
    # with few points, the median removes part of their individual variance
    part = 1 - 1 / max(len(deviations), 2)
    independent[finite] = (deviations - shared).var(axis=1, ddof=1) / part
    return independent, float(shared.var(ddof=1)), degrees


def _moderated(variances: np.ndarray, prior: float, degrees: int) -> np.ndarray:
    return np.asarray((PRIOR_SEEDS * prior + degrees * variances) / (PRIOR_SEEDS + degrees))


def _student(generator: np.random.Generator, degrees: float, shape: tuple[int, int]) -> np.ndarray:
    if np.isinf(degrees):
        return generator.standard_normal(shape)
    return generator.standard_t(degrees, shape)
