"""The table of parameterisations, and the evaluation of a row to numbers.

A row belongs to a scheme and an update rule. For each role of a weight, it gives the standard deviation that multiplies
its unit draws, its multiplier in the forward pass, the multiplier of its residual branch, its learning rate, Adam's
epsilon and the damping of both Kronecker factors relative to the optimiser's, and the weight of its error in predictive
coding's energy. For the network as a whole, it gives the inference step relative to the activity learning rate. Each is
a product of powers (`Power`).

The bases of the powers are `width / base_width` and `depth / base_depth`. `sp_*` has none; `mup` equals `sp_gaussian`
at `base_width`. The papers' formulas of `ntk`, `mean_field` and `mupc` are absolute, which corresponds to `base_width =
base_depth = 1`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scaling_limits.cells import RoleScaling
from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.parameterisations.powers import (
    AXES,
    EXPONENTS,
    FEEDBACK_ROLES,
    QUANTITIES,
    ROLES,
    USUAL,
    Distribution,
    Exponent,
    Power,
    RolePowers,
    Row,
)
from scaling_limits.parameterisations.rows import TABLE

__all__ = [
    "FEEDBACK_ROLES",
    "QUANTITIES",
    "ROLES",
    "TABLE",
    "Distribution",
    "Exponent",
    "ExponentChanges",
    "Exponents",
    "Factors",
    "Parameterisation",
    "Power",
    "RolePowers",
    "Row",
    "check_changes",
    "find_row",
    "resolve",
]

# valid names in exponent changes: the quantities of each role, and the inference step, which has no role
SCALED = {**dict.fromkeys((*ROLES, *FEEDBACK_ROLES), QUANTITIES), "inference": ("step",)}

# quantities of nodes, which are the same for all layers of a node
_OF_NODES = ("branch", "energy_weight")

ExponentChanges = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Role or layer -> quantity -> axis (`width` or `depth`) -> number that is added to the exponent."""


@dataclass(frozen=True)
class Factors:
    """Factors by which the user multiplies the numbers of a row.

    Attributes:
        init_scale: multiplies all initial weights (pc-tp sigma').
        output_scale: enters by the row's powers (pcn-limits gamma_0).
        branch_multiplier: multiplies hidden branches (depth-mup a).
        energy_weight: multiplies the energy weights of the input and hidden layers (pc-tp gamma_l).
        output_energy_weight: multiplies the energy weight of the output (pc-tp gamma').
        output_init_scale: further multiplies the output's initial weights (second-order Figures S.8, S.14).
        input_init_scale: further multiplies the input's initial weights.
    """

    init_scale: float = 1.0
    output_scale: float = 1.0
    branch_multiplier: float = 1.0
    energy_weight: float = 1.0
    output_energy_weight: float = 1.0
    output_init_scale: float = 1.0
    input_init_scale: float = 1.0

    def of(self, role: str, quantity: str) -> float:
        """Return the factor of one entry, without `output_scale`."""
        if quantity == "init_std":
            own = {"input": self.input_init_scale, "output": self.output_init_scale}
            return self.init_scale * own.get(role, 1.0)
        if quantity == "branch" and role == "hidden":
            return self.branch_multiplier
        if quantity == "energy_weight":
            return self.output_energy_weight if role == "output" else self.energy_weight
        return 1.0


@dataclass(frozen=True)
class Exponents:
    """Values of the named exponents; None if a row does not have it or uses its default.

    They are alpha (pcn-limits, depth-mup), gamma (depth-mup), gamma_L of pc-tp, b_L of second-order, e_A and e_B of
    preconditioners and of pc-tp's Gauss-Newton targets, and d_A and d_B of the damping of both Kronecker factors.
    """

    depth_exponent: float | None = None
    depth_lr_exponent: float | None = None
    energy_weight_exponent: float | None = None
    output_init_exponent: float | None = None
    input_preconditioner_exponent: float | None = None
    preconditioner_exponent: float | None = None
    input_damping_exponent: float | None = None
    output_damping_exponent: float | None = None

    def value(self, exponent: Exponent) -> float:
        """Return the value of an exponent that is linear in the named ones."""

        def named(name: str) -> float:
            own: float | None = getattr(self, name)
            return USUAL.get(name, 0.0) if own is None else own

        return exponent.constant + sum(c * named(name) for name, c in exponent.named.items())

    def check(self, row: Row, *, skip: bool) -> None:
        """Reject values that the row does not use, and missing values that it uses.

        Raises:
            ConfigurationError: naming the key.
        """
        for name in EXPONENTS:
            is_set = getattr(self, name) is not None
            if is_set and name not in row.exponents(skip=True):
                raise ConfigurationError(
                    name, f"parameterisation {row.scheme} does not use it; leave it out"
                )
            if not is_set and name in row.exponents(skip=skip) - set(USUAL):
                raise ConfigurationError(name, f"required by parameterisation {row.scheme}")


