"""A claim of each kind, as the configuration has it, and where optima may lie."""

import numpy as np
from scipy.stats import t

STAYS = {
    "kind": "optimum_stays",
    "along": "width",
    "over": "learning_rate",
    "max_shift": 1,
    "control": ["control"],
}
MOVES = {
    "kind": "optimum_moves",
    "along": "width",
    "over": "learning_rate",
    "direction": "down",
    "min_shift": 2,
    "control": ["control"],
}
COST = {
    "kind": "transfer_cost",
    "along": "width",
    "over": ["learning_rate", "activity_learning_rate"],
    "tolerance": 0.1,
    "control": ["control"],
}
IMPROVES = {"kind": "improves_with", "along": "width", "over": ["learning_rate"], "tolerance": 0.02}
BOUND = {
    "kind": "bound",
    "where": {"ratio": ["width", "depth"], "at_least": 16},
    "at": "all",
    "at_least": 0.99,
}
RANK = {"kind": "rank_correlation", "ratio": ["width", "depth"], "above": 0.9}
SLOPE = {
    "kind": "slope",
    "along": "width",
    "each": ["depth"],
    "expected": -1,
    "tolerance": 0.1,
    "control": ["control"],
}
AGREES = {
    "kind": "agrees_with",
    "grids": ["main"],
    "reference": ["limit"],
    "along": "width",
    "by": ["depth"],
    "at": "all",
    "tolerance": 0.05,
    "slope_at_most": -0.4,
    "control": ["control"],
}
GAP = {
    "kind": "gap",
    "grids": ["main"],
    "reference": ["control"],
    "along": "width",
    "over": ["learning_rate"],
}
NO_GAIN = {
    "kind": "no_gain",
    "along": "width",
    "over": ["learning_rate"],
    "tolerance": 0.05,
    "control": ["control"],
}
FLATTER = {
    "kind": "flatter",
    "over": "activity_learning_rate",
    "than": "learning_rate",
    "each": ["width"],
}
DIFFERENCE = {
    "kind": "slope_difference",
    "along": "width",
    "growing_along": "depth",
    "at_least": 0.5,
}
LEVEL_SET = {
    "kind": "level_set",
    "over": ["learning_rate", "activity_learning_rate"],
    "level": 2.0,
    "each": ["width"],
    "at_most": -1.5,
    "control": ["control"],
}
EVERY = {
    claim["kind"]: claim
    for claim in (
        *(STAYS, MOVES, COST, IMPROVES, BOUND, RANK, SLOPE, AGREES, GAP),
        *(NO_GAIN, FLATTER, DIFFERENCE, LEVEL_SET),
    )
}
PAIRED = {
    "kind": "slope_difference",
    "along": "width",
    "each": ["depth"],
    "reference": ["control"],
    "at_most": -0.02,
    "control": ["third"],
}


def assumed(*weights):
    """The 97.5 % quantile of a weighted sum of what is assumed of single seeds: 0.1, with two degrees of freedom."""
    drawn = t.rvs(2, size=(len(weights), 200_000), random_state=0)
    return float(np.quantile(0.1 * np.array(weights) @ drawn, 0.975))


def still(width):
    return -4.0


def moving(width):
    """Off by 1/2 in the exponent."""
    return -3.0 - 0.5 * np.log2(width / 32)


def far(width):
    return -3.0 - np.log2(width / 32)


def an_octave(width):
    """One octave down from 32 to 256."""
    return -3.0 - np.log2(width / 32) / 3


def _two_octaves(width):
    return -3.0 - 2.1 * np.log2(width / 32) / 3


def _limit(map_rows):
    return map_rows(lambda n, d, s: 1.0, grid="limit", widths=(1,), seeds=1)


def _arms(bowl_rows, ratio, noise):
    own = bowl_rows(still, level=lambda n: ratio, noise=noise)
    return own + bowl_rows(still, grid="control", level=lambda n: 1.0, noise=noise)


