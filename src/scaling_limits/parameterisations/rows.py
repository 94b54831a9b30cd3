"""The rows of the table of parameterisations.

The papers' symbols: alpha is `depth_exponent`, gamma `depth_lr_exponent` (depth-mup), gamma_L `energy_weight_exponent`
(pc-tp, with a bar), gamma_0 `output_scale`, b_L `output_init_exponent`, e_A and e_B `input_preconditioner_exponent` and
`preconditioner_exponent`, d_A and d_B `input_damping_exponent` and `output_damping_exponent` (second-order).
"""

from scaling_limits.parameterisations.powers import (
    ROLES,
    Distribution,
    Exponent,
    Power,
    RolePowers,
    Row,
)

_FAN_IN = Power(fan_in=-0.5)
_BRANCH = Power(depth=Exponent(depth_exponent=-1.0))


def _standard(
    update_rule: str, scheme: str, scale: float, distribution: Distribution, source: str
) -> Row:
    init = Power(scale=scale, fan_in=-0.5)
    role = RolePowers(init_std=init)
    roles = {name: RolePowers(init_std=init, **_damping(update_rule, name)) for name in ROLES}
    return Row(
        scheme=scheme,
        update_rule=update_rule,
        init_distribution=distribution,
        **roles,
        feedback_hidden=role,
        feedback_output=role,
        source=source,
    )


def _of_preconditioner(
    update_rule: str, scheme: str, rates: dict[str, Power], output_init: Power, source: str
) -> Row:
    """Build a row with unit multipliers and hidden weights of variance 1/fan_in."""
    roles = {
        role: RolePowers(
            init_std=output_init if role == "output" else _FAN_IN,
            learning_rate=rates[role],
            **_damping(update_rule, role),
        )
        for role in ROLES
    }
    return Row(scheme=scheme, update_rule=update_rule, **roles, source=source)


def _preconditioned_mup(update_rule: str) -> Row:
    rates = {
        "input": Power(width=Exponent(constant=1.0, preconditioner_exponent=-1.0)),
        "hidden": Power(
            width=Exponent(input_preconditioner_exponent=1.0, preconditioner_exponent=-1.0)
        ),
        "output": Power(width=Exponent(constant=-1.0, input_preconditioner_exponent=1.0)),
    }
    # equal to 1/sqrt(fan_in) at the base width
    init = Power(fan_in=-0.5, width=Exponent(constant=0.5, output_init_exponent=-1.0))
    source = (
        "second-order Prop. 4.1, (9), Table 1, (S.81), at the optimiser's (e_A, e_B): SGD (0, 0), FOOF (1, 0), "
        "K-FAC (1, 1), Shampoo (e, e). With e_A = 0, pc-tp Prop. 3.3, (11): SGD with the Gauss-Newton target"
    )
    return _of_preconditioner(update_rule, "preconditioned_mup", rates, init, source)


def _lazy(update_rule: str) -> Row:
    later = Power(width=Exponent(constant=-1.0, input_preconditioner_exponent=1.0))
    rates = {"input": Power(), "hidden": later, "output": later}
    source = (
        "second-order (S.83), (S.84), Table S.3: r = 1/2, where the sign of e_B (2 r - 1), which is "
        "misprinted in (S.82), decides nothing"
    )
    return _of_preconditioner(update_rule, "lazy", rates, _FAN_IN, source)


_GAUSSIAN = "mupc Table 1 (PC, SP): variance 1/fan_in, unit multipliers"
_UNIFORM = "mupc A.4, pcn-limits A.8: U(-1/sqrt(fan_in), 1/sqrt(fan_in)), variance 1/(3 fan_in)"

_NTK_RATE = Power(output_scale=2.0)
_FIELD_RATE = Power(width=1.0, output_scale=2.0)
_FIELD_OUTPUT = Power(fan_in=-1.0, output_scale=-1.0)
_FIELD_EPSILON = Power(width=-1.0, output_scale=-1.0)

_MUP_OUTPUT = Power(width=-1.0)
# constant in width, and equal to 1/sqrt(fan_in) at the base width
_MUP_OUTPUT_INIT = Power(fan_in=-0.5, width=0.5)
_MUP_EPSILON = Power(width=-1.0)

# pc-tp's exponent b = 1, and equal to 1/sqrt(fan_in) at the base width
_SMALL_INIT = Power(fan_in=-0.5, width=-0.5)
_PC_OUTPUT_WEIGHT = Power(width=Exponent(energy_weight_exponent=-1.0))
_PC_EPSILON = Power(width=Exponent(constant=-1.0, energy_weight_exponent=-1.0))

_DEPTH_OUTPUT_INIT = Power(fan_in=-1.0)