@dataclass(frozen=True)
class Parameterisation:
    """A row evaluated at one width and depth.

    `scaling` holds the numbers of each role, `inference_step` is the factor of the activity learning rate, and
    `init_distribution` the distribution of the unit draws.
    """

    scaling: dict[str, RoleScaling]
    inference_step: float
    init_distribution: Distribution


def find_row(scheme: str, update_rule: str, rows: Sequence[Row] = TABLE) -> Row:
    """Return the row of a scheme and an update rule.

    Raises:
        ConfigurationError: there is no such row; a bare `sp` is rejected, because it may mean two different schemes.
    """
    schemes = {row.scheme for row in rows}
    if scheme == "sp" and "sp" not in schemes:
        raise ConfigurationError(
            "parameterisation",
            "'sp' is ambiguous; use sp_gaussian (variance 1/fan_in) or sp_uniform (PyTorch's default, variance "
            "1/(3 fan_in))",
        )
    if scheme not in schemes:
        raise ConfigurationError("parameterisation", unknown("parameterisation", scheme, schemes))
    matching = [row for row in rows if row.scheme == scheme and row.update_rule == update_rule]
    if len(matching) > 1:
        raise ConfigurationError(
            "parameterisation",
            f"{scheme} has two rows for {update_rule}; rename yours",
        )
    if not matching:
        rules = [row.update_rule for row in rows if row.scheme == scheme]
        raise ConfigurationError(
            "parameterisation", unknown(f"update rule of {scheme}", update_rule, rules)
        )
    return matching[0]


def resolve(
    scheme: str,
    optimiser: str,
    *,
    width: int,
    depth: int,
    input_dim: int,
    base_width: float,
    base_depth: float,
    skip: bool,
    factors: Factors,
    exponents: Exponents,
    exponent_changes: ExponentChanges,
    weights: Mapping[str, tuple[str, int]] | None = None,
    feedback_dim: int | None = None,
    pivot_width: float | None = None,
    pivot_depth: float | None = None,
    rows: Sequence[Row] = TABLE,
) -> Parameterisation:
    """Compute the numbers of a row for a network of a width and a depth.

    `exponent_changes` are the wrong exponents of control runs, which change nothing at the pivot sizes. Changes for a
    name in `weights` act on that layer only, in addition to those of its role.

    Args:
        scheme: name of the parameterisation.
        optimiser: update rule of the row.
        width: N.
        depth: number of weight layers, or of blocks.
        input_dim: number of inputs, the fan-in of the input weights.
        base_width: width at which powers of the width are 1.
        base_depth: depth at which powers of the depth are 1.
        skip: whether the network has residual branches.
        factors: the user's factors of the row's numbers.
        exponents: values of the row's named exponents.
        exponent_changes: role or layer -> quantity -> axis -> exponent of a further power of `width / pivot_width` or
            `depth / pivot_depth`.
        weights: name -> (role, fan-in) of everything with separate numbers; each role if None, with `input_dim` or the
            width as fan-in.
        feedback_dim: number of outputs from which feedback starts; None without feedback weights.
        pivot_width: width at which `exponent_changes` change nothing; `base_width` if None.
        pivot_depth: depth at which `exponent_changes` change nothing; `base_depth` if None.
        rows: the table, which may contain a user's rows.

    Returns:
        The numbers of each name in `weights`, the factor of the activity learning rate, and the distribution of the
        unit draws.

    Raises:
        ConfigurationError: a scheme, update rule, role, quantity or axis is unknown; the row does not use a given
            `output_scale` or exponent, or needs a missing exponent; the row does not cover feedback weights; or a
            number is not representable in double precision.
    """
    row = find_row(scheme, optimiser, rows)
    if feedback_dim is not None:
        _require_feedback(row, rows)
    exponents.check(row, skip=skip)
    if factors.output_scale != 1.0 and not any(power.output_scale for power in row.powers()):
        raise ConfigurationError(
            "output_scale", f"parameterisation {scheme} does not use it; leave it out"
        )
    if weights is None:
        weights = _by_role(input_dim, width, feedback_dim)
    check_changes(exponent_changes, weights)
    sizes = {"width": width, "depth": depth}
    base = {"width": base_width, "depth": base_depth}
    pivot = {"width": pivot_width or base_width, "depth": pivot_depth or base_depth}
    value = _Evaluation(
        scheme, sizes, base, pivot, skip, factors, exponents, exponent_changes
    ).value
    scaling = {
        name: RoleScaling(
            **{q: value(row.role(role).power(q), role, name, fan_in, q) for q in QUANTITIES}
        )
        for name, (role, fan_in) in weights.items()
    }
    step = value(row.inference_step, "inference", "inference", 1, "step")
    return Parameterisation(scaling, step, row.init_distribution)


