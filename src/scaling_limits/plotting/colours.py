"""Colours of lines: in the order of sizes, or to tell labels apart."""

from collections.abc import Iterable

import seaborn as sns

from scaling_limits.plotting import style

_PALETTES = (style.COLOUR_MAP, "plasma")

Colour = tuple[float, float, float]
BLACK: Colour = (0.0, 0.0, 0.0)


def size_colours(values: Iterable[float], which: int = 0) -> dict[float, Colour]:
    """Colours in the order of the values, evenly spaced; `which` chooses the palette."""
    ordered = sorted(set(values))
    colours = sns.color_palette(_PALETTES[which % len(_PALETTES)], len(ordered))
    return dict(zip(ordered, colours, strict=True))


def label_colours(labels: Iterable[str]) -> dict[str, Colour]:
    """Colours that tell labels apart, in their order."""
    names = list(dict.fromkeys(labels))
    return dict(zip(names, sns.color_palette("colorblind", len(names)), strict=True))
