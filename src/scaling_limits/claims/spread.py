"""Spread: how values scatter over seeds, and the means that they leave plausible.

Two or three seeds say little about the spread at one point, and many points together say a lot. The spread of a point
is therefore moderated by the typical spread at its size and the neighbouring sizes, which counts as `PRIOR_SEEDS`
further seeds (a moderated t statistic). If points compete for the best value, as learning rates do, the typical
spread is taken from points near the best: rates at which nothing is best often scatter less than the best one, which
may lie next to the edge of stability. Effects that all points of a size share, since a seed has one initialisation
and one order of samples, are separated from those of single points: they cancel where points of one size are compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

DRAWS = 1000
PRIOR_SEEDS = 3
"""How many further seeds the spread of other points counts as."""
NEAR_BEST = 1.5
"""Points within this factor of the best mean are near it."""
ROUNDING = 1e-15
LARGEST = 300.0
"""No logarithm that is drawn exceeds this, so that ratios are finite and have logarithms."""
ONE_SEED_OWN, ONE_SEED_SHARED = 0.1, 0.1
"""The relative spread that is assumed where there is one seed, so none is measured.

The upper quartile of what the papers' claims show at `laptop`, where the medians are a half of it.
"""
ONE_SEED_DEGREES = 2
"""Degrees of freedom of the assumed spread: it is trusted no more than one that three seeds show."""


@dataclass(frozen=True)
class Scale:
    """The scale on which values scatter alike: logarithms of positive ones, or of what they lack to `top`.

    Values of both signs are taken as they are.
    """

    logarithmic: bool
    top: float | None

    @classmethod
    def of(cls, groups: Sequence[np.ndarray], top: float | None) -> "Scale":
        """Return the scale of values; `top` is the largest possible one."""
        finite = np.concatenate([values[np.isfinite(values)] for values in groups])
        return cls(top is not None or bool(finite.size and finite.min() > 0), top)

    def to(self, values: np.ndarray) -> np.ndarray:
        """Transform values to this scale; infinite ones stay as they are."""
        if not self.logarithmic:
            return values
        finite = np.isfinite(values)
        some = np.where(finite, values, 1.0)
        # nearer to the top than this is rounding
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
    """Variances over seeds on a `scale`: `own` [P] of every point, `shared` by all.

    `degrees` of freedom are those of both; infinite where nothing is random.
    """

    own: np.ndarray
    shared: float
    degrees: float
    scale: Scale

    def draws(
        self, means: np.ndarray, num_seeds: int, generator: np.random.Generator
    ) -> np.ndarray:
        """Sample plausible means [P, DRAWS] about measured ones [P]; infinite ones stay so."""
        shared, own = (_student(generator, self.degrees, (size, DRAWS)) for size in (1, len(means)))
        noise = np.sqrt(self.shared) * shared + np.sqrt(self.own)[:, None] * own
        sampled = self.scale.back(self.scale.to(means)[:, None] + noise / np.sqrt(num_seeds))
        return np.where(np.isfinite(means)[:, None], sampled, means[:, None])


def spreads_of(
    groups: Sequence[np.ndarray], scale: Scale, *, exact: bool, competing: bool
) -> list[Spread]:
    """Return the spread of each group of points, moderated by the neighbouring groups.

    Args:
        groups: the values [P, S] of points at the same seeds, whose effects they share.
        scale: the scale on which values scatter.
        exact: whether nothing is random, so that there is no spread.
        competing: whether only the best point of a group counts, so that its spread is moderated by
            the spread of points near the best.
    """
    if exact:
        return [Spread(np.zeros(len(v)), 0.0, np.inf, scale) for v in groups]
    variances = [_variances(scale.to(values)) for values in groups]
    if not any(degrees for _, _, degrees in variances):
        finite = np.concatenate([values[np.isfinite(values)] for values in groups])
        unit = 1.0 if scale.logarithmic else float(np.abs(finite).max(initial=0.0))
        each, common = ((unit * share) ** 2 for share in (ONE_SEED_OWN, ONE_SEED_SHARED))
        return [Spread(np.full(len(v), each), common, ONE_SEED_DEGREES, scale) for v in groups]
    from scipy.special import gammaincinv

    def typical_of(values: np.ndarray, own: np.ndarray, degrees: int) -> float:
        if not degrees:
            return np.nan
        if competing:
            return float(own[_near_best(values)].mean())
        # a median of variances, as points near divergence scatter over orders of magnitude
        return float(np.nanmedian(own) * degrees / (2 * gammaincinv(degrees / 2, 0.5)))

    typical = np.array(
        [
            typical_of(values, own, degrees)
            for values, (own, _, degrees) in zip(groups, variances, strict=True)
        ]
    )
    in_common = np.array([shared if degrees else np.nan for _, shared, degrees in variances])
    spreads = []
    for k, (own, shared, degrees) in enumerate(variances):
        prior_own, prior_shared = (_nearby(values, k) for values in (typical, in_common))
        owns = _moderated(np.where(np.isfinite(own), own, prior_own), prior_own, degrees)
        shareds = _moderated(np.array(shared), prior_shared, degrees)
        spreads.append(Spread(owns, float(shareds), PRIOR_SEEDS + degrees, scale))
    return spreads


def _near_best(values: np.ndarray) -> np.ndarray:
    """Return which of some points [P, S] have a mean near the smallest; none that diverged."""
    means = values.mean(axis=1)
    best = means.min()
    return np.asarray(means <= best + (NEAR_BEST - 1) * abs(best))


def _nearby(values: np.ndarray, at: int) -> float:
    """Average a value with its neighbours, as the spread may follow the size; all values if these are missing."""
    near = values[max(at - 1, 0) : at + 2]
    return float(np.nanmean(near if np.isfinite(near).any() else values))


def _variances(values: np.ndarray) -> tuple[np.ndarray, float, int]:
    """Return variances over seeds of points [P, S], their own [P] and the shared one, and degrees of freedom.

    Not finite where a point diverged.
    """
    degrees = values.shape[1] - 1
    finite = np.isfinite(values).all(axis=1)
    if not degrees or not finite.any():
        return np.full(len(values), np.nan), 0.0, 0
    own = np.full(len(values), np.nan)
    left = values[finite] - values[finite].mean(axis=1, keepdims=True)
    shared = np.median(left, axis=0)
    # of few points, the median takes a part of what is their own
    part = 1 - 1 / max(len(left), 2)
    own[finite] = (left - shared).var(axis=1, ddof=1) / part
    return own, float(shared.var(ddof=1)), degrees


def _moderated(own: np.ndarray, prior: float, degrees: int) -> np.ndarray:
    return np.asarray((PRIOR_SEEDS * prior + degrees * own) / (PRIOR_SEEDS + degrees))


def _student(generator: np.random.Generator, degrees: float, shape: tuple[int, int]) -> np.ndarray:
    if np.isinf(degrees):
        return generator.standard_normal(shape)
    return generator.standard_t(degrees, shape)
