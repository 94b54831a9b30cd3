"""Detection of characters that the font of figures cannot draw."""

import unicodedata
from functools import cache
from pathlib import Path

FONT = "DejaVu Sans"
# titles are bold, so both files are needed
_FILES = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")


def undrawable(text: str) -> str:
    """Return the characters of a text without a glyph, as text for a message; empty if all have one.

    >>> undrawable("µP, 中")
    "'中' (U+4E2D)"
    """
    if text.isascii():
        return ""
    lacking = {c for c in text if unicodedata.category(c) not in ("Cc", "Cf")} - _drawable()
    return ", ".join(f"'{c}' (U+{ord(c):04X})" for c in sorted(lacking))


@cache
def _drawable() -> frozenset[str]:
    from matplotlib import get_data_path
    from matplotlib.ft2font import FT2Font

    fonts = Path(get_data_path(), "fonts", "ttf")
    known = (FT2Font(str(fonts / file)).get_charmap() for file in _FILES)
    return frozenset.intersection(*(frozenset(map(chr, charmap)) for charmap in known))
