"""One module per kind of claim, each with `measure(claim, results) -> Measurement`.

`results` holds the cells of the grids to judge. A measurement raises `UndecidedError` where the
records decide nothing.
"""

from collections.abc import Callable

from scaling_limits.audit.kinds import (
    agrees_with,
    bound,
    flatter,
    gap,
    improves_with,
    level_set,
    no_gain,
    optimum_moves,
    optimum_stays,
    rank_correlation,
    slope,
    slope_difference,
    transfer_cost,
)
from scaling_limits.audit.verdicts import Measurement

KINDS: dict[str, Callable[..., Measurement]] = {
    "optimum_stays": optimum_stays.measure,
    "optimum_moves": optimum_moves.measure,
    "transfer_cost": transfer_cost.measure,
    "improves_with": improves_with.measure,
    "bound": bound.measure,
    "rank_correlation": rank_correlation.measure,
    "slope": slope.measure,
    "agrees_with": agrees_with.measure,
    "gap": gap.measure,
    "no_gain": no_gain.measure,
    "flatter": flatter.measure,
    "slope_difference": slope_difference.measure,
    "level_set": level_set.measure,
}
