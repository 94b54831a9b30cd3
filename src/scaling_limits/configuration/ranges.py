"""Ranges: `{octaves: [a, b, step], of: x}` and `{count: n}` are short for lists of numbers."""

import math
from collections.abc import Mapping

_MOST = 10_000


def expanded(value: object) -> object:
    """Return the numbers of a range; any other value is returned unchanged.

    >>> expanded({"octaves": [-1, 3, 2]}), expanded({"octaves": [0, 1], "of": 0.1}), expanded({"count": 3})
    ([0.5, 2, 8], [0.1, 0.2], [0, 1, 2])

    Raises:
        ValueError: the range is invalid or empty.
    """
    if not isinstance(value, Mapping) or not {"octaves", "count"} & set(value):
        return value
    keys = set(value)
    if keys == {"count"}:
        return list(range(_integer(value["count"], 1, _MOST)))
    if keys - {"of"} != {"octaves"}:
        raise ValueError("a range is {octaves: [from, to, step], of: factor} or {count: number}")
    ends = value["octaves"]
    if not isinstance(ends, list) or len(ends) not in (2, 3):
        raise ValueError("octaves: [from, to] or [from, to, step]")
    first, last = (_integer(end, -1000, 1000) for end in ends[:2])
    step = _integer(ends[2], 1, 1000) if len(ends) == 3 else 1
    if last < first:
        raise ValueError(f"octaves: from {first} to {last} there is nothing")
    powers = [2**exponent for exponent in range(first, last + 1, step)]
    if "of" not in value:
        return powers
    try:
        return [float(value["of"]) * power for power in powers]
    except (TypeError, ValueError):
        raise ValueError(f"of: should be a number, not {value['of']!r}") from None


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
