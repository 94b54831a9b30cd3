"""Validation of the mathematics in a text by matplotlib's parser."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.mathtext import MathTextParser, VectorParse


@cache
def problem_of(text: str) -> str | None:
    """Return the error in the mathematics between dollar signs in a text, or None if it can be typeset."""
    if "$" not in text:
        return None
    if text.replace(r"\$", "").count("$") % 2:
        return r"a $ has no second one; a $ that is none of mathematics is written \$"
    try:
        _parser().parse(text)
    except ValueError as error:
        return str(error).strip().splitlines()[-1]
    return None


@cache
def _parser() -> MathTextParser[VectorParse]:
    # cached, since it takes a quarter of a second
    from matplotlib.mathtext import MathTextParser

    return MathTextParser("path")
