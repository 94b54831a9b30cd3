"""Whether the texts on a figure can be drawn, before its cells are computed."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from scaling_limits.configuration import Configuration
from scaling_limits.configuration.drawn import misplaced
from scaling_limits.configuration.files import Location
from scaling_limits.configuration.words import MisplacedError
from scaling_limits.figures import places
from scaling_limits.plotting.glyphs import FONT, undrawable

_GRIDS = frozenset({"grid", "grids", "reference", "minus"})
"""Keys whose values name grids; a name is drawn only where there is no title."""


def refuse_unreadable(configuration: Configuration, slug: str, name: str) -> None:
    """Refuse a figure with texts that matplotlib cannot draw: mathematics, or characters that the font lacks.

    The caption is not drawn, so it may have any.

    Raises:
        ConfigurationError: names file, line, key and text, and what is wrong with it.
    """
    figure = configuration.figure(slug, name)
    drawn = {"title": figure.title, "plot": figure.plot.model_dump()}
    with misplaced(configuration.paper(slug), name):
        for path, text in _texts(drawn, ()):
            if not _GRIDS.intersection(path) and (lacking := undrawable(text)):
                raise MisplacedError(
                    path,
                    f"'{text}' has characters that the font of figures, {FONT}, lacks: {lacking}",
                )
            if "$" not in text:
                continue
            # what a place is filled with is a number or a name
            problem = _problem(places.filled(text, lambda _: "1"))
            if problem is not None:
                raise MisplacedError(path, f"the mathematics of '{text}' cannot be set: {problem}")


def _texts(said: Any, path: Location) -> Iterator[tuple[Location, str]]:
    """All texts and names, and where they stand; symbols are mathematics without dollars."""
    if isinstance(said, str):
        yield path, said
    parts = enumerate(said) if isinstance(said, list | tuple) else ()
    for key, part in said.items() if isinstance(said, dict) else parts:
        symbols = key == "symbols" and isinstance(part, dict)
        inner = {name: f"${symbol}$" for name, symbol in part.items()} if symbols else part
        yield from _texts(inner, (*path, key))


@cache
def _problem(text: str) -> str | None:
    if text.replace(r"\$", "").count("$") % 2:
        return r"a $ has no second one; a $ that is none of mathematics is written \$"
    try:
        _parser().parse(text)
    except ValueError as error:
        return str(error).strip().splitlines()[-1]
    return None


@cache
def _parser() -> Any:
    # a quarter of a second, when a figure with mathematics is asked for
    from matplotlib.mathtext import MathTextParser

    return MathTextParser("path")