# second-order (7), for the factors whose size is the width
_INPUT_DAMPING = Power(width=Exponent(input_damping_exponent=-1.0))
_OUTPUT_DAMPING = Power(width=Exponent(output_damping_exponent=-1.0))
_DAMPING = {
    "input": {"output_damping": _OUTPUT_DAMPING},
    "hidden": {"input_damping": _INPUT_DAMPING, "output_damping": _OUTPUT_DAMPING},
    "output": {"input_damping": _INPUT_DAMPING},
}
_KRONECKER = ("kfac", "foof")
PRECONDITIONED = ("sgd", *_KRONECKER, "shampoo")
"""Update rules that second-order compares; each supplies its e_A and e_B."""


def _damping(update_rule: str, role: str) -> dict[str, Power]:
    return _DAMPING[role] if update_rule in _KRONECKER else {}


def _pc_tp(scheme: str, output_init: Power, source: str, **feedback: RolePowers) -> Row:
    """Build a row with targets of order one in the input and hidden layers; GNT and TP have the same rates."""
    return Row(
        scheme=scheme,
        update_rule="sgd",
        input=RolePowers(init_std=_FAN_IN),
        hidden=RolePowers(init_std=_FAN_IN, learning_rate=Power(width=-1.0)),
        output=RolePowers(init_std=output_init, learning_rate=Power(width=-1.0)),
        **feedback,
        source=source,
    )


