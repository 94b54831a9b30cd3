"""Numbers, symbols and lines of text on figures."""

import pandas as pd
import pytest
from plotting_records import cells, results

from scaling_limits.plotting import text


def test_short_numbers() -> None:
    numbers = [64, 0.05, 1000, 1e-5, 5e-4, 2e6, 0, -1.5, 0.012345]
    assert [text.short(n) for n in numbers] == [
        "64",
        "0.05",
        "1000",
        "$10^{-5}$",
        r"$5{\cdot}10^{-4}$",
        r"$2{\cdot}10^{6}$",
        "0",
        "\N{MINUS SIGN}1.5",
        "0.01235",
    ]


@pytest.mark.parametrize("width", [1, 20, 1000])
def test_wrapped_lines_keep_their_words_and_mathematics_together(width: int) -> None:
    words = r"the multiplier $N^{-1/2} \cdot 3$, not ($a + b = c$) another one"
    lines = text.wrap(words, width).split("\n")
    assert " ".join(lines) == words
    assert all(line.count("$") % 2 == 0 for line in lines)
    assert all(text.length(line) <= width for line in lines if " " in line.split("$")[0].strip())
    assert len(lines) == {1: 7, 20: 4, 1000: 1}[width]


def test_wrapped_lines_have_about_the_same_length() -> None:
    # filled to 20 characters, the last line would be one word
    assert text.wrap("one two three four five six", 20).split("\n") == [
        "one two three",
        "four five six",
    ]


def test_commands_of_mathematics_are_one_character_long() -> None:
    assert [text.length(words) for words in (r"$\eta$ = 1", r"$\mathrm{N}_{2}$")] == [5, 3]


def test_symbols_and_labels_of_axes() -> None:
    tables = results(cells("main", lambda width: {}, width=(8,)))
    labels = [
        text.axis_label(c, tables.cells, {"width": "M"}) for c in ("width", "step", "batch_size")
    ]
    assert labels == ["width $M$", "training step $t$", "batch size"]
    assert text.symbol("depth", tables.cells, {}) == "L"
    assert text.axis_label("learning_rate", tables.cells, {}) == r"learning rate $\eta$"
    both = pd.DataFrame(tables.cells.assign(activity_learning_rate=0.1))
    assert text.axis_label("learning_rate", both, {}) == r"weight learning rate $\eta$"
    hidden = pd.DataFrame(tables.cells.assign(depth=2))
    assert text.symbol("depth", hidden, {}) == "H"
