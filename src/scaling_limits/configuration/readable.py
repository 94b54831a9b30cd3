"""Check that the texts on a figure can be drawn, before its cells are computed."""

from collections.abc import Iterator

from scaling_limits.configuration.configuration import Configuration
from scaling_limits.configuration.resolved_figure import misplaced
from scaling_limits.figures import placeholders
from scaling_limits.figures.written import MisplacedError, Path
from scaling_limits.plotting.glyphs import FONT, undrawable
from scaling_limits.plotting.mathematics import problem_of

_GRIDS = frozenset({"grid", "grids", "reference", "minus"})
"""Keys whose values name grids; a grid's name is drawn only if it has no title."""


def refuse_unreadable(configuration: Configuration, slug: str, name: str) -> None:
    """Reject a figure with texts that matplotlib cannot draw: invalid mathematics, or characters that the font lacks.

    The caption is not drawn, so it is not checked.

    Args:
        configuration: the project's configuration.
        slug: the figure's paper.
        name: the figure.

    Raises:
        ConfigurationError: a text cannot be drawn; the message names file, line, key, text and problem.
    """
    figure = configuration.figure(slug, name)
    texts = _texts({"title": figure.title, "see": figure.see, "plot": figure.plot.model_dump()}, ())
    with misplaced(configuration.paper(slug), name):
        for path, text in texts:
            if not _GRIDS.intersection(path) and (lacking := undrawable(text)):
                problem = f"has characters that the font of figures, {FONT}, lacks: {lacking}"
                raise MisplacedError(path, f"'{text}' {problem}")
            # placeholders are filled with a number or a name
            error = problem_of(placeholders.filled(text, lambda _: "1"))
            if error is not None:
                raise MisplacedError(path, f"the mathematics of '{text}' cannot be set: {error}")


def _texts(content: object, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield all texts and names with their paths; symbols are converted to mathematics by adding dollar signs."""
    if isinstance(content, str):
        yield path, content
    parts = enumerate(content) if isinstance(content, list | tuple) else ()
    for key, part in content.items() if isinstance(content, dict) else parts:
        symbols = key == "symbols" and isinstance(part, dict)
        inner = {name: f"${symbol}$" for name, symbol in part.items()} if symbols else part
        yield from _texts(inner, (*path, key))
