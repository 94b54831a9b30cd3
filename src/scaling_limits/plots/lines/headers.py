"""Headers for the rows and columns of panels, derived from the panels' titles."""

from scaling_limits.plotting import text


def headers_of(titles: list[str], columns: int) -> tuple[list[str], list[str]] | None:
    """Split the titles of a full grid of panels into row and column headers; return None if this is impossible.

    >>> headers_of(["MLP, SP", "MLP, µP", "CNN, SP", "CNN, µP"], 2)
    (['MLP', 'CNN'], ['SP', 'µP'])
    >>> headers_of(["loss", "accuracy"], 2)
    """
    rows = [titles[k : k + columns] for k in range(0, len(titles), columns)]
    if len(rows) < 2 or columns < 2 or len(rows[-1]) < columns:
        return None
    phrases = [[title.split(", ") for title in row] for row in rows]
    column_headers = [_shared([row[k] for row in phrases]) for k in range(columns)]
    row_headers = [
        [phrase for phrase in _shared(row) if not all(phrase in c for c in column_headers)]
        for row in phrases
    ]
    for row, header in zip(phrases, row_headers, strict=True):
        for title, column in zip(row, column_headers, strict=True):
            if sorted(title) != sorted([*header, *column]):
                return None
    return [", ".join(header) for header in row_headers], [", ".join(c) for c in column_headers]


def wrapped(headers: list[str], width: int) -> list[str]:
    """Break headers into lines of at most about `width` characters.

    If one is too long and all consist of two phrases, each phrase has a line of its own.

    >>> wrapped(["1 sweep, SP", "100 sweeps, µP"], 11)
    ['1 sweep,\\nSP', '100 sweeps,\\nµP']
    >>> wrapped(["1 sweep, SP", "100 sweeps, µP"], 20)
    ['1 sweep, SP', '100 sweeps, µP']
    """
    too_long = any(text.length(header) > width for header in headers)
    if too_long and all(header.count(", ") == 1 for header in headers):
        return [header.replace(", ", ",\n") for header in headers]
    return [text.wrap(header, width) for header in headers]


def _shared(titles: list[list[str]]) -> list[str]:
    """Return the phrases that all titles share, in order."""
    return [phrase for phrase in titles[0] if all(phrase in title for title in titles)]
