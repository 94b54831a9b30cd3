"""The papers' tables come out of our own, and do not if an exponent of it is another."""

import itertools
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from plotting_records import drawn, write_folder
from pydantic import ValidationError

from scaling_limits.errors import ConfigurationError
from scaling_limits.parameterisations.table import ROLES, TABLE, Exponent, Row, find_row
from scaling_limits.plots.parameterisation_table import Options
from scaling_limits.plots.parameterisation_table.entries import entries

PRINTED = yaml.safe_load((Path(__file__).parents[1] / "reference" / "tables.yaml").read_text())


def entry(title: str, scheme: str, rule: str = "sgd", **options: Any) -> dict[str, Any]:
    return {"title": title, "scheme": scheme, "update_rule": rule, **options}


def depth(title: str, rule: str, exponent: float, **options: Any) -> dict[str, Any]:
    options |= {"depth_exponent": exponent, "depth_lr_exponent": exponent}
    return entry(title, "depth_mup", rule, **options)


PLOTS: dict[str, dict[str, Any]] = {
    "pc-tp/table1": {
        "form": "init_and_rate",
        "entries": [
            entry("SP", "sp_uniform"),
            entry("SGD muP", "mup"),
            entry("GNT", "gnt_mup"),
            entry("PC", "pc_mup"),
            entry("TP", "tp_mup"),
        ],
    },
    "second-order/table1": {
        "form": "init_and_rate",
        "entries": [
            entry("SP", "sp_gaussian"),
            entry("SGD", "preconditioned_mup"),
            entry("Shampoo", "preconditioned_mup", "shampoo"),
            entry("K-FAC", "preconditioned_mup", "kfac"),
            entry("FOOF", "preconditioned_mup", "foof"),
        ],
    },
    "second-order/tableS3": {
        "form": "init_and_rate",
        "entries": [
            entry("SGD", "lazy"),
            entry("Shampoo", "lazy", "shampoo"),
            entry("K-FAC", "lazy", "kfac"),
            entry("FOOF", "lazy", "foof"),
        ],
    },
    "pcn-limits/table2": {
        "form": "output_scaled",
        "entries": [
            entry("SP", "sp_gaussian", gauge=0),
            entry("NTK", "ntk", gauge=0.5),
            entry("Mean-field", "mean_field", gauge=0.5),
            entry("muP", "mup", gauge=0),
        ],
    },
    "depth-mup/table1": {
        "form": "depth_scaling",
        "entries": [
            depth("Standard", "adam", 0.0, transferable=False),
            depth("Depth-muP (SGD)", "sgd", 0.5),
            depth("Depth-muP (Adam)", "adam", 0.5),
        ],
    },
    "depth-mup/table2": {
        "form": "width_scaling",
        "entries": [entry("muP", "depth_mup", "adam")],
    },
    "mupc/table1": {
        "form": "premultipliers",
        "entries": [entry("PC (SP)", "sp_gaussian", "adam"), entry("muPC", "mupc", "adam")],
    },
}
WIDTH_ENTRIES = list(
    itertools.product(ROLES, ("init_std", "multiplier", "learning_rate"), ["width"])
)
SHOWN = {
    "pc-tp/table1": WIDTH_ENTRIES,
    "second-order/table1": WIDTH_ENTRIES,
    "second-order/tableS3": WIDTH_ENTRIES,
    "pcn-limits/table2": WIDTH_ENTRIES,
    "depth-mup/table1": [
        ("hidden", "multiplier", "depth"),
        ("hidden", "branch", "depth"),
        ("hidden", "learning_rate", "depth"),
    ],
    "depth-mup/table2": WIDTH_ENTRIES,
    "mupc/table1": [
        *itertools.product(ROLES, ("init_std", "multiplier"), ("width", "depth")),
        ("hidden", "branch", "depth"),
    ],
}


def parsed(name: str) -> Options:
    return Options.model_validate(PLOTS[name])


def as_printed(table: pd.DataFrame) -> dict[str, dict[str, str]]:
    """Without dollars, braces around an entry of a pair, and explanations of a line or column."""

    def plain(label: str) -> str:
        if match := re.match(r"\$([abcd](_\w)?)(\\ .*)?\$", label):
            return match[1]
        return label

    def entry_of(cell: str) -> str:
        pair = re.fullmatch(r"\$\(\{(.*)\},\\ \{(.*)\}\)\$", cell)
        return f"({pair[1]}, {pair[2]})" if pair else cell.replace("$", "")

    return {
        plain(column): {plain(line): entry_of(cell) for line, cell in table[column].items()}
        for column in table
    }