def _by_role(input_dim: int, width: int, feedback_dim: int | None) -> dict[str, tuple[str, int]]:
    """Return every role with its fan-in, by its name."""
    fan_ins = {"input": input_dim, "hidden": width, "output": width}
    if feedback_dim is not None:
        fan_ins.update(feedback_hidden=width, feedback_output=feedback_dim)
    return {role: (role, fan_in) for role, fan_in in fan_ins.items()}


def _require_feedback(row: Row, rows: Sequence[Row]) -> None:
    if not row.has_feedback:
        rule = row.update_rule
        others = sorted({r.scheme for r in rows if r.update_rule == rule and r.has_feedback})
        raise ConfigurationError(
            "parameterisation",
            f"{row.scheme} defines no feedback weights for {rule}; use {' or '.join(others)}",
        )


@dataclass(frozen=True)
class _Evaluation:
    """Evaluation of the powers of a row at one width and depth."""

    scheme: str
    sizes: Mapping[str, int]
    base: Mapping[str, float]
    pivot: Mapping[str, float]
    skip: bool
    factors: Factors
    exponents: Exponents
    changes: ExponentChanges

    def value(self, power: Power, role: str, name: str, fan_in: int, quantity: str) -> float:
        """Return the number of an entry of the row.

        Args:
            power: the entry.
            role: role of the weights.
            name: name of the weights; equal to the role if they have no numbers of their own.
            fan_in: fan-in of the weights.
            quantity: name of the entry.

        Raises:
            ConfigurationError: the number is not representable in double precision.
        """
        try:
            number = self._product(power, role, name, fan_in, quantity)
        except OverflowError:
            number = math.inf
        # initial weights may be 0, the limit of small ones
        lost = number == 0 and power.scale != 0 and quantity != "init_std"
        if lost or math.isinf(number):
            beyond = "infinite" if number else "0"
            raise ConfigurationError(
                "parameterisation",
                f"{self.scheme}: {quantity} of the role {role} is {beyond} in double precision at width "
                f"{self.sizes['width']}, depth {self.sizes['depth']}; change exponents or exponent_changes",
            )
        return number

    def _product(self, power: Power, role: str, name: str, fan_in: int, quantity: str) -> float:
        """Return the number of an entry, which may not be representable.

        Args:
            power: the entry.
            role: role of the weights.
            name: name of the weights.
            fan_in: fan-in of the weights.
            quantity: name of the entry.
        """
        number = (
            power.scale
            * fan_in**power.fan_in
            * self.factors.output_scale**power.output_scale
            * self.factors.of(role, quantity)
        )
        for axis, size in self.sizes.items():
            exponent = self.exponents.value(power.exponent(axis, skip=self.skip))
            number *= (size / self.base[axis]) ** exponent
        for key in dict.fromkeys((role, name)):
            for axis, change in self.changes.get(key, {}).get(quantity, {}).items():
                number *= (self.sizes[axis] / self.pivot[axis]) ** change
        return float(number)


def check_changes(changes: ExponentChanges, layers: Iterable[str] = ()) -> None:
    """Reject unknown roles or `layers`, quantities and axes, and quantities of a layer that belong to its whole node.

    Raises:
        ConfigurationError: naming the nearest valid word.
    """
    of_layer = tuple(quantity for quantity in QUANTITIES if quantity not in _OF_NODES)
    scaled = {**dict.fromkeys(layers, of_layer), **SCALED}
    for role, quantities in changes.items():
        if role not in scaled:
            raise ConfigurationError("exponent_changes", unknown("role or layer", role, scaled))
        for quantity, axes in quantities.items():
            if quantity not in scaled[role]:
                problem = unknown("scaled quantity", quantity, scaled[role])
                raise ConfigurationError(f"exponent_changes.{role}", problem)
            for axis in axes:
                if axis not in AXES:
                    problem = unknown("scaling axis", axis, AXES)
                    raise ConfigurationError(f"exponent_changes.{role}.{quantity}", problem)
