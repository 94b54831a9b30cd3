"""A paper's table of parameterisations as text, generated from the rows of exponents that training uses."""

import math
from collections.abc import Sequence
from fractions import Fraction

import pandas as pd

from scaling_limits.errors import ConfigurationError
from scaling_limits.optimisers import registry
from scaling_limits.parameterisations.gauges import (
    init_and_rate,
    output_scaled,
    variance_and_rate,
)
from scaling_limits.parameterisations.powers import USUAL
from scaling_limits.parameterisations.table import (
    TABLE,
    Exponent,
    Exponents,
    Power,
    Row,
    find_row,
)
from scaling_limits.plots.parameterisation_table import Options, TableEntry

_SYMBOLS = {
    "depth_exponent": r"\alpha",
    "depth_lr_exponent": r"\gamma",
    "energy_weight_exponent": r"\bar\gamma_L",
    "preconditioner_exponent": "e_B",
}
_LAYERS = {"input": "Input", "hidden": "Hidden", "output": "Output"}
_NAMES = {
    "a_1": "$a_1$",
    "b_1": "$b_1$",
    "a_l": r"$a_l\ (l = 2, \ldots, L)$",
    "b_l": r"$b_l\ (l = 2, \ldots, L)$",
    "c": "$c$",
    "d": "$d$",
}
_PREMULTIPLIERS = {
    "input": "$a_1$ (input)",
    "hidden": "$a_l$ (hidden)",
    "output": "$a_L$ (output)",
}


def entries(plot: Options, rows: Sequence[Row] = TABLE) -> pd.DataFrame:
    """Return the table as text, with mathematics between dollar signs and the labels of the lines as index.

    Args:
        plot: the options of the table.
        rows: the table of exponents.

    Raises:
        ConfigurationError: a row does not exist or does not have this form.
    """
    rows_of_entries = [
        (entry, find_row(entry.scheme, entry.update_rule, rows)) for entry in plot.entries
    ]
    if plot.form == "init_and_rate":
        columns = {entry.title: _init_and_rate(row) for entry, row in rows_of_entries}
        return pd.DataFrame(columns).rename_axis("Layer")
    if plot.form == "output_scaled":
        columns = {entry.title: _output_scaled(row, entry) for entry, row in rows_of_entries}
        return pd.DataFrame(columns).rename_axis("Exponent")
    if plot.form == "width_scaling":
        ((_, row),) = rows_of_entries
        return pd.DataFrame(_width_scaling(row)).rename_axis("")
    form = _depth_scaling if plot.form == "depth_scaling" else _premultipliers
    lines = {entry.title: form(row, entry) for entry, row in rows_of_entries}
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis("")


def _init_and_rate(row: Row) -> dict[str, str]:
    values = {**USUAL, **_supplied(row.update_rule)}

    def pair(role: str) -> str:
        powers = init_and_rate(row, role)
        b, c = (_linear(exponent.at(values)) for exponent in (powers.b, powers.c))
        # braces suppress the space around a leading minus sign
        return rf"$({{{b}}},\ {{{c}}})$"

    return {name: pair(role) for role, name in _LAYERS.items()}


def _supplied(update_rule: str) -> dict[str, float]:
    """Return the named exponents that an optimiser supplies to rows, with its default settings."""
    optimiser = registry.part(update_rule)
    if not hasattr(optimiser, "exponents"):
        return {"preconditioner_exponent": 0.0}
    exponents: dict[str, float] = optimiser.exponents(optimiser.Settings(damping=1.0))
    return exponents


def _output_scaled(row: Row, entry: TableEntry) -> dict[str, str]:
    assert entry.gauge is not None
    exponents = vars(output_scaled(row, entry.gauge))
    return {name: f"${_linear(exponents[key])}$" for key, name in _NAMES.items()}


def _depth_scaling(row: Row, entry: TableEntry) -> dict[str, str]:
    exponents = Exponents(entry.depth_exponent, entry.depth_lr_exponent)
    exponents.check(row, skip=True)

    def power(quantity: str) -> Fraction:
        return Fraction(exponents.value(row.exponent("hidden", quantity, "depth", skip=True)))

    branch = power("multiplier") + power("branch")
    if not entry.transferable:
        return {"Branch multiplier": _over_depth("1", branch), "Learning rate": "? (tuned)"}
    rate = _over_depth(r"\eta", power("learning_rate"))
    return {"Branch multiplier": _over_depth("a", branch), "Learning rate": rate}


def _width_scaling(row: Row) -> dict[str, dict[str, str]]:
    """Return a column for the weights of each role, in the paper's order."""

    def column(role: str) -> dict[str, str]:
        powers = variance_and_rate(row, role)
        variance = "1" if powers.variance == Exponent() else f"n^{{{_linear(powers.variance)}}}"
        return {"Initial variance": f"${variance}$", "$c$": f"${_linear(powers.c)}$"}

    return {f"{_LAYERS[role]} weights": column(role) for role in ("input", "output", "hidden")}


def _premultipliers(row: Row, entry: TableEntry) -> dict[str, str]:
    entering = {"input": r"d_\mathrm{in}", "hidden": "N", "output": "N"}
    scales = {
        name: _product([row.role(role).multiplier, row.role(role).branch], entering[role])
        for role, name in _PREMULTIPLIERS.items()
    }
    stds = [row.role(role).init_std for role in _LAYERS]
    if any(std != stds[0] for std in stds):
        raise ConfigurationError(row.scheme, "the variance of weights depends on the layer")
    return {**scales, "$b_l$ (variance)": _product(stds[:1] * 2, r"\mathrm{fan\_in}")}


def _product(powers: Sequence[Power], fan_in: str) -> str:
    """Return a product of powers of the fan-in, the width and the depth, with base sizes of one, as mathematics."""
    scale = math.prod(power.scale for power in powers)
    exponents = {fan_in: Exponent(), "N": Exponent(), "L": Exponent()}
    for power in powers:
        exponents[fan_in] += Exponent(constant=power.fan_in)
        exponents["N"] += power.exponent("width", skip=True)
        exponents["L"] += power.exponent("depth", skip=True)
    parts = [] if scale == 1.0 else [f"{Fraction(scale).limit_denominator(100)}"]
    for exponent in dict.fromkeys(exponents.values()):
        bases = [base for base, other in exponents.items() if other == exponent]
        base = bases[0] if len(bases) == 1 else f"({' '.join(bases)})"
        if exponent != Exponent():
            parts.append(f"{base}^{{{_linear(exponent)}}}")
    product = r" \, ".join(parts) or "1"
    return f"${product}$"


def _over_depth(constant: str, power: Fraction) -> str:
    if power == 0:
        return f"${constant}$"
    if power == Fraction(-1, 2):
        return rf"${constant}/\sqrt{{\mathrm{{depth}}}}$"
    return rf"${constant} \cdot \mathrm{{depth}}^{{{power}}}$"


def _linear(exponent: Exponent) -> str:
    """Return a linear expression as text, the constant last."""
    terms = [(c, _SYMBOLS[name]) for name, c in exponent.named.items()]
    written = ""
    for coefficient, name in [*terms, (exponent.constant, "")]:
        if coefficient:
            size = Fraction(abs(coefficient)).limit_denominator(100)
            factor = "" if name and size == 1 else str(size)
            sign = "-" if coefficient < 0 else "+" if written else ""
            written += f"{sign}{factor}{name}"
    return written or "0"