def with_changed(row: Row, role: str, quantity: str, axis: str) -> list[Row]:
    power = row.role(role).power(quantity)
    changed = power.exponent(axis, skip=True) + Exponent(constant=0.5)
    powers = row.role(role).model_copy(update={quantity: power.model_copy(update={axis: changed})})
    return [row.model_copy(update={role: powers}) if row == other else other for other in TABLE]


@pytest.mark.parametrize("name", PRINTED)
def test_the_printed_entries_come_out(name: str) -> None:
    assert as_printed(entries(parsed(name))) == PRINTED[name]


@pytest.mark.parametrize("name", PRINTED)
def test_an_exponent_that_is_another_shows(name: str) -> None:
    plot = parsed(name)
    for shown, change in itertools.product(plot.entries, SHOWN[name]):
        if change[1] == "learning_rate" and not shown.transferable:
            continue
        rows = with_changed(find_row(shown.scheme, shown.update_rule), *change)
        try:
            found = as_printed(entries(plot, rows))
        except ConfigurationError:
            continue  # the row has no such form any more
        assert found != PRINTED[name], (shown.title, change)


def test_other_powers_are_written_out() -> None:
    ode = depth("ODE", "sgd", 1.0) | {"depth_lr_exponent": 0.0}
    plot = Options.model_validate(PLOTS["depth-mup/table1"] | {"entries": [ode]})
    assert list(entries(plot).iloc[0]) == [
        r"$a \cdot \mathrm{depth}^{-1}$",
        r"$\eta \cdot \mathrm{depth}^{1}$",
    ]
    forms = {"form": "premultipliers", "entries": [entry("SP", "sp_uniform")]}
    table = entries(Options.model_validate(forms))
    assert table.iloc[0, -1] == r"$1/3 \, \mathrm{fan\_in}^{-1}$"


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("pcn-limits/table2", entry("PC", "pc_mup", gauge=0), "pc_mup: the output weights are not"),
        ("pc-tp/table1", entry("muP", "mup", "adam"), "defined for sgd"),
        ("depth-mup/table2", entry("muP", "depth_mup"), "depth_mup, sgd: c, the exponent of"),
        ("mupc/table1", entry("muP", "mup"), "variance of weights depends on the layer"),
        ("mupc/table1", entry("muPC", "mupc"), "update rule of mupc"),
    ],
)
def test_a_row_without_the_form_is_refused(name: str, change: Any, message: str) -> None:
    plot = Options.model_validate(PLOTS[name] | {"entries": [change]})
    with pytest.raises(ConfigurationError, match=message):
        entries(plot)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("pcn-limits/table2", entry("SP", "sp_gaussian"), "needs gauge"),
        ("mupc/table1", entry("SP", "sp_gaussian", gauge=0.0), "has no gauge"),
        ("depth-mup/table1", entry("Standard", "depth_mup"), "needs depth_exponent"),
        ("pc-tp/table1", depth("SP", "sgd", 0.0), "has no depth_exponent"),
        ("depth-mup/table2", depth("SP", "adam", 0.5), "has no depth_exponent"),
    ],
)
def test_options_belong_to_a_form(name: str, change: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Options.model_validate(PLOTS[name] | {"entries": [change]})


def test_widthwise_scaling_is_of_one_row() -> None:
    rows = {"entries": [entry(title, "depth_mup", "adam") for title in ("muP", "again")]}
    with pytest.raises(ValidationError, match="the form width_scaling shows one row, not 2"):
        Options.model_validate(PLOTS["depth-mup/table2"] | rows)


def test_a_table_is_drawn_without_overlaps_between_rules(tmp_path: Path) -> None:
    plot = {"kind": "parameterisation_table", **PLOTS["pcn-limits/table2"]}
    figure = drawn(write_folder(tmp_path / "table", plot, [({"grid": "none"}, [])])).figure
    (ax,) = figure.axes
    printed = entries(parsed("pcn-limits/table2"))
    cells = ax.texts
    assert {text.get_text() for text in cells} >= {*printed.columns, *printed.index, "$1$"}
    boxes = [text.get_window_extent() for text in cells]
    for one, other in itertools.combinations(boxes, 2):
        width = min(one.x1, other.x1) - max(one.x0, other.x0)
        assert min(width, min(one.y1, other.y1) - max(one.y0, other.y0)) <= 0
    assert [line.get_ydata()[0] for line in ax.lines] == [0, 1, 7]
    assert min(box.x0 for box in boxes) >= 0
    assert max(box.x1 for box in boxes) <= figure.bbox.x1
