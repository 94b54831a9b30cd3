"""A row's powers of width in the forms that papers print.

Moving a power of width from a layer's initial weights to its multiplier changes nothing if its
learning rate moves along (pc-tp Sec. 2.2, pcn-limits Sec. 2.2). Under SGD, and what preconditions its gradients, what
stays is s, minus the power of `multiplier * init_std`, and t, minus that of `learning_rate * multiplier^2`. A gauge
says how much of s is in the multiplier.
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
    """The exponents of pcn-limits Eq. 7-14, with its names; `b` are exponents of variances."""

    a_1: Exponent
    b_1: Exponent
    a_l: Exponent
    b_l: Exponent
    c: Exponent
    d: Exponent


def init_and_rate(row: Row, role: str) -> InitAndRate:
    """The powers of a role at unit multiplier.

    Raises:
        ConfigurationError: if the row is one of another rule than SGD or its preconditioners.
    """
    if row.update_rule not in PRECONDITIONED:
        raise ConfigurationError(
            None,
            f"{row.scheme}, {row.update_rule}: (b, c) are exponents of SGD and of what preconditions its gradients",
        )

    def power(quantity: str) -> Exponent:
        return row.exponent(role, quantity, "width", skip=False)

    return InitAndRate(
        b=(power("multiplier") + power("init_std")) * -1.0,
        c=(power("learning_rate") + power("multiplier") * 2.0) * -1.0,
    )


def variance_and_rate(row: Row, role: str) -> VarianceAndRate:
    """The powers of a role at unit multiplier; c is that of the effective learning rate, depth-mup Def. 6.1.

    A step of Adam does not scale with the gradient, so its learning rate is the effective one, and a multiplier
    multiplies it once.

    Raises:
        ConfigurationError: if the row is one of another rule than Adam.
    """
    if row.update_rule != "adam":
        raise ConfigurationError(
            None,
            f"{row.scheme}, {row.update_rule}: c is the exponent of an effective learning rate, for rows of adam",
        )

    def power(quantity: str) -> Exponent:
        return row.exponent(role, quantity, "width", skip=False)

    return VarianceAndRate(
        variance=(power("multiplier") + power("init_std")) * 2.0,
        c=(power("learning_rate") + power("multiplier")) * -1.0,
    )


def output_scaled(row: Row, gauge: float) -> OutputScaled:
    """`f = h_L / gamma`, `gamma = gamma_0 N^d`, one rate `eta_0 gamma^2 N^-c`, and a_l = `gauge`.

    From a layer's s and t: d = (t_L - t_l)/2, c = t_l - 2 a_l + 2 d, a_1 = (t_1 - c + 2 d)/2, and
    b = 2 (s - a).

    Raises:
        ConfigurationError: if the row is not one of SGD, or has no such form, as s_L = s_l + d does
            not hold.
    """
    first, hidden, last = (init_and_rate(row, role) for role in ("input", "hidden", "output"))
    a_l = Exponent(constant=gauge)
    d = (last.c - hidden.c) * 0.5
    if last.b != hidden.b + d:
        raise ConfigurationError(
            row.scheme, "its output is not a hidden layer over a power of the width"
        )
    c = hidden.c - a_l * 2.0 + d * 2.0
    a_1 = (first.c - c) * 0.5 + d
    return OutputScaled(
        a_1=a_1, b_1=(first.b - a_1) * 2.0, a_l=a_l, b_l=(hidden.b - a_l) * 2.0, c=c, d=d
    )
