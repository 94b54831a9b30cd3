"""The form of a row of the table: numbers as products of powers, for each role of a weight."""

from collections.abc import Mapping
from functools import cached_property
from typing import Literal

from scaling_limits.strict import Strict

Distribution = Literal["normal", "uniform", "orthogonal"]

ROLES = ("input", "hidden", "output")
FEEDBACK_ROLES = ("feedback_hidden", "feedback_output")
QUANTITIES = (
    "init_std",
    "multiplier",
    "branch",
    "learning_rate",
    "epsilon",
    "energy_weight",
    "input_damping",
    "output_damping",
)
AXES = ("width", "depth")
EXPONENTS = (
    "depth_exponent",
    "depth_lr_exponent",
    "energy_weight_exponent",
    "output_init_exponent",
    "input_preconditioner_exponent",
    "preconditioner_exponent",
    "input_damping_exponent",
    "output_damping_exponent",
)
USUAL = {"output_init_exponent": 1.0, "input_preconditioner_exponent": 0.0}
"""Default values of optional exponents: b_L of muP, and e_A of optimisers that precondition errors only."""


class Exponent(Strict):
    """An exponent that is linear in the named exponents of a setting: `constant + sum_i c_i e_i`."""

    constant: float = 0.0
    depth_exponent: float = 0.0
    depth_lr_exponent: float = 0.0
    energy_weight_exponent: float = 0.0
    output_init_exponent: float = 0.0
    input_preconditioner_exponent: float = 0.0
    preconditioner_exponent: float = 0.0
    input_damping_exponent: float = 0.0
    output_damping_exponent: float = 0.0

    @cached_property
    def named(self) -> dict[str, float]:
        """The named exponents with non-zero coefficients, and these coefficients."""
        coefficients = {name: float(getattr(self, name)) for name in EXPONENTS}
        return {name: value for name, value in coefficients.items() if value}

    def at(self, values: Mapping[str, float]) -> "Exponent":
        """Substitute numbers for those named exponents that have a value."""
        known = {name: c for name, c in self.named.items() if name in values}
        number = sum(c * values[name] for name, c in known.items())
        return Exponent(constant=number, **{name: -c for name, c in known.items()}) + self

    def __add__(self, other: "Exponent") -> "Exponent":
        terms = {name: getattr(self, name) + getattr(other, name) for name in EXPONENTS}
        return Exponent(constant=self.constant + other.constant, **terms)

    def __mul__(self, factor: float) -> "Exponent":
        terms = {name: factor * getattr(self, name) for name in EXPONENTS}
        return Exponent(constant=factor * self.constant, **terms)

    def __sub__(self, other: "Exponent") -> "Exponent":
        return self + other * -1.0


class Power(Strict):
    """`scale * fan_in^p * (width/base_width)^q * (depth/base_depth)^r * output_scale^g`.

    A power of depth that contains a named exponent belongs to residual branches: it is zero in networks without skips.
    """

    scale: float = 1.0
    fan_in: float = 0.0
    width: float | Exponent = 0.0
    depth: float | Exponent = 0.0
    output_scale: float = 0.0

    def exponent(self, axis: str, *, skip: bool) -> Exponent:
        """Return the exponent of one of `AXES`."""
        value: float | Exponent = getattr(self, axis)
        exponent = value if isinstance(value, Exponent) else Exponent(constant=value)
        return exponent if skip or axis == "width" or not exponent.named else Exponent()


class RolePowers(Strict):
    """The entries of a row for the weights of one role."""

    init_std: Power = Power()
    multiplier: Power = Power()
    branch: Power = Power()
    learning_rate: Power = Power()
    epsilon: Power = Power()
    energy_weight: Power = Power()
    input_damping: Power = Power()
    output_damping: Power = Power()

    def power(self, quantity: str) -> Power:
        """Return the entry of one of `QUANTITIES`."""
        power: Power = getattr(self, quantity)
        return power


class Row(Strict):
    """One row of the table, for the optimiser named by `update_rule`; `source` cites its entries.

    Rows for networks without feedback weights may omit their entries.
    """

    scheme: str
    update_rule: str
    init_distribution: Distribution = "normal"
    input: RolePowers
    hidden: RolePowers
    output: RolePowers
    feedback_hidden: RolePowers | None = None
    feedback_output: RolePowers | None = None
    inference_step: Power = Power()
    source: str

    def role(self, role: str) -> RolePowers:
        """Return the entries of one of `ROLES`, or of one of `FEEDBACK_ROLES` if the row has them."""
        powers: RolePowers = getattr(self, role)
        return powers

    @property
    def has_feedback(self) -> bool:
        """Whether the row has entries for feedback weights."""
        return None not in (self.feedback_hidden, self.feedback_output)

    def exponent(self, role: str, quantity: str, axis: str, *, skip: bool) -> Exponent:
        """Return the exponent of an axis in one entry of the row.

        fan_in counts as the width, except for weights that act on the network's input or output.

        Args:
            role: one of `ROLES`, or of `FEEDBACK_ROLES` if the row has them.
            quantity: one of `QUANTITIES`.
            axis: `width` or `depth`.
            skip: whether the network has residual branches.

        Returns:
            The exponent, linear in the named exponents.
        """
        power = self.role(role).power(quantity)
        fixed = role in ("input", "feedback_output")
        fan_in = power.fan_in if axis == "width" and not fixed else 0.0
        return power.exponent(axis, skip=skip) + Exponent(constant=fan_in)

    def powers(self) -> list[Power]:
        """Return all entries."""
        roles = [*ROLES, *(FEEDBACK_ROLES if self.has_feedback else ())]
        by_role = [self.role(role).power(quantity) for role in roles for quantity in QUANTITIES]
        return [*by_role, self.inference_step]

    def exponents(self, *, skip: bool) -> frozenset[str]:
        """Return the named exponents that the row's entries use."""
        return self._exponents[skip]

    @cached_property
    def _exponents(self) -> dict[bool, frozenset[str]]:
        """The result of `exponents` by `skip`, cached because thousands of cells request it."""
        entries = [(power, axis) for power in self.powers() for axis in AXES]
        return {
            skip: frozenset(
                n for power, axis in entries for n in power.exponent(axis, skip=skip).named
            )
            for skip in (False, True)
        }