TABLE: tuple[Row, ...] = (
    _standard("sgd", "sp_gaussian", 1.0, "normal", _GAUSSIAN),
    _standard("adam", "sp_gaussian", 1.0, "normal", _GAUSSIAN),
    _standard("sgd", "sp_uniform", 3.0**-0.5, "uniform", _UNIFORM),
    _standard("adam", "sp_uniform", 3.0**-0.5, "uniform", _UNIFORM),
    *(
        Row(
            scheme="orthogonal",
            update_rule=rule,
            init_distribution="orthogonal",
            **{role: RolePowers() for role in ROLES},
            source="mupc Sec. 4, A.13: orthogonal weights, at the ends semi-orthogonal, unit multipliers",
        )
        for rule in ("sgd", "adam")
    ),
    *(_standard(r, "sp_gaussian", 1.0, "normal", _GAUSSIAN) for r in PRECONDITIONED[1:]),
    *(_standard(r, "sp_uniform", 3.0**-0.5, "uniform", _UNIFORM) for r in PRECONDITIONED[1:]),
    Row(
        scheme="ntk",
        update_rule="sgd",
        input=RolePowers(multiplier=_FAN_IN, learning_rate=_NTK_RATE),
        hidden=RolePowers(multiplier=_FAN_IN, learning_rate=_NTK_RATE),
        output=RolePowers(
            multiplier=Power(fan_in=-0.5, output_scale=-1.0), learning_rate=_NTK_RATE
        ),
        source="pcn-limits Table 2, Eq. 7-14: gamma = gamma_0, rate gamma^2",
    ),
    Row(
        scheme="mean_field",
        update_rule="sgd",
        input=RolePowers(multiplier=_FAN_IN, learning_rate=_FIELD_RATE),
        hidden=RolePowers(multiplier=_FAN_IN, branch=_BRANCH, learning_rate=_FIELD_RATE),
        output=RolePowers(multiplier=_FIELD_OUTPUT, learning_rate=_FIELD_RATE),
        source="pcn-limits Table 2, Eq. 7-14, 18, 95-98: gamma = gamma_0 sqrt(N), rate gamma^2",
    ),
    Row(
        scheme="mean_field",
        update_rule="adam",
        input=RolePowers(multiplier=_FAN_IN, epsilon=_FIELD_EPSILON),
        hidden=RolePowers(
            multiplier=_FAN_IN,
            branch=_BRANCH,
            learning_rate=Power(width=-0.5, depth=Exponent(constant=-1.0, depth_exponent=1.0)),
            epsilon=Power(width=-1.5, depth=Exponent(depth_exponent=-1.0), output_scale=-1.0),
        ),
        output=RolePowers(multiplier=_FIELD_OUTPUT, epsilon=_FIELD_EPSILON),
        source="pcn-limits A.6: hidden rate N^-1/2 L^(alpha-1), not on top of SGD's gamma^2. "
        "Epsilon follows the gradients (the paper names none)",
    ),
    Row(
        scheme="mup",
        update_rule="sgd",
        input=RolePowers(init_std=_FAN_IN, learning_rate=Power(width=1.0)),
        hidden=RolePowers(init_std=_FAN_IN),
        output=RolePowers(
            init_std=_MUP_OUTPUT_INIT, multiplier=_MUP_OUTPUT, learning_rate=Power(width=1.0)
        ),
        source="Tensor Programs V Table 8, relative to the base width: output multiplier 1/width",
    ),
    Row(
        scheme="mup",
        update_rule="adam",
        input=RolePowers(init_std=_FAN_IN, epsilon=_MUP_EPSILON),
        hidden=RolePowers(init_std=_FAN_IN, learning_rate=Power(width=-1.0), epsilon=_MUP_EPSILON),
        output=RolePowers(init_std=_MUP_OUTPUT_INIT, multiplier=_MUP_OUTPUT, epsilon=_MUP_EPSILON),
        source="Tensor Programs V Table 8; epsilon follows the gradients (appendix B.3)",
    ),
    Row(
        scheme="mupc",
        update_rule="adam",
        input=RolePowers(multiplier=_FAN_IN),
        hidden=RolePowers(multiplier=_FAN_IN, branch=Power(depth=-0.5)),
        output=RolePowers(multiplier=Power(fan_in=-1.0)),
        source="mupc Table 1, for residual networks and Adam only; learning rates are not rescaled",
    ),
    Row(
        scheme="pc_mup",
        update_rule="sgd",
        input=RolePowers(
            init_std=_FAN_IN,
            learning_rate=Power(width=Exponent(constant=1.0, energy_weight_exponent=1.0)),
        ),
        hidden=RolePowers(
            init_std=_FAN_IN,
            learning_rate=Power(width=Exponent(energy_weight_exponent=1.0)),
        ),
        output=RolePowers(
            init_std=_SMALL_INIT,
            learning_rate=Power(width=-1.0),
            energy_weight=_PC_OUTPUT_WEIGHT,
        ),
        source="pc-tp Table 1 (PC), (5), (12), (S.20)",
    ),
    Row(
        scheme="pc_mup",
        update_rule="adam",
        input=RolePowers(init_std=_FAN_IN, epsilon=_PC_EPSILON),
        hidden=RolePowers(init_std=_FAN_IN, learning_rate=Power(width=-1.0), epsilon=_PC_EPSILON),
        output=RolePowers(
            init_std=_SMALL_INIT,
            learning_rate=Power(width=-1.0),
            energy_weight=_PC_OUTPUT_WEIGHT,
        ),
        source="pc-tp (5), (S.174). Epsilon follows the gradients (the paper names none)",
    ),
    Row(
        scheme="pc_ntk",
        update_rule="sgd",
        input=RolePowers(
            init_std=_FAN_IN,
            learning_rate=Power(width=Exponent(energy_weight_exponent=1.0)),
        ),
        hidden=RolePowers(
            init_std=_FAN_IN,
            learning_rate=Power(width=Exponent(constant=-1.0, energy_weight_exponent=1.0)),
        ),
        output=RolePowers(
            init_std=_FAN_IN,
            learning_rate=Power(width=-1.0),
            energy_weight=_PC_OUTPUT_WEIGHT,
        ),
        source="pc-tp (5), (S.21), (S.71)-(S.74)",
    ),
    *(_preconditioned_mup(rule) for rule in PRECONDITIONED),
    *(_lazy(rule) for rule in PRECONDITIONED),
    _pc_tp("gnt_mup", _SMALL_INIT, "pc-tp Table 1 (GNT), (11) with e_B = 1"),
    _pc_tp(
        "tp_mup",
        _FAN_IN,
        "pc-tp Table 1 (TP), (17); feedback (S.168), (S.173) at b_L = 1/2",
        feedback_hidden=RolePowers(init_std=_SMALL_INIT),
        feedback_output=RolePowers(init_std=_FAN_IN, learning_rate=Power(width=1.0)),
    ),
    Row(
        scheme="depth_mup",
        update_rule="sgd",
        input=RolePowers(init_std=_FAN_IN, learning_rate=Power(width=1.0)),
        hidden=RolePowers(
            init_std=_FAN_IN,
            branch=_BRANCH,
            learning_rate=Power(depth=Exponent(depth_exponent=1.0, depth_lr_exponent=-1.0)),
        ),
        output=RolePowers(init_std=_DEPTH_OUTPUT_INIT, learning_rate=Power(width=-1.0)),
        source="depth-mup Tables 1 and 2, (4): SGD's true rates, with n^d L^delta taken in. "
        "Inputs of norm sqrt(d_in) instead of 1",
    ),
    Row(
        scheme="depth_mup",
        update_rule="adam",
        input=RolePowers(init_std=_FAN_IN, epsilon=Power(width=-1.0)),
        hidden=RolePowers(
            init_std=_FAN_IN,
            branch=_BRANCH,
            learning_rate=Power(width=-1.0, depth=Exponent(depth_lr_exponent=-1.0)),
            epsilon=Power(width=-1.0, depth=Exponent(depth_exponent=-1.0)),
        ),
        output=RolePowers(init_std=_DEPTH_OUTPUT_INIT, learning_rate=Power(width=-1.0)),
        source="depth-mup Tables 1 and 2, (4), Sec. 6.1: epsilon divided by n^d L^delta. "
        "Inputs of norm sqrt(d_in) instead of 1",
    ),
)
