"""Level sets of a quantity over two hyperparameters, as judged by claims and drawn on maps."""

from dataclasses import dataclass

import numpy as np

MIN_CROSSINGS = 3
"""Smallest number of crossings for which a slope is fitted."""


@dataclass(frozen=True)
class LevelSetFit:
    """Straight lines fitted to level sets in log x and log y, one for each of R surfaces.

    `slopes` [R] are d log y / d log x, NaN if there are fewer than `MIN_CROSSINGS` crossings; `counts` [R] are the
    numbers of crossings; `ends` [2, 2, R] are the x and y (second axis) of both ends of the fitted part.
    """

    slopes: np.ndarray
    counts: np.ndarray
    ends: np.ndarray


def fit_level_set(x: np.ndarray, y: np.ndarray, values: np.ndarray, level: float) -> LevelSetFit:
    """Fit a line to the level set on the side of small x and y, by total least squares.

    Along every row (x at fixed y) and every column (y at fixed x), from the smallest value on, the first crossing at
    which `values` fall below the level is used, interpolated in the logarithms of all three. Infinite values count as
    above the level, but crossings next to infinite values or NaN are ignored. The fit is symmetric in x and y: it is
    the principal axis of the crossings.

    Args:
        x: positive, increasing [X].
        y: positive, increasing [Y].
        values: positive [Y, X, R].
        level: positive.

    Returns:
        The fit to each of the R surfaces.
    """
    log_x, log_y = np.log(x), np.log(y)
    # NaN also counts as above the level; a crossing next to it is NaN
    heights = np.log(values) - np.log(level)
    along_rows = _first_crossings(log_x, heights.swapaxes(0, 1))
    along_columns = _first_crossings(log_y, heights)
    rows, columns = (np.isfinite(crossings) for crossings in (along_rows, along_columns))
    at_x = np.concatenate([along_rows, np.where(columns, log_x[:, None], np.nan)])
    at_y = np.concatenate([np.where(rows, log_y[:, None], np.nan), along_columns])
    counts = np.isfinite(at_x).sum(axis=0)
    few = counts < MIN_CROSSINGS
    defined = np.isfinite(at_x)
    mean_x, mean_y = (
        np.where(defined, at, 0).sum(axis=0) / np.maximum(counts, 1) for at in (at_x, at_y)
    )
    dx, dy = (np.where(defined, at - mean, 0) for at, mean in ((at_x, mean_x), (at_y, mean_y)))
    angle = 0.5 * np.arctan2(2 * (dx * dy).sum(axis=0), (dx**2 - dy**2).sum(axis=0))
    direction = np.stack([np.cos(angle), np.sin(angle)])
    coordinates = dx * direction[0] + dy * direction[1]
    extent = np.stack([coordinates.min(axis=0), coordinates.max(axis=0)])
    ends = np.exp(np.stack([mean_x, mean_y]) + extent[:, None] * direction)
    return LevelSetFit(np.where(few, np.nan, np.tan(angle)), counts, np.where(few, np.nan, ends))


def _first_crossings(positions: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """Return the positions [N, R] of the first fall of heights [K, N, R] below 0 along positions [K]; NaN if none."""
    below = heights <= 0
    first = below.argmax(axis=0)
    # heights that start below have no crossing in the grid
    crosses = below.any(axis=0) & (first > 0)
    before = np.maximum(first - 1, 0)
    low, high = (np.take_along_axis(heights, k[None], axis=0)[0] for k in (first, before))
    crosses &= np.isfinite(high)
    low, high = np.where(crosses, low, -1.0), np.where(crosses, high, 0.0)
    fraction = high / (high - low)
    crossings = positions[before] + fraction * (positions[first] - positions[before])
    return np.where(crosses, crossings, np.nan)
