"""docs/notation.md: its exponents are those of the rows that training uses, and its settings exist."""

import re
from pathlib import Path
from typing import Any

import pytest

from scaling_limits.configuration.parts import every_setting
from scaling_limits.parameterisations.gauges import init_and_rate, variance_and_rate
from scaling_limits.parameterisations.powers import ROLES, Exponent, Row
from scaling_limits.parameterisations.table import TABLE, find_row

PAGE = (Path(__file__).parents[1] / "docs/notation.md").read_text("utf-8")
SYMBOLS = {
    "α": Exponent(depth_exponent=1.0),
    "γ": Exponent(depth_lr_exponent=1.0),
    "g": Exponent(energy_weight_exponent=1.0),
    "b_L": Exponent(output_init_exponent=1.0),
    "e_A": Exponent(input_preconditioner_exponent=1.0),
    "e_B": Exponent(preconditioner_exponent=1.0),
}
TERM = re.compile(r"(-?) ?([^\s+-]+)")
LIKE_OTHERS = {"sp_uniform", "orthogonal"}


def section(title: str) -> list[list[str]]:
    """The rows of the table below a heading, without its head."""
    lines = PAGE.split(f"## {title}\n")[1].split("\n## ")[0].splitlines()
    table = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
    return table[2:]


def exponent(text: str) -> Exponent:
    """An exponent as written: a sum of numbers and symbols."""
    total = Exponent()
    for sign, name in TERM.findall(text):
        term = SYMBOLS[name] if name in SYMBOLS else Exponent(constant=number(name))
        total = total + term * (-1.0 if sign else 1.0)
    return total


def number(text: str) -> float:
    numerator, _, denominator = text.partition("/")
    return float(numerator) / float(denominator or 1)


def pair(text: str) -> tuple[Exponent, Exponent]:
    first, second = text.strip("()").split(", ")
    return exponent(first), exponent(second)


def of_width(row: Row, role: str) -> tuple[Exponent, Exponent]:
    """(b, c) of a role of a row."""
    if row.update_rule == "adam":
        adam = variance_and_rate(row, role)
        return adam.variance * -0.5, adam.c
    sgd = init_and_rate(row, role)
    return sgd.b, sgd.c


ENTRIES = [
    (entry[0].strip("`"), rule, entry[2:7])
    for entry in section("Exponents of the parameterisations")
    for rule in re.findall(r"\w+", entry[1])
]


@pytest.mark.parametrize(("scheme", "rule", "entries"), ENTRIES)
def test_exponents_are_those_of_the_rows(scheme: str, rule: str, entries: list[str]) -> None:
    row = find_row(scheme, rule)
    *widths, branch, rate = entries
    for role, entry in zip(ROLES, widths, strict=True):
        assert pair(entry) == of_width(row, role), role
    assert exponent(branch) == row.exponent("hidden", "branch", "depth", skip=True)
    assert exponent(rate) == row.exponent("hidden", "learning_rate", "depth", skip=True)


def test_all_rows_have_exponents() -> None:
    rows = {(row.scheme, row.update_rule) for row in TABLE if row.scheme not in LIKE_OTHERS}
    assert {(scheme, rule) for scheme, rule, _ in ENTRIES} == rows


def test_settings_are_settings() -> None:
    named = [name for row in section("Symbols") for name in re.findall(r"`(\w+)`", row[-1])]
    settings: dict[str, Any] = every_setting().model_fields
    assert len(named) > 20
    assert set(named) <= settings.keys()
