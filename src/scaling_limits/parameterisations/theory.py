"""Powers of width and depth that follow from a row's exponents alone, at initialisation.

For a fully connected network with linear (or homogeneous) activations, fixed data and output size,
write `sizes` (root mean squares over units) as powers of the width N. The input's dimension is
fixed, so fan_in is N in hidden and output layers only; `a`, `sigma`, `eta` are a role's powers of N
in multiplier (times branch, with skips), init_std and learning rate, and `w` that of the output's
energy weight.

Forward: h_1 ~ N^(a + sigma) and each later branch multiplies by N^g, g = a + sigma + 1/2 (a sum of
N independent terms); a skip turns g into max(0, g). The output's error is r = y - f ~ N^max(0, f).
Backward: df/dh at the last hidden layer ~ N^(a + sigma) of the output layer (output size fixed), and
each hidden layer multiplies by N^g or N^max(0, g) again. Errors e_l of hidden layers:

- backpropagation: (df/dh_l) r;
- predictive coding, one sequential step from the forward pass, to first order in the output's energy
  weight: N^w (df/dh_l) r, which is also the shift of the activities (pc-tp (S.26), (S.31)). At
  equilibrium they are divided by 1 + C, C ~ N^(w + 1) (df/dh)^2 of the last hidden layer (pc-tp
  Theorem 4.2), so the power holds where C is not large;
- Gauss-Newton targets: r (df/dh_l) / (N (df/dh_l)^2)^e_B, so r / (N df/dh_l) at e_B = 1 (pc-tp Prop. 3.3).

One step changes layer l's preactivation by a_l dW_l h_{l-1}. The gradient's entries are a_l e_l
h_{l-1}. SGD: dW_l = -eta a_l e_l h_{l-1}^T, and h_{l-1}^T h_{l-1} adds N coherent terms: a^2 eta
e_l h_{l-1}^2 N. Adam's first step has entries of size eta whose signs are those of the gradient,
again coherent with h_{l-1}: a eta h_{l-1} N. The factor N is 1 in the input layer. Preconditioners with a
damping of the order of what it is added to (second-order Def. A.6) divide the gradient by the powers
of A ~ h_{l-1}^2 N and B ~ (df/du_l)^2 N, which has no N in the output layer; Shampoo by those of both
its moments, the squared norm of the derivative by a_l W_l. The change of the
last hidden activity is coherent with the initial output weights too: N^(a + sigma + 1) times it
(pc-tp (S.65)).

Depth L: where the residual forward pass is stable, a + sigma <= -1/2 as powers of L in hidden
layers, so activities and cotangents are O(1) in L. What one layer's change adds to the activities has
its own powers, 2 a + eta for SGD and a + eta for Adam; L of them add up coherently in the output.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from scaling_limits.parameterisations.table import (
    ROLES,
    ExponentChanges,
    Exponents,
    Row,
    check_changes,
)

PRECONDITIONERS = {"foof": (1.0, 0.0), "kfac": (1.0, 1.0)}
"""Powers (e_A, e_B) of both Kronecker factors."""
SHAMPOO = 0.5
"""Shampoo's power e."""

Algorithm = Literal["backpropagation", "predictive_coding", "gauss_newton_target"]


@dataclass(frozen=True)
class WidthExponents:
    """Powers of width: of each layer 1..L its preactivation, error, gradient entries and change by one
    step; of the change of the output by that of the last hidden activity; and of C.
    """

    preactivation: tuple[float, ...]
    error: tuple[float, ...]
    gradient: tuple[float, ...]
    update: tuple[float, ...]
    output_change: float
    rescaling: float


@dataclass(frozen=True)
class DepthExponents:
    """Powers of depth: of one hidden layer's change of preactivation by one step of its own weights,
    and of the change of the output by all hidden layers.
    """

    preactivation: float
    output_change: float


