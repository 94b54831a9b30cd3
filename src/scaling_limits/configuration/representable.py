"""Check that the numbers of a cell stay within their bounds when they are rounded to its dtype.

Bounds of settings are checked in double precision, and the numbers of a row are computed in it. Training rounds them to
the cell's dtype, and XLA flushes subnormal numbers to 0. For example, a decay of 0.99999999 is 1 in float32, and an
epsilon of 1e-37 times a row's 1/16 is 0.
"""

import typing
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from scaling_limits.cells import Cell, CellSettings, OptimiserSpec, RoleScaling
from scaling_limits.errors import ConfigurationError
from scaling_limits.parameterisations.powers import EXPONENTS
from scaling_limits.parameterisations.table import Factors
from scaling_limits.strict import Strict


class Interval(NamedTuple):
    """The smallest and the largest number that is valid in a dtype."""

    low: float
    high: float

    def over(self, factor: float) -> "Interval":
        """Return the numbers that are valid both unscaled and multiplied by a positive factor."""
        return Interval(max(self.low, self.low / factor), min(self.high, self.high / factor))


def refuse_settings(settings: Strict, dtype: str) -> None:
    """Reject settings that violate their bounds after rounding.

    Raises:
        ConfigurationError: a setting is invalid; the error carries its key and states the valid numbers.
    """
    values = vars(settings)
    for name, valid in _bounds(type(settings), dtype):
        value = values[name]
        if value is not None and not _inside(value, valid, dtype):
            raise ConfigurationError(name, _explanation(value, valid, dtype))


def refuse_scaling(scaling: dict[str, RoleScaling], settings: CellSettings, dtype: str) -> None:
    """Reject numbers of a row that become 0 or infinite although they are not 0.

    Initial weights may become 0, which is a limit.

    Raises:
        ConfigurationError: a number is invalid; the error carries the settings that enter the row's numbers, and names
            number and role.
    """
    valid = _normal(dtype)
    for role, numbers in scaling.items():
        for name, value in numbers:
            least = valid._replace(low=0.0) if name == "init_std" else valid
            if value and not _inside(abs(value), least, dtype):
                keys = " or ".join(_entering(settings)) or "parameterisation"
                raise ConfigurationError(
                    keys, f"{name} of the role {role}: {_explanation(value, least, dtype)}"
                )


def refuse_numbers(
    cell: Cell,
    settings: CellSettings,
    factors: Mapping[str, RoleScaling],
    rates: Mapping[str, str],
    dtype: str,
) -> None:
    """Reject numbers of algorithm and optimiser that become 0 or infinite, unscaled or times a role's factor.

    Args:
        cell: the resolved cell.
        settings: the settings from which it was resolved.
        factors: the row's numbers of each role or layer.
        rates: for each trained role or layer, the setting of its learning rate.
        dtype: the floating-point type in which the cell is computed.

    Raises:
        ConfigurationError: a number is invalid; the error carries its key and states the valid numbers.
    """
    valid = _normal(dtype)
    values = vars(settings)
    for part in (cell.algorithm, cell.optimiser):
        for name, value in vars(part).items():
            # numbers equal to a setting were already checked against its bounds
            skipped = not isinstance(value, float) or value == values.get(name)
            if not (skipped or value == 0 or _inside(abs(value), valid, dtype)):
                raise ConfigurationError(_key(settings, name), _explanation(value, valid, dtype))
    for name, value, role, factor in _products(cell, settings, factors, rates):
        if not _inside(value * factor, valid, dtype):
            product = f"{value:g} times {factor:g}, the row's factor of the role {role},"
            raise ConfigurationError(
                _key(settings, name),
                f"{product} {_counts_as(value * factor, dtype)}. {_valid(valid.over(factor))}",
            )


