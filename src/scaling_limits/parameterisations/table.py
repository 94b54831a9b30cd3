"""The table of parameterisations, and how a row becomes numbers.

A row belongs to a scheme and an update rule and gives, per role of a weight, the standard deviation
that multiplies its unit draws, the multiplier of its forward pass, that of its residual branch, its
learning rate, Adam's epsilon and the damping of both Kronecker factors relative to the optimiser's,
and the weight of its error in predictive coding's energy; and, for the network as a whole, the
inference step relative to the activity learning rate. Each is a product of powers (`Power`).

`width / base_width` and `depth / base_depth` stand in the powers: `sp_*` has none; `mup` equals
`sp_gaussian` at `base_width`; the papers' formulas of `ntk`, `mean_field` and `mupc` are absolute,
which is `base_width = base_depth = 1`.
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

# what exponent changes may name: the quantities of each role, and the inference step, which has no role
SCALED = {**dict.fromkeys((*ROLES, *FEEDBACK_ROLES), QUANTITIES), "inference": ("step",)}

# what is of nodes: their layers have the role's
_OF_NODES = ("branch", "energy_weight")

ExponentChanges = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Role or layer -> quantity -> axis (`width` or `depth`) -> what is added to the exponent."""


@dataclass(frozen=True)
class Factors:
    """What a user multiplies into a row.

    `init_scale` multiplies all initial weights (pc-tp sigma'), `output_scale` enters by the row's
    powers (pcn-limits gamma_0), `branch_multiplier` multiplies hidden branches (depth-mup a),
    `energy_weight` the input's and hidden layers' weights (pc-tp gamma_l) and
    `output_energy_weight` the output's (pc-tp gamma'); `input_init_scale` and `output_init_scale` the initial
    weights of the input and the output further (second-order Figures S.8, S.14).
    """

    init_scale: float = 1.0
    output_scale: float = 1.0
    branch_multiplier: float = 1.0
    energy_weight: float = 1.0
    output_energy_weight: float = 1.0
    output_init_scale: float = 1.0
    input_init_scale: float = 1.0

    def of(self, role: str, quantity: str) -> float:
        """The factor of one entry, without `output_scale`."""
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
    """Values of the named exponents, None where a row has none or it is the usual one: alpha (pcn-limits,
    depth-mup), gamma (depth-mup), gamma_L of pc-tp, b_L of second-order, e_A and e_B of preconditioners and
    of pc-tp's Gauss-Newton targets, and d_A and d_B of the damping of both Kronecker factors.
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
        """The number that a linear expression takes."""

        def given(name: str) -> float:
            found: float | None = getattr(self, name)
            return USUAL.get(name, 0.0) if found is None else found

        return exponent.constant + sum(c * given(name) for name, c in exponent.named.items())

    def check(self, row: Row, *, skip: bool) -> None:
        """Refuse a value that the row has no use for, and the lack of one that it uses.

        Raises:
            ConfigurationError: naming the key.
        """
        for name in EXPONENTS:
            given = getattr(self, name) is not None
            if given and name not in row.exponents(skip=True):
                raise ConfigurationError(
                    name, f"parameterisation {row.scheme} has none; leave it unset"
                )
            if not given and name in row.exponents(skip=skip) - set(USUAL):
                raise ConfigurationError(name, f"parameterisation {row.scheme} needs it")


@dataclass(frozen=True)
class Parameterisation:
    """A row at one width and depth: role -> numbers, the factor of the activity learning rate, and the distribution of
    the unit draws.
    """

    scaling: dict[str, RoleScaling]
    inference_step: float
    init_distribution: Distribution


def find_row(scheme: str, update_rule: str, rows: Sequence[Row] = TABLE) -> Row:
    """The row of a scheme and an update rule.

    Raises:
        ConfigurationError: if there is none; a bare `sp` is refused, as it means two different
            schemes.
    """
    schemes = {row.scheme for row in rows}
    if scheme == "sp" and "sp" not in schemes:
        raise ConfigurationError(
            "parameterisation",
            "'sp' is ambiguous: say sp_gaussian (variance 1/fan_in) or "
            "sp_uniform (PyTorch's default, variance 1/(3 fan_in))",
        )
    if scheme not in schemes:
        raise ConfigurationError("parameterisation", unknown("parameterisation", scheme, schemes))
    found = [row for row in rows if row.scheme == scheme and row.update_rule == update_rule]
    if len(found) > 1:
        raise ConfigurationError(
            "parameterisation",
            f"{scheme} has two rows for {update_rule}; give yours another name",
        )
    if not found:
        rules = [row.update_rule for row in rows if row.scheme == scheme]
        raise ConfigurationError(
            "parameterisation", unknown(f"update rule of {scheme}", update_rule, rules)
        )
    return found[0]


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

    `exponent_changes` are the wrong exponents of control runs, which change nothing at the pivot sizes; those of a name
    in `weights` act on that layer alone, besides those of its role.

    Args:
        scheme: name of the parameterisation.
        optimiser: update rule of the row.
        width: N.
        depth: number of weight layers, or of blocks.
        input_dim: number of inputs, the fan-in of the input weights.
        base_width: width at which powers of the width are 1.
        base_depth: depth at which powers of the depth are 1.
        skip: whether the network has residual branches.
        factors: what the user multiplies into the row.
        exponents: values of the row's named exponents.
        exponent_changes: role or layer -> quantity -> axis -> exponent of a further power of `width / pivot_width` or
            `depth / pivot_depth`.
        weights: name -> (role, fan-in) of everything that has numbers of its own; each role if None, with `input_dim`
            or the width.
        feedback_dim: number of outputs that feedback starts from; None without feedback weights.
        pivot_width: width at which `exponent_changes` change nothing; `base_width` if None.
        pivot_depth: depth at which `exponent_changes` change nothing; `base_depth` if None.
        rows: the table, which may hold a user's own rows.

    Returns:
        The numbers of each name in `weights`, the factor of the activity learning rate, and the distribution of the
        unit draws.

    Raises:
        ConfigurationError: for an unknown scheme, update rule, role, quantity or axis, for an `output_scale` or
            exponent that the row has no use for, for the lack of an exponent that it uses, for feedback weights that
            the row does not cover, and for numbers that double precision does not have.
    """
    row = find_row(scheme, optimiser, rows)
    if feedback_dim is not None and not row.has_feedback:
        others = sorted({r.scheme for r in rows if r.update_rule == optimiser and r.has_feedback})
        raise ConfigurationError(
            "parameterisation",
            f"{scheme} has no feedback weights for {optimiser}; take {' or '.join(others)}",
        )
    exponents.check(row, skip=skip)
    if factors.output_scale != 1.0 and not any(power.output_scale for power in row.powers()):
        raise ConfigurationError(
            "output_scale", f"parameterisation {scheme} has none; leave it at 1"
        )
    fan_ins = {"input": input_dim, "hidden": width, "output": width}
    if feedback_dim is not None:
        fan_ins.update(feedback_hidden=width, feedback_output=feedback_dim)
    if weights is None:
        weights = {role: (role, fan_in) for role, fan_in in fan_ins.items()}
    check_changes(exponent_changes, weights)
    ratios = {"width": width / base_width, "depth": depth / base_depth}
    changed = {
        "width": width / (pivot_width or base_width),
        "depth": depth / (pivot_depth or base_depth),
    }

    def value(power: Power, role: str, name: str, fan_in: int, quantity: str) -> float:
        try:
            number = product(power, role, name, fan_in, quantity)
        except OverflowError:
            number = math.inf
        # initial weights may be 0, which small ones tend to
        lost = number == 0 and power.scale != 0 and quantity != "init_std"
        if lost or math.isinf(number):
            beyond = "infinite" if number else "0"
            raise ConfigurationError(
                "parameterisation",
                f"{scheme}: {quantity} of the role {role} is {beyond} in double precision at width "
                f"{width}, depth {depth}; exponents and exponent_changes should leave a number",
            )
        return number

    def product(power: Power, role: str, name: str, fan_in: int, quantity: str) -> float:
        number = (
            power.scale
            * fan_in**power.fan_in
            * factors.output_scale**power.output_scale
            * factors.of(role, quantity)
        )
        for axis, ratio in ratios.items():
            number *= ratio ** exponents.value(power.exponent(axis, skip=skip))
        for key in dict.fromkeys((role, name)):
            for axis, change in exponent_changes.get(key, {}).get(quantity, {}).items():
                number *= changed[axis] ** change
        return float(number)

    scaling = {
        name: RoleScaling(
            **{q: value(row.role(role).power(q), role, name, fan_in, q) for q in QUANTITIES}
        )
        for name, (role, fan_in) in weights.items()
    }
    step = value(row.inference_step, "inference", "inference", 1, "step")
    return Parameterisation(scaling, step, row.init_distribution)


def check_changes(changes: ExponentChanges, layers: Iterable[str] = ()) -> None:
    """Refuse unknown roles or `layers`, quantities and axes, and quantities of a layer that its whole node has.

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
