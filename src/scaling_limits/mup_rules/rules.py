"""Powers of width and depth for each role, from the project's table of parameterisations.

With m_N the ratio of target to base width and m_L that of depths, the row `depth_mup` at unit multipliers (Tensor
Programs V Table 3, depth-mup Tables 1 and 2) gives the powers of m_N by role, and by those of its hidden weights the
powers of m_L of all that is in a residual branch: with the branch multiplier m_L^-alpha and alpha + gamma = 1, Adam's
learning rate m_L^(alpha - 1) and epsilon m_L^-alpha, SGD's learning rate m_L^(2 alpha - 1). alpha = 1/2 is Depth-µP,
alpha = 1 CompleteP (Dey et al. 2025).
"""

import math
from fractions import Fraction
from typing import Literal, NamedTuple, get_args

from scaling_limits.mup_rules.roles import Role
from scaling_limits.parameterisations.table import Exponents, find_row

Optimiser = Literal["sgd", "adam", "adamw"]
OPTIMISERS: tuple[Optimiser, ...] = get_args(Optimiser)

_UPDATE_RULES = {"sgd": "sgd", "adam": "adam", "adamw": "adam"}


class Ratios(NamedTuple):
    """Target over base: width (m_N), depth (m_L), size of attention heads (m_head)."""

    width: Fraction
    depth: Fraction
    head: Fraction


class Power(NamedTuple):
    """`m_N^width * m_L^depth * m_head^head`."""

    width: float = 0.0
    depth: float = 0.0
    head: float = 0.0

    def at(self, ratios: Ratios) -> float:
        """Return the number; exactly 1 where all ratios are 1."""
        return math.prod(math.pow(r, p) for r, p in zip(ratios, self, strict=True))

    def __str__(self) -> str:
        named = zip(("m_N", "m_L", "m_head"), self, strict=True)
        return " ".join(f"{m}^{p:g}" if p != 1 else m for m, p in named if p) or "1"


class Rule(NamedTuple):
    """Powers of one parameter's initial standard deviation, learning rate, Adam's epsilon and weight decay."""

    init_std: Power
    learning_rate: Power
    epsilon: Power
    weight_decay: Power


def rule(role: Role, optimiser: Optimiser, *, in_branch: bool, depth_exponent: float) -> Rule:
    """Return the powers of a parameter.

    Weight decay has the inverse powers of the learning rate. Each step of decoupled weight decay removes the share
    `learning_rate * weight_decay` of a weight, which therefore does not depend on width and depth.

    Args:
        role: the parameter's role.
        optimiser: `sgd`, or `adam` and `adamw`, which have the same powers.
        in_branch: whether the parameter is in a residual branch.
        depth_exponent: alpha, of the branch multiplier m_L^-alpha.
    """
    row = find_row("depth_mup", _UPDATE_RULES[optimiser])
    exponents = Exponents(depth_exponent=depth_exponent, depth_lr_exponent=1.0 - depth_exponent)

    def power(quantity: str) -> Power:
        def along(axis: str, name: str) -> float:
            return exponents.value(row.exponent(name, quantity, axis, skip=True))

        width = 0.0 if role == "fixed" else along("width", "input" if role == "tied" else role)
        return Power(width, along("depth", "hidden") if in_branch else 0.0)

    rate = power("learning_rate")
    decay = Power(0.0 - rate.width, 0.0 - rate.depth)
    return Rule(power("init_std"), rate, power("epsilon"), decay)


def multipliers(
    optimiser: Optimiser, *, tied: bool, branches: bool, heads: bool, depth_exponent: float
) -> dict[str, Power]:
    """Return the powers of the multipliers that the model's forward pass needs besides its own.

    Args:
        optimiser: as in `rule`.
        tied: whether an embedding is the readout too: its logits are divided by the width (row `mup` of the table,
            Tensor Programs V Table 8).
        branches: whether the depth changes: each residual branch is multiplied by m_L^-alpha.
        heads: whether the size of attention heads changes: scores are divided by the size of a head instead of its
            root (Tensor Programs V Def. 4.1).
        depth_exponent: alpha.
    """
    tied_row = find_row("mup", _UPDATE_RULES[optimiser])
    logits = tied_row.exponent("output", "multiplier", "width", skip=False).constant
    needed = {
        "residual branches": Power(depth=-depth_exponent) if branches else None,
        "attention scores": Power(head=-0.5) if heads else None,
        "logits": Power(width=logits) if tied else None,
    }
    return {place: power for place, power in needed.items() if power is not None}