def _products(
    cell: Cell, settings: CellSettings, factors: Mapping[str, RoleScaling], rates: Mapping[str, str]
) -> Iterator[tuple[str, float, str, float]]:
    """Yield the numbers that a row's factors multiply, for each trained role: key, value, role, factor."""
    numbers = vars(cell.optimiser)
    for role, key in rates.items():
        scaling = vars(factors[role])
        products = [(key, getattr(settings, key), scaling["learning_rate"])]
        products += [(n, numbers[n], scaling[n]) for n in _factors(type(cell.optimiser))]
        for name, value, factor in products:
            if value and factor:
                yield name, value, role, factor


@cache
def _factors(optimiser: type[OptimiserSpec]) -> list[str]:
    """Return the optimiser's numbers for which roles have a factor."""
    return [name for name in RoleScaling.model_fields if name in optimiser.model_fields]


@cache
def _bounds(model: type[Strict], dtype: str) -> list[tuple[str, Interval]]:
    """Return the valid numbers of every real-valued setting, from the bounds that it declares.

    Settings in (0, 1] are fractions: 1 minus the setting must be less than 1.
    """
    kind, bounds = np.dtype(dtype).type, []
    for name, field in model.model_fields.items():
        if float not in (field.annotation, *typing.get_args(field.annotation)):
            continue
        constraints = {
            key: bound for constraint in field.metadata for key, bound in _constraints(constraint)
        }
        most = float(np.finfo(kind).max)
        low, high = float(constraints.get("ge", -most)), float(constraints.get("le", most))
        if "gt" in constraints:
            low = (
                float(np.nextafter(kind(constraints["gt"]), kind(np.inf)))
                if constraints["gt"]
                else _tiny(dtype)
            )
            if (constraints["gt"], high) == (0, 1.0):
                low = 1.0 - float(np.nextafter(kind(1), kind(0)))
        if "lt" in constraints:
            high = float(np.nextafter(kind(constraints["lt"]), kind(-np.inf)))
        bounds.append((name, Interval(low, high)))
    return bounds


def _constraints(constraint: object) -> Iterator[tuple[str, float]]:
    for key in ("gt", "ge", "lt", "le"):
        if hasattr(constraint, key):
            yield key, getattr(constraint, key)


@cache
def _normal(dtype: str) -> Interval:
    """Return the interval of positive numbers that are neither subnormal nor infinite."""
    return Interval(_tiny(dtype), float(np.finfo(dtype).max))


def _tiny(dtype: str) -> float:
    return float(np.finfo(dtype).smallest_normal)


def _inside(value: float, valid: Interval, dtype: str) -> bool:
    if valid.low <= value <= valid.high:
        return True
    return valid.low <= _rounded(value, dtype) <= valid.high


def _rounded(value: float, dtype: str) -> float:
    """Return a number rounded to the dtype, with subnormal numbers flushed to 0."""
    with np.errstate(over="ignore"):
        rounded = float(np.dtype(dtype).type(value))
    return rounded if abs(rounded) >= _tiny(dtype) else 0.0


def _explanation(value: float, valid: Interval, dtype: str) -> str:
    lost = _counts_as(value, dtype)
    if 0 < _rounded(value, dtype) < valid.low:
        lost = f"leaves all of 1 in {dtype}"  # a fraction
    return f"{value:.9g} {lost}. {_valid(valid)}"


def _counts_as(value: float, dtype: str) -> str:
    return f"counts as {_rounded(value, dtype):.9g} in {dtype}"


def _valid(valid: Interval) -> str:
    return f"Valid: {valid.low:.9g} to {valid.high:.9g}"


def _key(settings: CellSettings, name: str) -> str:
    """Return the setting of a number: the one with its name, or one with which its name ends, as `input_damping`."""
    present = (key for key in type(settings).model_fields if getattr(settings, key) is not None)
    return max((key for key in present if name.endswith(key)), key=len, default=name)


def _entering(settings: CellSettings) -> list[str]:
    """Return the factors and exponents of a row's numbers that differ from their defaults."""
    fields = type(settings).model_fields
    known = (*Factors.__dataclass_fields__, *EXPONENTS, "exponent_changes")
    names = [name for name in known if name in fields]
    return [
        n for n in names if getattr(settings, n) != fields[n].get_default(call_default_factory=True)
    ]
