"""A row's powers of width in the forms that papers print.

Moving a power of width from a layer's initial weights to its multiplier changes nothing if its learning rate changes
accordingly (pc-tp Sec. 2.2, pcn-limits Sec. 2.2). Under SGD and optimisers that precondition its gradients, the
invariants are s, minus the power of `multiplier * init_std`, and t, minus the power of `learning_rate * multiplier^2`.
A gauge fixes the part of s that is in the multiplier.
"""

from dataclasses import dataclass

from scaling_limits.errors import ConfigurationError
from scaling_limits.parameterisations.powers import Exponent, Row
from scaling_limits.parameterisations.rows import PRECONDITIONED


@dataclass(frozen=True)
class InitAndRate:
    """A layer's `(b, c)` of pc-tp Eq. 9 at a = 0: standard deviation N^-b, learning rate N^-c."""

    b: Exponent
    c: Exponent


@dataclass(frozen=True)
class VarianceAndRate:
    """A layer's exponents in depth-mup Table 2 at unit multiplier: variance N^variance, Adam's learning rate N^-c."""

    variance: Exponent
    c: Exponent


@dataclass(frozen=True)
class OutputScaled:
    """The exponents of pcn-limits Eq. 7-14, with the names there; `b` are exponents of variances."""

    a_1: Exponent
    b_1: Exponent
    a_l: Exponent
    b_l: Exponent
    c: Exponent
    d: Exponent


def init_and_rate(row: Row, role: str) -> InitAndRate:
    """Return the powers of a role at unit multiplier.

    Raises:
        ConfigurationError: the row is for an update rule other than SGD or its preconditioners.
    """
    if row.update_rule not in PRECONDITIONED:
        raise ConfigurationError(
            "update_rule",
            f"{row.scheme}, {row.update_rule}: (b, c) are defined for sgd and for optimisers that precondition "
            "its gradients",
        )

    def power(quantity: str) -> Exponent:
        return row.exponent(role, quantity, "width", skip=False)

    return InitAndRate(
        b=(power("multiplier") + power("init_std")) * -1.0,
        c=(power("learning_rate") + power("multiplier") * 2.0) * -1.0,
    )


def variance_and_rate(row: Row, role: str) -> VarianceAndRate:
    """Return the powers of a role at unit multiplier; c is the exponent of the effective rate, depth-mup Def. 6.1.

    A step of Adam does not scale with the gradient, so its learning rate is the effective one, and a multiplier enters
    once.

    Raises:
        ConfigurationError: the row is for an update rule other than Adam.
    """
    if row.update_rule != "adam":
        raise ConfigurationError(
            "update_rule",
            f"{row.scheme}, {row.update_rule}: c, the exponent of an effective learning rate, is defined for adam "
            "only",
        )

    def power(quantity: str) -> Exponent:
        return row.exponent(role, quantity, "width", skip=False)

    return VarianceAndRate(
        variance=(power("multiplier") + power("init_std")) * 2.0,
        c=(power("learning_rate") + power("multiplier")) * -1.0,
    )


def output_scaled(row: Row, gauge: float) -> OutputScaled:
    """Return the exponents of `f = h_L / gamma` with `gamma = gamma_0 N^d`, one rate and a_l = `gauge`.

    The rate is `eta_0 gamma^2 N^-c`. With a layer's s and t: d = (t_L - t_l)/2, c = t_l - 2 a_l + 2 d, a_1 = (t_1 - c +
    2 d)/2, and b = 2 (s - a).

    Raises:
        ConfigurationError: the row is not for SGD or its preconditioners, or it has no such form because s_L = s_l + d
            does not hold.
    """
    first, hidden, last = (init_and_rate(row, role) for role in ("input", "hidden", "output"))
    a_l = Exponent(constant=gauge)
    d = (last.c - hidden.c) * 0.5
    if last.b != hidden.b + d:
        raise ConfigurationError(
            row.scheme, "the output weights are not hidden weights divided by a power of the width"
        )
    c = hidden.c - a_l * 2.0 + d * 2.0
    a_1 = (first.c - c) * 0.5 + d
    return OutputScaled(
        a_1=a_1, b_1=(first.b - a_1) * 2.0, a_l=a_l, b_l=(hidden.b - a_l) * 2.0, c=c, d=d
    )
