"""Numbers and lines of text on figures."""

import math

from plotting_records import BETAS

from scaling_limits.plotting import text


def test_short_numbers() -> None:
    numbers = [64, 0.05, 1000, 1e-5, 5e-4, 2e6, 0]
    assert [text.short(n) for n in numbers] == [
        "64",
        "0.05",
        "1000",
        "$10^{-5}$",
        r"$5{\cdot}10^{-4}$",
        r"$2{\cdot}10^{6}$",
        "0",
    ]
    assert text.log_ticks(0.02, 30.0) == [0.1, 1, 10]
    assert text.value_labels([0.25, 0.5, 1]) == ["$2^{-2}$", "$2^{-1}$", "$2^{0}$"]
    assert text.value_labels([0.5, 1, 1.5]) == ["0.5", "1", "1.5"]


def test_values_that_can_stand_on_an_axis() -> None:
    assert text.are_short([16, 64, 2048])
    assert text.are_short([2.0**-10, 0.25])
    assert text.are_short([0.01, 0.05, 1e-5])
    assert not text.are_short([0.000125, 0.00025])
    assert not text.are_short(range(1, 30))


def test_labels_are_thinned_to_powers_of_ten_until_they_fit() -> None:
    extents = [0.2] * len(BETAS)

    def shown(spacing: float) -> list[float]:
        return [
            BETAS[i] for i in text.readable_subset(BETAS, extents, [i * spacing for i in range(11)])
        ]

    assert shown(0.3) == list(BETAS)
    assert shown(0.15) == [0.01, 0.1, 1, 10, 100, 1000]
    assert shown(0.1) == [0.01, 1, 100]
    assert shown(0.001) == [0.01]


def test_powers_of_ten_are_preferred_where_they_look_as_on_a_logarithmic_axis() -> None:
    uneven = [0.01, 0.1, 1, 5, 10, 20, 50, 100, 1000]

    def shown(places: list[float]) -> list[float]:
        return [uneven[i] for i in text.readable_subset(uneven, [0.2] * 9, places)]

    assert shown([0.15 * i for i in range(9)]) == [0.01, 1, 10, 50, 1000]
    assert shown([0.3 * math.log10(v) for v in uneven]) == [0.01, 0.1, 1, 10, 100, 1000]


def test_wrapped_lines_fit_and_keep_mathematics_together() -> None:
    words = "the output multiplier $N^{-1/2} \\cdot 3$ instead of another one"
    lines = text.wrap(words, 7.0, 1.2)
    assert " ".join(lines) == words
    assert len(lines) > 1
    assert all(line.count("$") % 2 == 0 for line in lines)
    assert all(text.width_of(line, 7.0) <= 1.2 for line in lines)
