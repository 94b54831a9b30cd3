"""Headers for the rows and columns of panels, derived from the panels' titles."""


def headers_of(titles: list[str], columns: int) -> tuple[list[str], list[str]] | None:
    """Split the titles of a full grid of panels into row and column headers; return None if this is impossible.

    >>> headers_of(["MLP, SP", "MLP, µP", "CNN, SP", "CNN, µP"], 2)
    (['MLP', 'CNN'], ['SP', 'µP'])
    >>> headers_of(["loss", "accuracy"], 2)
    """
    rows = [titles[k : k + columns] for k in range(0, len(titles), columns)]
    if len(rows) < 2 or columns < 2 or len(rows[-1]) < columns:
        return None
    words = [[title.split(", ") for title in row] for row in rows]
    of_columns = [_shared([row[k] for row in words]) for k in range(columns)]
    of_rows = [[w for w in _shared(row) if not all(w in c for c in of_columns)] for row in words]
    for row, header in zip(words, of_rows, strict=True):
        for title, column in zip(row, of_columns, strict=True):
            if sorted(title) != sorted([*header, *column]):
                return None
    return [", ".join(header) for header in of_rows], [", ".join(c) for c in of_columns]


def _shared(titles: list[list[str]]) -> list[str]:
    """Return the words that all titles share, in order."""
    return [word for word in titles[0] if all(word in title for title in titles)]
