"""The table of parameterisations, and how a row becomes numbers.

A row belongs to a scheme and an update rule and gives, per role of a weight, the standard deviation
that multiplies its unit draws, the multiplier of its forward pass, its learning rate relative to
the optimiser's, and Adam's epsilon relative to the optimiser's; and, for the network as a whole,
the inference step relative to the activity learning rate. Each is a product of powers (`Power`).

`width / base_width` and `depth / base_depth` (L, weight layers) stand in the powers: `sp_*` has
none; `mup` equals `sp_gaussian` at `base_width`; the papers' formulas of `mean_field` and `mupc`
are absolute, which is `base_width = base_depth = 1`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from scaling_limits.cells import RoleScaling
from scaling_limits.errors import ConfigurationError, unknown

UpdateRule = Literal["sgd", "adam"]
Distribution = Literal["normal", "uniform", "orthogonal"]

ROLES = ("input", "hidden", "output")
QUANTITIES = ("init_std", "multiplier", "learning_rate", "epsilon")
AXES = ("width", "depth")
# what exponent changes may name: the quantities of each role, and the inference step, which has no role
SCALED = {**dict.fromkeys(ROLES, QUANTITIES), "inference": ("step",)}

ExponentChanges = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Role -> quantity -> axis (`width` or `depth`) -> what is added to the exponent."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Power(_Model):
    """`scale * fan_in^p * (N/base_width)^q * (L/base_depth)^r * output_scale^g`.

    `residual_depth = (c, k)` adds `c + k alpha` to the power of depth in networks with skips, whose
    depth exponent alpha is given (pcn-limits Eq. 18), and nothing where there is none.
    """

    scale: float = 1.0
    fan_in: float = 0.0
    width: float = 0.0
    depth: float = 0.0
    residual_depth: tuple[float, float] = (0.0, 0.0)
    output_scale: float = 0.0

    def depth_power(self, depth_exponent: float | None) -> float:
        """The power of depth, at the depth exponent alpha (None: no skips)."""
        if depth_exponent is None:
            return self.depth
        constant, slope = self.residual_depth
        return self.depth + constant + slope * depth_exponent


class RolePowers(_Model):
    """What a row says of the weights of one role."""

    init_std: Power = Power()
    multiplier: Power = Power()
    learning_rate: Power = Power()
    epsilon: Power = Power()

    def power(self, quantity: str) -> Power:
        """The entry of one of `QUANTITIES`."""
        power: Power = getattr(self, quantity)
        return power


class Row(_Model):
    """One row of the table; `source` says where its entries stand."""

    scheme: str
    update_rule: UpdateRule
    init_distribution: Distribution = "normal"
    input: RolePowers
    hidden: RolePowers
    output: RolePowers
    inference_step: Power = Power()
    source: str

    def role(self, role: str) -> RolePowers:
        """The entries of one of `ROLES`."""
        powers: RolePowers = getattr(self, role)
        return powers

    def powers(self) -> list[Power]:
        """All entries."""
        by_role = [self.role(role).power(quantity) for role in ROLES for quantity in QUANTITIES]
        return [*by_role, self.inference_step]


@dataclass(frozen=True)
class Parameterisation:
    """A row at one width and depth: role -> numbers, the factor of the activity learning rate, and the distribution of
    the unit draws.
    """

    scaling: dict[str, RoleScaling]
    inference_step: float
    init_distribution: Distribution


def _standard(
    update_rule: UpdateRule, scheme: str, scale: float, distribution: Distribution, source: str
) -> Row:
    role = RolePowers(init_std=Power(scale=scale, fan_in=-0.5))
    return Row(
        scheme=scheme,
        update_rule=update_rule,
        init_distribution=distribution,
        input=role,
        hidden=role,
        output=role,
        source=source,
    )


_GAUSSIAN = "mupc Table 1 (PC, SP): variance 1/fan_in, unit multipliers"
_UNIFORM = "mupc A.4, pcn-limits A.8: U(-1/sqrt(fan_in), 1/sqrt(fan_in)), variance 1/(3 fan_in)"

_MEAN_FIELD_INPUT = Power(fan_in=-0.5)
_MEAN_FIELD_HIDDEN = Power(fan_in=-0.5, residual_depth=(0.0, -1.0))
_MEAN_FIELD_OUTPUT = Power(fan_in=-1.0, output_scale=-1.0)
_MEAN_FIELD_SGD = Power(width=1.0, output_scale=2.0)

_MUP_OUTPUT = Power(width=-1.0)
_MUP_INIT = Power(fan_in=-0.5)
# constant in width, and 1/sqrt(fan_in) at the base width
_MUP_OUTPUT_INIT = Power(fan_in=-0.5, width=0.5)
_MUP_EPSILON = Power(width=-1.0)

TABLE: tuple[Row, ...] = (
    _standard("sgd", "sp_gaussian", 1.0, "normal", _GAUSSIAN),
    _standard("adam", "sp_gaussian", 1.0, "normal", _GAUSSIAN),
    _standard("sgd", "sp_uniform", 3.0**-0.5, "uniform", _UNIFORM),
    _standard("adam", "sp_uniform", 3.0**-0.5, "uniform", _UNIFORM),
    Row(
        scheme="mean_field",
        update_rule="sgd",
        input=RolePowers(multiplier=_MEAN_FIELD_INPUT, learning_rate=_MEAN_FIELD_SGD),
        hidden=RolePowers(multiplier=_MEAN_FIELD_HIDDEN, learning_rate=_MEAN_FIELD_SGD),
        output=RolePowers(multiplier=_MEAN_FIELD_OUTPUT, learning_rate=_MEAN_FIELD_SGD),
        source="pcn-limits Table 2, Eq. 7-14, 18, 95-98: gamma = gamma_0 sqrt(N), rate gamma^2",
    ),
    Row(
        scheme="mean_field",
        update_rule="adam",
        input=RolePowers(
            multiplier=_MEAN_FIELD_INPUT, epsilon=Power(width=-1.0, output_scale=-1.0)
        ),
        hidden=RolePowers(
            multiplier=_MEAN_FIELD_HIDDEN,
            learning_rate=Power(width=-0.5, residual_depth=(-1.0, 1.0)),
            epsilon=Power(width=-1.5, residual_depth=(0.0, -1.0), output_scale=-1.0),
        ),
        output=RolePowers(
            multiplier=_MEAN_FIELD_OUTPUT, epsilon=Power(width=-1.0, output_scale=-1.0)
        ),
        source="pcn-limits A.6: hidden rate N^-1/2 L^(alpha-1), not on top of SGD's gamma^2. "
        "Epsilon follows the gradients (the paper names none)",
    ),
    Row(
        scheme="mup",
        update_rule="sgd",
        input=RolePowers(init_std=_MUP_INIT, learning_rate=Power(width=1.0)),
        hidden=RolePowers(init_std=_MUP_INIT),
        output=RolePowers(
            init_std=_MUP_OUTPUT_INIT, multiplier=_MUP_OUTPUT, learning_rate=Power(width=1.0)
        ),
        source="Tensor Programs V Table 8, relative to the base width: output multiplier 1/width",
    ),
    Row(
        scheme="mup",
        update_rule="adam",
        input=RolePowers(init_std=_MUP_INIT, epsilon=_MUP_EPSILON),
        hidden=RolePowers(
            init_std=_MUP_INIT, learning_rate=Power(width=-1.0), epsilon=_MUP_EPSILON
        ),
        output=RolePowers(init_std=_MUP_OUTPUT_INIT, multiplier=_MUP_OUTPUT, epsilon=_MUP_EPSILON),
        source="Tensor Programs V Table 8; epsilon follows the gradients (appendix B.3)",
    ),
    Row(
        scheme="mupc",
        update_rule="adam",
        input=RolePowers(multiplier=Power(fan_in=-0.5)),
        hidden=RolePowers(multiplier=Power(fan_in=-0.5, depth=-0.5)),
        output=RolePowers(multiplier=Power(fan_in=-1.0)),
        source="mupc Table 1, for residual networks and Adam only; learning rates are not rescaled",
    ),
)


def find_row(scheme: str, update_rule: str, rows: Sequence[Row] = TABLE) -> Row:
    """The row of a scheme and an update rule.

    Raises:
        ConfigurationError: if there is none; a bare `sp` is refused, as it means two different
            schemes.
    """
    schemes = {row.scheme for row in rows}
    if scheme == "sp" and "sp" not in schemes:
        raise ConfigurationError(
            "parameterisation 'sp' is ambiguous: say sp_gaussian (variance 1/fan_in) or "
            "sp_uniform (PyTorch's default, variance 1/(3 fan_in))"
        )
    if scheme not in schemes:
        raise ConfigurationError(unknown("parameterisation", scheme, schemes))
    found = [row for row in rows if row.scheme == scheme and row.update_rule == update_rule]
    if len(found) > 1:
        raise ConfigurationError(
            f"parameterisation {scheme} has two rows for {update_rule}; give yours another name"
        )
    if not found:
        rules = [row.update_rule for row in rows if row.scheme == scheme]
        raise ConfigurationError(unknown(f"update rule of {scheme}", update_rule, rules))
    return found[0]


def resolve(
    scheme: str,
    optimiser: str,
    *,
    width: int,
    num_weight_layers: int,
    input_dim: int,
    output_dim: int,
    base_width: float,
    base_depth: float,
    output_scale: float,
    depth_exponent: float | None,
    exponent_changes: ExponentChanges,
    pivot_width: float | None = None,
    pivot_depth: float | None = None,
    rows: Sequence[Row] = TABLE,
) -> Parameterisation:
    """The numbers of a row for a network of `num_weight_layers` (L) layers of `width` N.

    `output_scale` is gamma_0 of pcn-limits (1 elsewhere) and `depth_exponent` its alpha, None
    without skips. `exponent_changes` multiplies quantities by further powers of `width /
    pivot_width` and `num_weight_layers / pivot_depth` (default: the base sizes): the wrong exponents
    of control runs, which change nothing at the pivot. `rows` may hold a user's own.

    Raises:
        ConfigurationError: for an unknown scheme, update rule, role, quantity or axis, and for an
            `output_scale` or `depth_exponent` that the row has no use for.
    """
    row = find_row(scheme, optimiser, rows)
    check_changes(exponent_changes)
    powers = row.powers()
    if output_scale != 1.0 and not any(power.output_scale for power in powers):
        raise ConfigurationError(f"parameterisation {scheme} has no output_scale; leave it at 1")
    if depth_exponent is not None and not any(any(p.residual_depth) for p in powers):
        raise ConfigurationError(f"parameterisation {scheme} has no depth_exponent; leave it unset")
    fan_ins = {"input": input_dim, "hidden": width, "output": width, "inference": 1}
    ratios = {"width": width / base_width, "depth": num_weight_layers / base_depth}
    changed = {
        "width": width / (pivot_width or base_width),
        "depth": num_weight_layers / (pivot_depth or base_depth),
    }

    def value(power: Power, role: str, quantity: str) -> float:
        number = (
            power.scale
            * fan_ins[role] ** power.fan_in
            * ratios["width"] ** power.width
            * ratios["depth"] ** power.depth_power(depth_exponent)
            * output_scale**power.output_scale
        )
        for axis, change in exponent_changes.get(role, {}).get(quantity, {}).items():
            number *= changed[axis] ** change
        return float(number)

    scaling = {
        role: RoleScaling(
            **{name: value(row.role(role).power(name), role, name) for name in QUANTITIES}
        )
        for role in ROLES
    }
    step = value(row.inference_step, "inference", "step")
    return Parameterisation(scaling, step, row.init_distribution)


def check_changes(changes: ExponentChanges) -> None:
    """Refuse unknown roles, quantities and axes.

    Raises:
        ConfigurationError: naming the nearest valid word.
    """
    for role, quantities in changes.items():
        if role not in SCALED:
            raise ConfigurationError(unknown("role", role, SCALED))
        for quantity, axes in quantities.items():
            if quantity not in SCALED[role]:
                raise ConfigurationError(unknown("scaled quantity", quantity, SCALED[role]))
            for axis in axes:
                if axis not in AXES:
                    raise ConfigurationError(unknown("scaling axis", axis, AXES))
