"""Colours can be told apart from white and from each other, and stand for one thing each."""

from itertools import combinations, pairwise, permutations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from scaling_limits.plotting import colours

LINES = {
    # algorithm, scheme, exponent of the output's energy weight
    "BP, SP": ("backpropagation", "sp_uniform", np.nan),
    "BP, muP": ("backpropagation", "mup", np.nan),
    "PC, SP": ("predictive_coding", "sp_gaussian", np.nan),
    "PC, muP": ("predictive_coding", "pc_mup", 0.0),
    "PC, muP, -1": ("predictive_coding", "pc_mup", -1.0),
    "TP, muP": ("target_propagation", "tp_mup", np.nan),
}


# linear red, green and blue as seen without one kind of cones: Machado, Oliveira and Fernandes 2009, severity 1
SEEN = {
    "by all cones": np.eye(3),
    "without red": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "without green": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
# sRGB's primaries in CIE XYZ, relative to its white
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
) / np.array([[0.95047], [1.0], [1.08883]])


def perceived(colour: colours.Colour | str, seen: np.ndarray) -> np.ndarray:
    """Lightness and the two opponent axes of CIE Lab [3], in which a distance of 2 is just noticed."""
    srgb = np.array(to_rgb(colour))
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(TO_XYZ @ np.clip(seen @ linear, 0, 1))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def luminance(colour: colours.Colour) -> float:
    """Relative luminance, as in WCAG 2."""
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(colour: colours.Colour) -> float:
    return 1.05 / (luminance(colour) + 0.05)


def of_lines(lines: dict[str, tuple[str, str, float]]) -> dict[str, colours.Colour]:
    columns = ["algorithm", "parameterisation", "energy_weight_exponent"]
    rows = pd.DataFrame([dict(zip(columns, said, strict=True)) for said in lines.values()])
    return colours.line_colours(rows.assign(line=list(lines)))


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize(
    "sizes", [(64,), (8, 16, 32), (0, 1, 2), tuple(2**k for k in range(4, 14))]
)
def test_sizes_are_the_darker_the_larger(sizes: tuple[float, ...], which: int) -> None:
    found = colours.size_colours(reversed(sizes), which)
    assert list(found) == list(sizes)
    lights = [luminance(colour) for colour in found.values()]
    assert all(smaller > larger for smaller, larger in pairwise(lights))
    assert min(map(contrast, found.values())) >= 3


def test_sizes_at_unequal_distances_have_equal_steps() -> None:
    few, many = colours.size_colours((8, 512)), colours.size_colours((8, 500, 512))
    assert {size: many[size] for size in few} == few
    assert many[500] == colours.size_colours((1, 2, 4))[2]
    assert colours.size_colours((8, 512), 1) != few


def test_every_thing_stands_out_from_white() -> None:
    named = [to_rgb(colour) for colour in colours.THINGS.values()]
    between = colours.exponent_colours(np.linspace(-1, 0, 9)).values()
    assert min(map(contrast, [*named, *between])) >= 3


@pytest.mark.parametrize("seen", SEEN.values(), ids=SEEN)
def test_things_are_told_apart_by_the_colour_blind(seen: np.ndarray) -> None:
    found = [perceived(colour, seen) for colour in set(colours.THINGS.values())]
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(found, 2)) >= 20


def test_exponents_are_between_those_of_the_two_ends() -> None:
    found = colours.exponent_colours((0.0, -0.5, -1.0, -3.0))
    ends = [to_rgb(colours.THINGS["predictive_coding", "mup", end]) for end in (0.0, -1.0)]
    assert (found[0.0], found[-1.0], found[-3.0]) == (*ends, ends[1])
    assert found[-0.5] == pytest.approx(np.mean(ends, axis=0))


def test_a_thing_has_its_colour_whatever_stands_beside_it() -> None:
    alone = {name: of_lines({name: said})[name] for name, said in LINES.items()}
    assert len(set(alone.values())) == len(LINES)
    for order in permutations(LINES.items(), 3):
        assert of_lines(dict(order)) == {name: alone[name] for name, _ in order}


def test_no_two_lines_of_a_panel_are_alike() -> None:
    same = {f"rate {k}": LINES["PC, muP"] for k in range(6)}
    assert len(set(of_lines(same).values())) == 6
    unknown = {"other": ("backpropagation", "mean_field", np.nan)}
    assert len(set(of_lines({**unknown, **LINES}).values())) == len(LINES) + 1
    assert min(map(contrast, of_lines({**same, **unknown}).values())) >= 3
