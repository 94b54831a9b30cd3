"""The words and numbers for the outcomes of claims, the same in every file, page and picture."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

Outcome = Literal[
    "holds", "fails", "inconclusive", "data not available", "diverged", "not computed"
]
"""The outcome of a claim.

`inconclusive` has a `Reason`. `data not available`: the claim names a dataset, but a substitute is used. `diverged`:
every cell diverged, and the claim does not state that training fails. `not computed`: the figure has no records."""

Reason = Literal["interval", "control", "sizes", "optimum at the edge", "divergence", "values"]
"""Why a claim is inconclusive: its interval contains a threshold; a control holds or is undecided; there is only one
size, or none as large as the claim requires; an optimum may lie outside of its grid; some of the compared cells
diverged; or the recorded values do not allow a measurement."""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
DECIDED: tuple[Outcome, ...] = ("holds", "fails")

Overall = Literal[
    "reproduced",
    "partly reproduced",
    "not reproduced",
    "inconclusive at this scale",
    "data not available",
]
"""The outcome of all claims of a figure."""
BACKGROUNDS: Mapping[Overall, str] = {
    "reproduced": "#CFE8D5",
    "partly reproduced": "#F4E7BE",
    "not reproduced": "#F3CFC4",
    "inconclusive at this scale": "#E2E2E2",
    "data not available": "#E2E2E2",
}
"""Background colours of the badges with these outcomes."""

_ROUNDING = 1e-12
_PLURALS = {"holds": "hold", "fails": "fail"}


def tally(outcomes: Iterable[Outcome]) -> str:
    """Return the counts of the outcomes that occur as text; `none` if there are no outcomes.

    >>> tally(["holds", "fails", "holds"])
    '2 hold, 1 fails'
    """
    counts = Counter(outcomes)
    return (
        ", ".join(counted(outcome, counts[outcome]) for outcome in OUTCOMES if counts[outcome])
        or "none"
    )


def overall(outcomes: Sequence[Outcome]) -> Overall:
    """Return the overall outcome of a figure's claims (at least one).

    A figure is reproduced if all claims hold, partly if some do, and not if none does and at least half of them fail.
    Otherwise it is inconclusive, or its data are not available.

    >>> overall(["holds", "holds"]), overall(["holds", "fails"]), overall(["fails", "inconclusive"])
    ('reproduced', 'partly reproduced', 'not reproduced')
    >>> overall(["inconclusive", "data not available"]), overall(["data not available"])
    ('inconclusive at this scale', 'data not available')
    """
    if "holds" in outcomes:
        return "reproduced" if set(outcomes) == {"holds"} else "partly reproduced"
    if 2 * outcomes.count("fails") >= len(outcomes):
        return "not reproduced"
    unavailable = set(outcomes) == {"data not available"}
    return "data not available" if unavailable else "inconclusive at this scale"


def score(outcomes: Sequence[Outcome]) -> tuple[Overall, str]:
    """Return the overall outcome of a figure's claims, how many of them hold, and how many fail, if any.

    >>> score(["holds", "fails"])
    ('partly reproduced', '1 of 2 claims, 1 fails')
    >>> score(["inconclusive", "inconclusive"])
    ('inconclusive at this scale', '0 of 2 claims')
    """
    count = len(outcomes)
    text = f"{outcomes.count('holds')} of {count} claim{'s' if count > 1 else ''}"
    failing = [outcome for outcome in outcomes if outcome == "fails"]
    return overall(outcomes), f"{text}, {tally(failing)}" if failing else text


def to_see(see: str, outcomes: Sequence[Outcome], *, in_paper: bool = True) -> str:
    """Return what a picture should show: as the paper's finding, unless all claims hold.

    Args:
        see: the sentence in the configuration.
        outcomes: the outcomes of the figure's claims.
        in_paper: whether the figure is in the paper.

    >>> to_see("The optimum stays.", ["holds"]), to_see("The optimum stays.", ["holds", "fails"])
    ('The optimum stays.', 'In the paper: The optimum stays.')
    """
    if not see or not outcomes or set(outcomes) == {"holds"}:
        return see
    return f"{'In the paper' if in_paper else 'Expected'}: {see}"


def counted(outcome: Outcome, count: int) -> str:
    """Return a count with an outcome as text: `1 holds`, `2 hold`."""
    return f"{count} {outcome if count == 1 else _PLURALS.get(outcome, outcome)}"


def number(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits as text, without a sign on zero.

    >>> number(0.98765), number(-0.0), number(1234.5), number(float("inf"))
    ('0.988', '0', '1.23e+03', '∞')
    """
    if not math.isfinite(value):
        return "∞" if value > 0 else "-∞"
    return f"{value + 0.0:.{digits}g}"


def with_interval(value: float, interval: tuple[float | None, float | None] | None) -> str:
    """Return a value with its confidence interval as text, or the value alone without an interval.

    An end of the interval may be None or infinite. Numbers have three significant digits, or as many as tell the ends
    apart and round the value by less than a quarter of the interval; an interval that six digits do not tell apart is
    left out. An interval around 0 that is as narrow as rounding errors is 0.

    >>> with_interval(0.5, (0.4, 0.6)), with_interval(2.0, (None, 3.0)), with_interval(1.0, None)
    ('0.5 [0.4, 0.6]', '2 [-∞, 3]', '1')
    >>> with_interval(0.99962, (0.99958, 0.99971)), with_interval(1.0, (1.0, 1.0 + 1e-9))
    ('0.9996 [0.9996, 0.9997]', '1')
    >>> with_interval(1.0047, (0.9991, 1.0102))
    '1.005 [0.9991, 1.01]'
    >>> with_interval(-8e-19, (-3e-18, 2e-18)), with_interval(1e-20, (2e-21, 6e-20))
    ('0', '1e-20 [2e-21, 6e-20]')
    """
    if interval is not None:
        low, high = interval
        ends = -math.inf if low is None else low, math.inf if high is None else high
        if -_ROUNDING < ends[0] <= 0 <= ends[1] < _ROUNDING:
            return number(0.0)
        for digits in range(3, 7):
            texts = [number(end, digits) for end in ends]
            rounded = float(f"{value:.{digits}g}")
            is_close = rounded == value or abs(rounded - value) <= (ends[1] - ends[0]) / 4
            if texts[0] != texts[1] and (is_close or digits == 6):
                return f"{number(value, digits)} [{', '.join(texts)}]"
    return number(value)
