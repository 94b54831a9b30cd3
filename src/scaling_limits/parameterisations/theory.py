"""Powers of width and depth that follow from a row's exponents alone, at initialisation.

For a fully connected network with linear (or homogeneous) activations, fixed data and output size,
write `sizes` (root mean squares over units) as powers of the width N. The input's dimension is
fixed, so fan_in is N in hidden and output layers only; `a`, `sigma`, `eta` are a role's powers of N
in multiplier, init_std and learning rate.

Forward: h_1 ~ N^(a + sigma) and each later branch multiplies by N^g, g = a + sigma + 1/2 (a sum of
N independent terms); a skip turns g into max(0, g). Output error r = y - f ~ N^max(0, f). Backward:
dL/dh at the last hidden layer ~ N^(a + sigma + r) (output size fixed), and each hidden layer
multiplies by N^g or N^max(0, g) again. So the gradient's entries are a_l (dL/dh_l) h_{l-1}.

One step changes layer l's preactivation by a_l dW_l h_{l-1}. SGD: dW_l = -eta a_l (dL/dh_l)
h_{l-1}^T, and h_{l-1}^T h_{l-1} adds N coherent terms: a^2 eta (dL/dh_l) h_{l-1}^2 N. Adam's first
step has entries of size eta whose signs are those of the gradient, again coherent with h_{l-1}: a
eta h_{l-1} N. The factor N is 1 in the input layer.

Depth L: where the residual forward pass is stable, a + sigma <= -1/2 as powers of L in hidden
layers, so activities and cotangents are O(1) in L and what is left are the layer's own powers: 2 a
+ eta for SGD, a + eta for Adam.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from scaling_limits.parameterisations.table import ExponentChanges, Row, check_changes


@dataclass(frozen=True)
class WidthExponents:
    """Powers of width of each layer 1..L: preactivation, gradient entries, change by one step."""

    preactivation: tuple[float, ...]
    gradient: tuple[float, ...]
    update: tuple[float, ...]


def width_exponents(
    row: Row, *, num_hidden_layers: int, skip: bool, exponent_changes: ExponentChanges
) -> WidthExponents:
    """Predicted powers of width of a network with `num_hidden_layers` H (L = H + 1 weight layers).

    Raises:
        ConfigurationError: for an unknown role, quantity or axis in `exponent_changes`.
    """
    check_changes(exponent_changes)

    def power(role: str, quantity: str) -> float:
        entry = row.role(role).power(quantity)
        fan_in = 0.0 if role == "input" else entry.fan_in
        return fan_in + entry.width + _change(exponent_changes, role, quantity, "width")

    roles = ["input", *["hidden"] * (num_hidden_layers - 1), "output"]
    size = {role: power(role, "multiplier") + power(role, "init_std") for role in roles}
    growth = size.get("hidden", 0.0) + 0.5
    if skip:
        growth = max(0.0, growth)

    forward = [size["input"] + growth * layer for layer in range(num_hidden_layers)]
    forward.append(forward[-1] + size["output"] + 0.5)
    error = max(0.0, forward[-1])
    backward = [
        error + size["output"] + growth * (num_hidden_layers - 1 - layer)
        for layer in range(num_hidden_layers)
    ]
    backward.append(error)
    inputs = [0.0, *forward[:-1]]

    gradient, update = [], []
    for role, cotangent, entering in zip(roles, backward, inputs, strict=True):
        multiplier, rate = power(role, "multiplier"), power(role, "learning_rate")
        coherent = entering + (0.0 if role == "input" else 1.0)
        gradient.append(multiplier + cotangent + entering)
        step = rate + (gradient[-1] if row.update_rule == "sgd" else 0.0)
        update.append(multiplier + step + coherent)
    return WidthExponents(tuple(forward), tuple(gradient), tuple(update))


def depth_exponents(
    row: Row, *, depth_exponent: float | None, exponent_changes: ExponentChanges
) -> Mapping[str, float] | None:
    """Predicted power of L, per role, of one layer's change by one step; None if not depth-stable.

    For residual networks; `depth_exponent` is alpha. The L hidden layers' changes add up, so their
    sum has one more.

    Raises:
        ConfigurationError: for an unknown role, quantity or axis in `exponent_changes`.
    """
    check_changes(exponent_changes)

    def power(role: str, quantity: str) -> float:
        entry = row.role(role).power(quantity).depth_power(depth_exponent)
        return entry + _change(exponent_changes, role, quantity, "depth")

    if power("hidden", "multiplier") + power("hidden", "init_std") > -0.5:
        return None
    times = 2.0 if row.update_rule == "sgd" else 1.0
    return {
        role: times * power(role, "multiplier") + power(role, "learning_rate")
        for role in ("input", "hidden", "output")
    }


def _change(changes: ExponentChanges, role: str, quantity: str, axis: str) -> float:
    return changes.get(role, {}).get(quantity, {}).get(axis, 0.0)
