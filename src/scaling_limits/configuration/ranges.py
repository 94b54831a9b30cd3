"""Ranges: `{octaves: [a, b, step], of: x}` and `{count: n}` are short for lists of numbers."""

import math
from collections.abc import Mapping
from difflib import get_close_matches

from scaling_limits.errors import unknown

_MOST = 10_000
_SMALLEST_STEP = 0.01
_KEYS = ("octaves", "count", "of")


def expanded(value: object) -> object:
    """Return the numbers of a range; any other value is returned unchanged.

    >>> expanded({"octaves": [-1, 3, 2]}), expanded({"octaves": [0, 1], "of": 0.1}), expanded({"count": 3})
    ([0.5, 2, 8], [0.1, 0.2], [0, 1, 2])

    Raises:
        ValueError: the range is invalid or empty, or its keys are misspelt.
    """
    if not isinstance(value, Mapping):
        return value
    keys = set(value)
    if not {"octaves", "count"} & keys:
        for key in keys:
            if get_close_matches(str(key), _KEYS[:2], cutoff=0.7):
                raise ValueError(unknown("key of a range", key, _KEYS))
        return value
    if keys == {"count"}:
        return list(range(_integer(value["count"], 1, _MOST)))
    if keys - {"of"} != {"octaves"}:
        raise ValueError("a range is {octaves: [from, to, step], of: factor} or {count: number}")
    ends = value["octaves"]
    if not isinstance(ends, list) or len(ends) not in (2, 3):
        raise ValueError("octaves: [from, to] or [from, to, step]")
    first, last = (_integer(end, -1000, 1000) for end in ends[:2])
    if last < first:
        raise ValueError(f"octaves: from {first} to {last} there is nothing")
    powers = [2**exponent for exponent in _exponents(first, last, *ends[2:])]
    if "of" not in value:
        return powers
    try:
        return [float(value["of"]) * power for power in powers]
    except (TypeError, ValueError):
        raise ValueError(f"of: should be a number, not {value['of']!r}") from None


def _exponents(first: int, last: int, step: object = 1) -> list[int] | list[float]:
    """Return the numbers from `first` to `last` in steps of a whole number, or of 1 divided by one."""
    try:
        fraction = float(str(step))
    except ValueError:
        fraction = math.nan
    per_octave = round(1 / fraction) if _SMALLEST_STEP <= fraction < 1 else 1
    if per_octave > 1 and math.isclose(per_octave * fraction, 1.0, rel_tol=1e-3):
        return [first + k / per_octave for k in range(per_octave * (last - first) + 1)]
    try:
        return list(range(first, last + 1, _integer(step, 1, 1000)))
    except ValueError:
        problem = "the step should be a whole number, or a fraction of an octave such as 0.5"
        raise ValueError(f"octaves: {problem}, not {step!r}") from None


def _integer(value: object, least: int, most: int) -> int:
    # the command line passes numbers as text
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = math.nan
        if number.is_integer() and least <= number <= most:
            return int(number)
    raise ValueError(f"a range has whole numbers from {least} to {most}, not {value!r}")