def plane_rows(bowl_rows, value, **options):
    """`value(width, log2 of the rate, log2 of the other rate)`, noisy per seed."""
    options = {"other_rates": [2.0**k for k in range(-8, 1)], "widths": (32, 256)} | options
    rows = bowl_rows(still, depth_of_bowl=0, level=lambda n: 1.0, **options)
    rates = ("learning_rate", "activity_learning_rate")
    return [
        row | {"value": row["value"] * value(row["width"], *(np.log2(row[r]) for r in rates))}
        for row in rows
    ]


def bowls(flatness):
    """A bowl in each rate, flatter in the other one by this factor."""
    return lambda n, x, y: (1 + 0.1 * (x + 4) ** 2) * (1 + 0.1 / flatness * (y + 4) ** 2)


def straight(slope, steepness=0.2):
    """Values that are 2 on a straight line with this slope, through the middle of the rates."""
    return lambda n, x, y: 2 * 2.0 ** (-steepness * ((y + 4) - slope * (x + 4)))


FAILS = {
    "optimum_stays": lambda bowls, maps: bowls(far),
    "optimum_moves": lambda bowls, maps: bowls(an_octave),
    "transfer_cost": lambda bowls, maps: bowls(moving),
    "improves_with": lambda bowls, maps: bowls(still, level=lambda n: 1.0),
    "bound": lambda bowls, maps: maps(lambda n, d, s: 0.98 + 0.001 * s),
    "rank_correlation": lambda bowls, maps: maps(lambda n, d, s: n * (1 + 0.01 * s)),
    "slope": lambda bowls, maps: maps(lambda n, d, s: n**-0.8 * (1 + 0.01 * s)),
    "agrees_with": lambda bowls, maps: (
        maps(lambda n, d, s: 1 + 1.2 * n**-0.5 * (1 + 0.1 * s)) + _limit(maps)
    ),
    "gap": lambda bowls, maps: _arms(bowls, 1.0, noise=1e-3),
    "no_gain": lambda bowls, maps: bowls(still),
    "flatter": lambda rows, maps: plane_rows(rows, bowls(1.5)),
    "slope_difference": lambda bowls, maps: maps(lambda n, d, s: n**-0.8 * (1 + 0.01 * s)),
    "level_set": lambda bowls, maps: plane_rows(bowls, straight(-1.0)),
}
"""Records of each kind on which the example must fail."""

ACROSS = {
    "optimum_stays": lambda bowls, maps: bowls(
        still, depth_of_bowl=0.05, noise=0.1, widths=(32, 256)
    ),
    "optimum_moves": lambda bowls, maps: bowls(_two_octaves, noise=0.03),
    "transfer_cost": lambda bowls, maps: bowls(lambda n: -4.0 - 0.64 * (n > 32)),
    "improves_with": lambda bowls, maps: bowls(
        still, level=lambda n: 1 - 0.13 * (n > 32), noise=0.05, widths=(32, 256)
    ),
    "bound": lambda bowls, maps: maps(lambda n, d, s: 0.99 + 0.001 * (s - 0.9)),
    "rank_correlation": lambda bowls, maps: maps(
        lambda n, d, s: (n / d) ** 0.3 * (1 + 0.4 * (-1) ** (n.bit_length() + d + s))
    ),
    "slope": lambda bowls, maps: maps(
        lambda n, d, s: n**-0.91 * (1 + 0.1 * (-1) ** (n.bit_length() + s))
    ),
    "agrees_with": lambda bowls, maps: (
        maps(lambda n, d, s: 1 + 0.79 * n**-0.5 * (1 + 0.1 * (s - 1))) + _limit(maps)
    ),
    "gap": lambda bowls, maps: _arms(bowls, 0.96, noise=0.05),
    "no_gain": lambda bowls, maps: bowls(still, level=lambda n: 1 - 0.03 * (n > 32), noise=0.05),
    "flatter": lambda rows, maps: plane_rows(rows, bowls(4.5), noise=0.15),
    "slope_difference": lambda bowls, maps: maps(
        lambda n, d, s: n ** (-1 + (0.6 + 0.1 * (s - 1)) * (d == 8))
    ),
    "level_set": lambda bowls, maps: plane_rows(bowls, straight(-1.55), noise=0.3),
}
"""Records of each kind whose spread reaches across what the example claims."""