def width_exponents(
    row: Row,
    *,
    num_hidden_layers: int,
    skip: bool,
    exponents: Exponents,
    exponent_changes: ExponentChanges,
    algorithm: Algorithm = "backpropagation",
) -> WidthExponents:
    """Predicted powers of width of a network with `num_hidden_layers` H (L = H + 1 weight layers).

    Raises:
        ConfigurationError: for an unknown role, quantity or axis in `exponent_changes`, and for
            exponents that are not those of the row.
    """
    power = _powers("width", row, skip, exponents, exponent_changes)
    roles = ["input", *["hidden"] * (num_hidden_layers - 1), "output"]
    multiplier = {role: power(role, "multiplier") for role in ROLES}
    if skip:
        multiplier["hidden"] += power("hidden", "branch")
    size = {role: multiplier[role] + power(role, "init_std") for role in ROLES}
    growth = max(0.0, size["hidden"] + 0.5) if skip else size["hidden"] + 0.5

    hidden = range(num_hidden_layers)
    forward = [size["input"] + growth * layer for layer in hidden]
    slope = [size["output"] + growth * layer for layer in reversed(hidden)]
    forward.append(forward[-1] + size["output"] + 0.5)
    output_error = max(0.0, forward[-1])
    energy_weight = power("output", "energy_weight")
    given = exponents.preconditioner_exponent
    preconditioner = 1.0 if given is None else given
    own = {
        "backpropagation": slope,
        "predictive_coding": [energy_weight + one for one in slope],
        "gauss_newton_target": [one - preconditioner * (2 * one + 1) for one in slope],
    }
    error = [*(output_error + one for one in own[algorithm]), output_error]
    inputs = [0.0, *forward[:-1]]

    gradient, update = [], []
    for role, sent, entering, to_output in zip(roles, error, inputs, [*slope, 0.0], strict=True):
        size_in, size_out = (0.0 if role == fixed else 1.0 for fixed in ("input", "output"))
        coherent = entering + size_in
        gradient.append(multiplier[role] + sent + entering)
        factors = (2 * entering + size_in, 2 * to_output + size_out)
        of_weight = 2 * (sent + entering) + size_in + size_out
        step = power(role, "learning_rate")
        step += _direction(row.update_rule, gradient[-1], factors, of_weight)
        update.append(multiplier[role] + step + coherent)
    carried = [update[i] + growth * (num_hidden_layers - 1 - i) for i in hidden]
    return WidthExponents(
        preactivation=tuple(forward),
        error=tuple(error),
        gradient=tuple(gradient),
        update=tuple(update),
        output_change=max(carried) + size["output"] + 1.0,
        rescaling=energy_weight + 2 * max(slope) + 1.0,
    )


def _direction(
    update_rule: str, gradient: float, factors: tuple[float, float], moment: float
) -> float:
    """The power of the direction's entries, from those of the gradient, of A and B, and of Shampoo's moments."""
    if update_rule == "adam":
        return 0.0
    if update_rule == "shampoo":
        return gradient - SHAMPOO * moment
    powers = PRECONDITIONERS.get(update_rule, (0.0, 0.0))
    return gradient - sum(e * order for e, order in zip(powers, factors, strict=True))


def depth_exponents(
    row: Row, *, exponents: Exponents, exponent_changes: ExponentChanges
) -> DepthExponents | None:
    """Predicted powers of depth of a residual network; None if its forward pass is not stable.

    depth-mup Claims 7.1-7.3: the output's is 1 - alpha - gamma, the preactivation's -gamma.

    Raises:
        ConfigurationError: for an unknown role, quantity or axis in `exponent_changes`, and for
            exponents that are not those of the row.
    """
    power = _powers("depth", row, True, exponents, exponent_changes)
    branch = power("hidden", "branch")
    multiplier = power("hidden", "multiplier") + branch
    if multiplier + power("hidden", "init_std") > -0.5:
        return None
    times = 2.0 if row.update_rule == "sgd" else 1.0
    added = times * multiplier + power("hidden", "learning_rate")
    return DepthExponents(preactivation=added - branch, output_change=added + 1.0)


def _powers(
    axis: Literal["width", "depth"],
    row: Row,
    skip: bool,
    exponents: Exponents,
    changes: ExponentChanges,
) -> Callable[[str, str], float]:
    """Role and quantity -> the power of an axis."""
    check_changes(changes)
    exponents.check(row, skip=skip)

    def power(role: str, quantity: str) -> float:
        change = changes.get(role, {}).get(quantity, {}).get(axis, 0.0)
        return exponents.value(row.exponent(role, quantity, axis, skip=skip)) + change

    return power
