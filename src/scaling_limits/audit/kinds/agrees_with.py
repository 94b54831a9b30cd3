"""A quantity tends to that of a limit along a size."""

import numpy as np
import pandas as pd

from scaling_limits.audit.points import (
    by_size,
    generator_of,
    interval_of,
    log_slope,
    named,
    steps_of,
    table_of,
)
from scaling_limits.audit.verdicts import (
    Measurement,
    UndecidedError,
    diverged,
    number,
    setting,
    with_interval,
    words,
)
from scaling_limits.figures.claims import AgreesWith
from scaling_limits.records import Results


def measure(claim: AgreesWith, results: Results, reference: Results) -> Measurement:
    """The largest relative error at the largest size, of means over seeds, over points and steps.

    Where training diverged the claim fails.

    Raises:
        UndecidedError: there are fewer than two sizes, the reference has no value at a point, or
            one that is zero or not finite, or no network has an error to take a slope of.
    """
    points_by = [*claim.by, "step"]
    errors = _relative_errors(claim, results, reference)
    sizes = by_size(errors, claim.along, points_by)
    threshold = f"at most {setting(claim.tolerance)}"
    if claim.slope_at_most is not None:
        threshold += f", slope at most {setting(claim.slope_at_most)}"
    if not np.isfinite(errors["value"]).all():
        return diverged(threshold, "training diverged, so there is no error")
    largest = max(sizes)
    points = sizes[largest]
    row = int(np.argmax(np.abs(points.means)))
    value = float(np.abs(points.means[row]))
    drawn = np.abs(points.resampled_means(generator_of(claim))).max(axis=0)
    interval = interval_of(drawn, points.num_seeds)
    shown = claim.by if claim.at is None else points_by
    at = "".join(f", {words(c)} {setting(points.settings[c].iloc[row])}" for c in shown)
    detail = (
        f"the largest relative error of {named(claim)} over {len(points.settings)} points is "
        f"{with_interval(value, interval)} (at {words(claim.along)} {setting(largest)}{at})"
    )
    holds = value <= claim.tolerance
    if claim.slope_at_most is not None:
        single = np.array([np.sqrt((p.values**2).mean()) for p in sizes.values()])
        if single.min() == 0:
            raise UndecidedError(f"{named(claim)} equals its reference, so there is no slope")
        slope = float(log_slope(np.array(list(sizes), dtype=float), single[:, None])[0])
        holds &= slope <= claim.slope_at_most
        detail += f", and that of single networks falls with a log-log slope of {number(slope)}"
    return Measurement(holds, value, interval, threshold, f"{detail}; it should be {threshold}")


def _relative_errors(claim: AgreesWith, results: Results, reference: Results) -> pd.DataFrame:
    """Relative errors: a row for each size, point and step, and seed."""
    points_by = [*claim.by, "step"]

    def table(cells: Results, columns: list[str]) -> pd.DataFrame:
        return pd.concat(
            table_of(claim, cells, columns, quantity=quantity).assign(step=quantity.step or 0)
            for quantity in steps_of(claim, results, claim.at)
        )

    values, limit = table(results, [claim.along, *claim.by]), table(reference, [*claim.by])
    # a limit that was computed for each seed has seen the same data as that seed's network
    paired = set(values["seed"]) <= set(limit["seed"])
    key = [*points_by, "seed"] if paired else points_by
    values = values.join(limit.groupby(key)["value"].mean().rename("limit"), on=key)
    if not (np.isfinite(values["limit"]) & (values["limit"] != 0)).all():
        raise UndecidedError(
            f"{' and '.join(claim.reference)} gives no {named(claim)}, or zero, at a point, so "
            "there is no relative error"
        )
    return values.assign(value=values["value"] / values["limit"] - 1)
