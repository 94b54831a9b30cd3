"""A claim of each kind, as the configuration has it, and where optima may lie."""

import numpy as np

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
EVERY = {
    claim["kind"]: claim
    for claim in (STAYS, MOVES, COST, IMPROVES, BOUND, RANK, SLOPE, AGREES, GAP)
}


def still(width):
    return -4.0


def moving(width):
    """Off by 1/2 in the exponent."""
    return -3.0 - 0.5 * np.log2(width / 32)


def far(width):
    return -3.0 - np.log2(width / 32)
