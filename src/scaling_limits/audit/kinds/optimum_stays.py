"""The best hyperparameter stays put along a size."""

import numpy as np

from scaling_limits.audit.claims import OptimumStays
from scaling_limits.audit.points import (
    by_size,
    generator_of,
    interval_of,
    table_of,
    unresolved,
)
from scaling_limits.audit.verdicts import (
    Measurement,
    UndecidedError,
    setting,
    with_interval,
    words,
)
from scaling_limits.records import Results


def measure(claim: OptimumStays, results: Results) -> Measurement:
    """The largest shift of the optimum, in octaves, from the smallest size to any other.

    Raises:
        UndecidedError: the optimum of some size is not interior or not resolved.
    """
    columns = [claim.over, *claim.profile]
    sizes = by_size(table_of(claim, results, [claim.along, *columns]), claim.along, columns)
    for size, points in sizes.items():
        reason = unresolved(points, claim.over)
        if reason is not None:
            raise UndecidedError(f"at {words(claim.along)} {setting(size)}, {reason}")

    def log_best(rows: np.ndarray, size: float) -> np.ndarray:
        return np.asarray(np.log2(sizes[size].settings[claim.over].to_numpy(float)[rows]))

    generator = generator_of(claim)
    samples = {
        size: log_best(points.resampled_means(generator).argmin(axis=0), size)
        for size, points in sizes.items()
    }
    optimum = {size: float(log_best(np.array(p.best), size)) for size, p in sizes.items()}
    reference, *others = sizes
    # of equal shifts the largest size tells most
    far = max(others, key=lambda size: (abs(optimum[size] - optimum[reference]), size))
    shift = optimum[far] - optimum[reference]
    interval = interval_of(
        samples[far] - samples[reference],
        max(sizes[reference].num_seeds, sizes[far].num_seeds),
    )
    return Measurement(
        holds=abs(shift) <= claim.max_shift + 1e-9,
        value=shift,
        interval=interval,
        threshold=f"at most {setting(claim.max_shift)} octave{'' if claim.max_shift == 1 else 's'}",
        detail=f"the best {words(claim.over)} moves by {with_interval(shift, interval)} octaves "
        f"from {words(claim.along)} {setting(reference)} to {setting(far)}; "
        f"allowed {setting(claim.max_shift)}",
    )
