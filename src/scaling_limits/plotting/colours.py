"""Colours: one for each method in all papers; larger sizes are darker."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.colors import to_rgb

Colour = tuple[float, float, float]
Palette = dict[float | str, Colour]
"""The colour of each value of a hue, or of each line by name."""
BLACK: Colour = (0.0, 0.0, 0.0)

_SEQUENCES = (("viridis", 0.58), ("plasma", 0.62))
"""Sequential palettes, with the positions at which a line is as light as its contrast on white (3 : 1) allows."""

_BLUE, _ORANGE, _GREEN, _RED = "#08519C", "#D55E00", "#1A8F50", "#8A1C5A"
_BROWN, _CYAN, _GREY = "#4F3A00", "#3A93CF", "#858585"
THINGS: dict[tuple[str, str, float | None], str] = {
    # keys: algorithm, scheme, exponent of the output's energy weight
    ("backpropagation", "sp", None): _GREY,
    ("backpropagation", "ntk", None): _BROWN,
    ("backpropagation", "mup", None): _CYAN,
    ("predictive_coding", "sp", None): _ORANGE,
    ("predictive_coding", "ntk", None): _BROWN,
    ("predictive_coding", "mup", None): _BLUE,
    ("predictive_coding", "mup", 0.0): _BLUE,
    ("predictive_coding", "mup", -1.0): _GREEN,
    ("target_propagation", "sp", None): _ORANGE,
    ("target_propagation", "mup", None): _RED,
}
OPTIMISERS = {"kfac": _RED, "shampoo": _GREEN, "foof": _BROWN}
"""Colours of lines under µP that compare optimisers."""
REGIONS: dict[str, Colour] = {
    "unstable at initialisation": to_rgb(_RED),
    "unstable in training": to_rgb(_ORANGE),
    "trivial": to_rgb(_GREY),
    "unfaithful": to_rgb(_BROWN),
    "redundant": to_rgb(_CYAN),
    "diverse": to_rgb(_GREEN),
    "undecided": BLACK,
}
"""Colours of the regions of depth parameterisations (depth-mup Fig. 1)."""
SETS = tuple(str(grey) for grey in (1.0, 0.94, 0.86, 0.76))
"""Greys of nested sets, the outermost first; black text is readable on all of them."""
# grey is last, as it is also the colour of guide lines
_OTHERS = (_RED, _CYAN, _BROWN, _BLUE, _ORANGE, _GREEN, _GREY)


def size_colours(values: Iterable[float], palette: int = 0) -> Palette:
    """Return a colour for each size in equal steps, the largest darkest; `palette` selects the palette."""
    sizes = sorted(set(values))
    name, lightest = _SEQUENCES[palette % len(_SEQUENCES)]
    colours = colormaps[name](np.linspace(0.0, lightest, len(sizes))[::-1])
    return {size: to_rgb(colour) for size, colour in zip(sizes, colours, strict=True)}


def identity_colours(values: Iterable[float]) -> Palette:
    """Return distinct colours for layers, or colours of a sequential palette if there are too many layers."""
    layers = sorted(set(values))
    if len(layers) > len(_OTHERS):
        return size_colours(layers)
    return {layer: to_rgb(colour) for layer, colour in zip(layers, _OTHERS, strict=False)}


def exponent_colours(values: Iterable[float]) -> Palette:
    """Return colours of exponents of the output's energy weight.

    The exponents 0 and -1 have the colours of µP with these exponents; others are interpolated.
    """
    ends = [np.array(to_rgb(THINGS["predictive_coding", "mup", end])) for end in (0.0, -1.0)]
    parts = {value: float(np.clip(-value, 0, 1)) for value in sorted(set(values))}
    return {v: to_rgb(tuple((1 - t) * ends[0] + t * ends[1])) for v, t in parts.items()}


def line_colours(rows: pd.DataFrame) -> Palette:
    """Return the colour of each `line` of a table without hue, determined by the method of its cells.

    If two lines would have the same colour, the second one gets another colour.
    """
    things = {
        str(line): _thing_of(cells.iloc[0]) for line, cells in rows.groupby("line", sort=False)
    }
    taken: list[str] = []
    colours: dict[str, Colour] = {}
    # methods with a fixed colour come first, so that no other line gets their colour
    for line in sorted(things, key=lambda name: things[name] is None):
        fixed = things[line]
        available = [c for c in ([fixed] if fixed else []) + list(_OTHERS) if c not in taken]
        taken.append((available or list(_OTHERS))[0])
        colours[line] = to_rgb(taken[-1])
    return {line: colours[line] for line in things}


def _thing_of(cell: pd.Series) -> str | None:
    """Return the fixed colour of a cell's method, or None."""
    scheme, exponent = _family(str(cell["parameterisation"])), cell["energy_weight_exponent"]
    optimiser = cell.get("optimiser")
    if scheme == "mup" and optimiser in OPTIMISERS:
        return OPTIMISERS[optimiser]
    weight = None if scheme != "mup" or pd.isna(exponent) else float(exponent)
    algorithm = str(cell["algorithm"])
    return THINGS.get((algorithm, scheme, weight)) or THINGS.get((algorithm, scheme, None))


def _family(scheme: str) -> str:
    """Return the scheme of a row of the table, without its update rule or algorithm."""
    for family in ("ntk", "sp"):
        if family in scheme.split("_"):
            return family
    return "mup" if scheme.endswith(("mup", "mupc")) else scheme
