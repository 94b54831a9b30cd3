"""A quantity tends to that of a limit along a size."""

from dataclasses import replace

import numpy as np
import pandas as pd

from scaling_limits.audit.kinds.slope import fitted
from scaling_limits.audit.points import (
    Table,
    by_size,
    decide,
    extreme_of,
    generator_of,
    named,
    points_of,
    steps_of,
    table_of,
    together,
)
from scaling_limits.audit.verdicts import (
    Measurement,
    UndecidedError,
    diverged,
    setting,
    with_interval,
    words,
)
from scaling_limits.figures.claims import AgreesWith
from scaling_limits.records import Results


def measure(claim: AgreesWith, results: Results, reference: Results) -> Measurement:
    """The largest relative error at the largest size, of means over seeds, over points and steps.

    Where training diverged in some cells the claim fails.

    Raises:
        UndecidedError: there are fewer than two sizes, every cell diverged, the reference has no value at a point, or
            one that is zero or not finite, or no network has an error to take a slope of.
    """
    points_by = [*claim.by, "step"]
    errors = relative_errors(claim, results, reference)
    sizes = by_size(errors, claim.along, points_by)
    threshold = f"at most {setting(claim.tolerance)}"
    if claim.slope_at_most is not None:
        threshold += f", slope at most {setting(claim.slope_at_most)}"
    if not np.isfinite(errors.rows["value"]).all():
        return diverged(threshold, "training diverged, so there is no error")
    generator = generator_of(claim)
    largest = max(sizes)
    points = sizes[largest]
    row = int(np.argmax(np.abs(points.means)))
    value = float(np.abs(points.means[row]))
    interval = extreme_of(value, np.abs(points.draws(generator)).max(axis=0), least=0.0)
    answers = [decide(value, interval, 0.0, claim.tolerance)]
    shown = claim.by if claim.at is None else points_by
    at = "".join(f", {words(c)} {setting(points.settings[c].iloc[row])}" for c in shown)
    detail = (
        f"the largest relative error of {named(claim)} over {len(points.settings)} points is "
        f"{with_interval(value, interval)} (at {words(claim.along)} {setting(largest)}{at})"
    )
    if claim.slope_at_most is not None:
        rms = _rms(errors, claim.along)
        single = points_of(rms, [claim.along])
        if single.values.min() == 0:
            raise UndecidedError(f"{named(claim)} equals its reference, so there is no slope")
        slope, ends = fitted(single, single.settings[claim.along].to_numpy(float), generator)
        answers.append(decide(slope, ends, -np.inf, claim.slope_at_most))
        detail += (
            ", and that of single networks falls with a log-log slope of "
            f"{with_interval(slope, ends)}"
        )
    return Measurement(
        holds=together(answers),
        value=value,
        interval=interval,
        threshold=threshold,
        detail=f"{detail}; it should be {threshold}",
    )


def _rms(errors: Table, along: str) -> Table:
    """The root mean square of each network's errors, over points and steps."""
    squares = errors.rows.assign(value=errors.rows["value"] ** 2)
    means = squares.groupby([along, "seed"])["value"].mean()
    return replace(errors, rows=np.sqrt(means).reset_index())


def relative_errors(claim: AgreesWith, results: Results, reference: Results) -> Table:
    """Relative errors: a row for each size, point and step, and seed.

    A reference that has several sizes is compared at each of them with its own.
    """
    sized = reference.cells.get(claim.along, pd.Series()).nunique() > 1
    points_by = [*([claim.along] if sized else []), *claim.by, "step"]

    def table(cells: Results, columns: list[str]) -> Table:
        tables = {
            quantity.step or 0: table_of(
                claim, cells, columns, quantity=quantity, may_diverge=cells is reference
            )
            for quantity in steps_of(claim, results, claim.at)
        }
        rows = pd.concat(found.rows.assign(step=step) for step, found in tables.items())
        return Table(rows, exact=all(found.exact for found in tables.values()))

    values, limit = table(results, [claim.along, *claim.by]), table(reference, points_by[:-1])
    if sized:
        known = values.rows[claim.along].isin(limit.rows[claim.along])
        values = replace(values, rows=values.rows[known])
    # a limit that was computed for each seed has seen the same data as that seed's network
    paired = set(values.rows["seed"]) <= set(limit.rows["seed"])
    key = [*points_by, "seed"] if paired else points_by
    rows = values.rows.join(limit.rows.groupby(key)["value"].mean().rename("limit"), on=key)
    if not (np.isfinite(rows["limit"]) & (rows["limit"] != 0)).all():
        raise UndecidedError(
            f"{' and '.join(claim.reference)} gives no {named(claim)}, or zero, at a point, so "
            "there is no relative error"
        )
    return replace(values, rows=rows.assign(value=rows["value"] / rows["limit"] - 1))
