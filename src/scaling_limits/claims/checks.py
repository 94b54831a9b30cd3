"""What can be checked of a claim before anything runs: against the cells of its grids.

A preset may shrink axes until a claim is undecided. Values of settings are therefore those of the cells as configured
and those that the file says.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from scaling_limits.errors import unknown
from scaling_limits.figures.needs import AXES, Grids, is_number, listed

if TYPE_CHECKING:
    from scaling_limits.claims.base import ClaimBase


class Problem(NamedTuple):
    """A problem of a claim, and the keys that lead to it below the claim's kind."""

    path: tuple[str, ...]
    text: str


def values_of(claim: ClaimBase, column: str, names: Iterable[str], grids: Grids) -> set[Hashable]:
    """Return the values of a column in the cells that a claim is about.

    Args:
        claim: the claim, whose `only` may fix the column.
        column: a setting.
        names: the grids to look at.
        grids: all grids by name.
    """
    if column in claim.only:
        return {claim.only[column]}
    return set().union(*(grids[name].values(column) for name in names))


def ratio_problems(claim: ClaimBase, key: str, ratio: Sequence[str]) -> Iterator[Problem]:
    """Yield what is wrong with a ratio of two of a claim's columns, or with one of them, under a key."""
    for column in ratio:
        if column not in claim.columns:
            yield Problem((key,), unknown("column of the claim's points", column, claim.columns))
    if len(set(ratio)) < len(ratio):
        yield Problem((key,), f"{ratio[0]} over itself is 1 everywhere")


def size_problems(
    claim: ClaimBase, key: str, column: str, grids: Grids, *, least: int = 2
) -> Iterator[Problem]:
    """Yield why a column is no size along which the claim can be judged.

    Args:
        claim: the claim.
        key: what names the column.
        column: a setting whose values should be numbers, or an axis of the claim's quantity, which is not checked.
        grids: all grids by name.
        least: how many sizes are needed.
    """
    sizes = set() if column in AXES else values_of(claim, column, claim.grids, grids)
    texts = sorted(str(size) for size in sizes if not is_number(size))
    if texts:
        yield Problem((key,), f"{column} has values that are no numbers: {', '.join(texts)}")
    elif 0 < len(sizes) < least:
        named = " and ".join(claim.grids)
        problem = f"{named} has a single {column}, {listed(sizes)}; two are needed"
        yield Problem((key,), problem)


def numbers(values: Iterable[Hashable]) -> list[float]:
    """Return those values that are numbers."""
    return [value for value in values if is_number(value)]
