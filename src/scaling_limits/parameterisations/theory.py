"""Powers of width and depth that follow from a row's exponents alone, at initialisation.

For a fully connected network with linear (or homogeneous) activations, fixed data and output size, `sizes` (root mean
squares over units) are written as powers of the width N. The input's dimension is fixed, so fan_in is N in hidden and
output layers only. `a`, `sigma`, `eta` are a role's powers of N in multiplier (times branch, with skips), init_std and
learning rate, and `w` is the power of the output's energy weight.

Forward: h_1 ~ N^(a + sigma), and each later branch multiplies by N^g, g = a + sigma + 1/2 (a sum of N independent
terms); a skip turns g into max(0, g). The output's error is r = y - f ~ N^max(0, f). Backward: df/dh at the last hidden
layer is ~ N^(a + sigma) of the output layer (output size fixed), and each hidden layer multiplies by N^g or N^max(0, g)
again. Errors e_l of hidden layers:

- backpropagation: (df/dh_l) r;
- predictive coding, one sequential step from the forward pass, to first order in the output's energy weight: N^w
  (df/dh_l) r, which is also the shift of the activities (pc-tp (S.26), (S.31)). At equilibrium, errors are divided by 1
  + C, C ~ N^(w + 1) (df/dh)^2 of the last hidden layer (pc-tp Theorem 4.2), so the power holds if C is not large;
- Gauss-Newton targets: r (df/dh_l) / (N (df/dh_l)^2)^e_B, so r / (N df/dh_l) at e_B = 1 (pc-tp Prop. 3.3).

One step changes layer l's preactivation by a_l dW_l h_{l-1}. The gradient's entries are a_l e_l h_{l-1}. SGD: dW_l =
-eta a_l e_l h_{l-1}^T, and h_{l-1}^T h_{l-1} adds N coherent terms: a^2 eta e_l h_{l-1}^2 N. Adam's first step has
entries of size eta with the signs of the gradient, again coherent with h_{l-1}: a eta h_{l-1} N. The factor N is 1 in
the input layer. Preconditioners with a damping of the order of the damped matrix (second-order Def. A.6) divide the
gradient by the powers of A ~ h_{l-1}^2 N and B ~ (df/du_l)^2 N, which has no N in the output layer. Shampoo divides by
the powers of both its moments, the squared norm of the derivative with respect to a_l W_l. The change of the last
hidden activity is coherent with the initial output weights, too: it is multiplied by N^(a + sigma + 1) (pc-tp (S.65)).

Depth L: if the residual forward pass is stable, a + sigma <= -1/2 as powers of L in hidden layers, so activities and
cotangents are O(1) in L. The contribution of one layer's change to the activities has different powers, 2 a + eta for
SGD and a + eta for Adam; L of them add up coherently in the output. With a larger a + sigma, activities grow faster
than any power of L (depth-mup D.1), which is an infinite power here.

Blocks of several layers (`block_exponents`): within a branch, each layer multiplies by N^g, and its error is multiplied
by the g of the layers above it, all times the branch multiplier. The input of a branch is N^0 after layer norm. In
attention, scores q.k/d with d ~ N are sums of independent terms at initialisation, so attention weights are uniform up
to N^(-1/2). The error of the scores, a sum of N independent products of values and errors, reaches queries multiplied
by keys and divided by N, and keys likewise.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

from scaling_limits.errors import ConfigurationError
from scaling_limits.parameterisations.powers import EXPONENTS
from scaling_limits.parameterisations.table import (
    ROLES,
    ExponentChanges,
    Exponents,
    Row,
    check_changes,
    find_row,
)

PRECONDITIONERS = {"foof": (1.0, 0.0), "kfac": (1.0, 1.0)}
"""Powers (e_A, e_B) of both Kronecker factors."""
SHAMPOO = 0.5
"""Shampoo's exponent e."""
_SUMS = {"width": (0.5, 1.0), "depth": (0.0, 0.0)}
"""Powers that sums over the units of a layer add, by axis: of independent and of coherent terms."""

ROUNDING = 1e-9
"""Sums of exponents closer to zero than this are treated as zero."""

Algorithm = Literal["backpropagation", "predictive_coding", "gauss_newton_target"]


@dataclass(frozen=True)
class WidthExponents:
    """Powers of width.

    For each layer 1..L, they are the powers of its preactivation, error, gradient entries and change by one step.
    `output_change` is the power of the change of the output by the change of the last hidden activity, and `rescaling`
    is the power of C.
    """

    preactivation: tuple[float, ...]
    error: tuple[float, ...]
    gradient: tuple[float, ...]
    update: tuple[float, ...]
    output_change: float
    rescaling: float


DepthQuantity = Literal["activity", "initial_change", "update", "preactivation", "output_change"]
DepthRegion = Literal[
    "unstable at initialisation",
    "unstable in training",
    "trivial",
    "unfaithful",
    "redundant",
    "diverse",
]
"""Names of depth-mup's definitions for a parameterisation; `diverse` means feature diversity exponent 1/2."""


@dataclass(frozen=True)
class DepthExponents:
    """Powers of depth of a residual network, one field for each `DepthQuantity`.

    Attributes:
        activity: the features x_0^l at initialisation.
        initial_change: the contribution of a fixed fraction of the L branches to the features at initialisation.
        update: the change of a block's preactivation by one step of its weights.
        preactivation: a block's preactivation h_1^l after one step of all weights.
        output_change: the change f_1 - f_0 of the output by one step of the blocks' weights.
    """

    activity: float
    initial_change: float
    update: float
    preactivation: float
    output_change: float

    @property
    def region(self) -> DepthRegion:
        """The region of depth-mup Fig. 1 in which these exponents lie."""
        return depth_region(
            activity=self.activity,
            initial_change=self.initial_change,
            preactivation=self.preactivation,
            output_change=self.output_change,
        )


class Blocks(NamedTuple):
    """Residual blocks.

    `branches` are the names of the layers of each branch, from below. `scores` are queries and keys of attention, whose
    values are the first layer of the first branch. With `normalised`, layer norm precedes branches and output.
    """

    branches: tuple[tuple[str, ...], ...]
    scores: tuple[str, ...] = ()
    normalised: bool = False


TRANSFORMER = Blocks(
    (("value", "attention"), ("expansion", "contraction")), ("query", "key"), normalised=True
)
"""The blocks of a transformer with layer norm."""


class WeightExponents(NamedTuple):
    """Powers of one weight.

    They are the powers of its preactivation at initialisation, of its gradient's entries, and of the change of its
    preactivation by one step of it.
    """

    preactivation: float
    gradient: float
    update: float


@dataclass(frozen=True)
class BlockExponents:
    """Powers of width or depth of residual blocks.

    They are the powers of each weight by the name of its layer, of the output of the last block, and of the change of
    the network's output by one step of all weights except the output weights.
    """

    weights: dict[str, WeightExponents]
    activity: float
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
    """Predict the powers of width of a fully connected network.

    Args:
        row: the row of the table.
        num_hidden_layers: H; the network has L = H + 1 weight layers.
        skip: whether hidden layers 2..H are residual branches.
        exponents: values of the row's named exponents.
        exponent_changes: role -> quantity -> axis -> number that is added to the exponent; may be empty.
        algorithm: the algorithm whose errors are predicted.

    Returns:
        The powers, those of layers in tuples of length L.

    Raises:
        ConfigurationError: for an unknown role, quantity or axis in `exponent_changes`, and for exponents that do not
            belong to the row.
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
    relative = _relative_errors(algorithm, slope, energy_weight, exponents.preconditioner_exponent)
    error = [*(output_error + one for one in relative), output_error]
    inputs = [0.0, *forward[:-1]]

    gradient, update = [], []
    for role, sent, entering, to_output in zip(roles, error, inputs, [*slope, 0.0], strict=True):
        gradient.append(multiplier[role] + sent + entering)
        direction = _direction(row.update_rule, role, gradient[-1], sent, entering, to_output)
        step = power(role, "learning_rate") + direction
        coherent = entering + _size(role, "input")
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


def _relative_errors(
    algorithm: Algorithm, slope: Sequence[float], energy_weight: float, exponent: float | None
) -> list[float]:
    """Return the powers of the hidden layers' errors relative to the output's error.

    Args:
        algorithm: the algorithm.
        slope: powers of the derivatives of the output with respect to the hidden preactivations.
        energy_weight: power of the energy weight of the output.
        exponent: e_B of Gauss-Newton targets; 1 if None.
    """
    if algorithm == "predictive_coding":
        return [energy_weight + one for one in slope]
    if algorithm == "gauss_newton_target":
        preconditioner = 1.0 if exponent is None else exponent
        return [one - preconditioner * (2 * one + 1) for one in slope]
    return list(slope)


def _size(role: str, fixed: str) -> float:
    """Return the power of a weight's fan-in or fan-out, which does not grow for the role `fixed`."""
    return 0.0 if role == fixed else 1.0


def _direction(
    update_rule: str, role: str, gradient: float, sent: float, entering: float, to_output: float
) -> float:
    """Return the power of the entries of the direction of a weight's update.

    Args:
        update_rule: the optimiser.
        role: role of the weight.
        gradient: power of the entries of the gradient.
        sent: power of the error at the weight's node.
        entering: power of the inputs of the weight.
        to_output: power of the derivative of the output with respect to the weight's node.

    Raises:
        ConfigurationError: there is no theory for the optimiser.
    """
    if update_rule == "adam":
        return 0.0
    if update_rule == "sgd":
        return gradient
    size_in, size_out = _size(role, "input"), _size(role, "output")
    if update_rule == "shampoo":
        moment = 2 * (sent + entering) + size_in + size_out
        return gradient - SHAMPOO * moment
    if update_rule not in PRECONDITIONERS:
        known = ", ".join(("adam", "sgd", "shampoo", *PRECONDITIONERS))
        raise ConfigurationError(
            "update_rule", f"powers of width are predicted for {known}, not for '{update_rule}'"
        )
    factors = (2 * entering + size_in, 2 * to_output + size_out)
    powers = PRECONDITIONERS[update_rule]
    return gradient - sum(e * order for e, order in zip(powers, factors, strict=True))


def depth_exponents(
    row: Row, *, exponents: Exponents, exponent_changes: ExponentChanges
) -> DepthExponents:
    """Predict the powers of depth of a linear residual network.

    depth-mup Claims 7.1-7.3, App. D: the output's change has the power 1 - alpha - gamma, a block's update the power
    -gamma, and all are infinite for alpha < 1/2.

    Raises:
        ConfigurationError: for an unknown role, quantity or axis in `exponent_changes`, and for exponents that do not
            belong to the row.
    """
    power = _powers("depth", row, True, exponents, exponent_changes)
    branch = power("hidden", "branch")
    initial_preactivation = power("hidden", "multiplier") + power("hidden", "init_std")
    initial_change = initial_preactivation + branch + 0.5
    if initial_change > ROUNDING:
        return DepthExponents(*[math.inf] * 5)
    multiplier = power("hidden", "multiplier") + branch
    times = 2.0 if row.update_rule == "sgd" else 1.0
    added = times * multiplier + power("hidden", "learning_rate")
    output_change, update = added + 1.0, added - branch
    return DepthExponents(
        activity=0.0,
        initial_change=initial_change,
        update=update,
        # initial weights act on features that all blocks have changed
        preactivation=max(initial_preactivation + max(0.0, output_change), update),
        output_change=output_change,
    )


def depth_region(
    *,
    activity: float,
    initial_change: float,
    preactivation: float,
    output_change: float,
    tolerance: float = ROUNDING,
) -> DepthRegion:
    """Classify a parameterisation by powers of depth, predicted or measured.

    depth-mup Def. 7.2 to 7.6, Claims 7.1 to 7.5, for unit initial preactivations: stable at initialisation if features
    are O(1); stable in training if the output's change is O(1), and trivial if it vanishes; faithful if preactivations
    stay O(1); redundant if the contribution of the random initial branches to the features vanishes.

    Args:
        activity: power of the features at initialisation.
        initial_change: power of the contribution of a fixed fraction of the branches to the features at initialisation.
        preactivation: power of a block's preactivation after one step.
        output_change: power of the change of the output by one step.
        tolerance: absolute value up to which a power counts as zero, that is as O(1).

    Returns:
        The region.
    """
    if activity > tolerance:
        return "unstable at initialisation"
    if output_change > tolerance:
        return "unstable in training"
    if output_change < -tolerance:
        return "trivial"
    if preactivation > tolerance:
        return "unfaithful"
    return "redundant" if initial_change < -tolerance else "diverse"


def depth_exponents_of(settings: Mapping[str, str | float | None]) -> DepthExponents:
    """Predict the powers of depth of a cell from its settings, without its `exponent_changes`.

    The intentionally wrong exponents of controls are therefore not part of the prediction.

    Args:
        settings: `parameterisation`, `optimiser` and the named exponents; others are ignored.

    Raises:
        ConfigurationError: the parameterisation is not in the project's table, or there is no theory for the optimiser.
    """
    optimiser = str(settings["optimiser"])
    if optimiser not in ("sgd", "adam"):
        raise ConfigurationError(
            "optimiser", f"powers of depth are predicted for sgd and adam, not for '{optimiser}'"
        )
    row = find_row(str(settings["parameterisation"]), optimiser)
    # a table of cells has NaN for settings that a cell does not have
    named = {name: settings.get(name) for name in EXPONENTS if name in row.exponents(skip=True)}
    values = {
        name: float(value) for name, value in named.items() if not (value is None or value != value)
    }
    return depth_exponents(row, exponents=Exponents(**values), exponent_changes={})


def block_exponents(
    axis: Literal["width", "depth"],
    row: Row,
    blocks: Blocks,
    *,
    exponents: Exponents,
    exponent_changes: ExponentChanges,
) -> BlockExponents | None:
    """Predict the powers of width or depth of residual blocks of several layers, trained with SGD or Adam.

    Args:
        axis: `width` or `depth`.
        row: the row of the table.
        blocks: the layers of a block.
        exponents: values of the row's named exponents.
        exponent_changes: role or layer -> quantity -> axis -> number that is added to the exponent; may be empty.

    Returns:
        The powers, None if the forward pass is not stable.

    Raises:
        ConfigurationError: for an unknown role or layer, quantity or axis in `exponent_changes`, and for exponents that
            do not belong to the row.
    """
    layers = [name for branch in blocks.branches for name in branch] + list(blocks.scores)
    power = _powers(axis, row, True, exponents, exponent_changes, layers)
    independent, coherent = _SUMS[axis]
    branch = power("hidden", "branch")
    size = {name: power(name, "multiplier") + power(name, "init_std") for name in (*ROLES, *layers)}
    growth = {name: size[name] + independent for name in layers}
    largest = 0.0 if axis == "width" else -0.5
    if any(branch + sum(growth[name] for name in chain) > largest for chain in blocks.branches):
        return None
    stream = size["input"]
    entering = 0.0 if blocks.normalised else stream
    output = entering + size["output"] + independent
    # layer norm divides the derivative by the size of its input
    slope = size["output"] + entering - stream + max(0.0, output)

    weight = partial(_weight_exponents, axis, row.update_rule, power)
    weights = {
        "input": weight("input", 0.0, slope, 0.0),
        "output": weight("output", entering, max(0.0, output), 1.0),
    }
    carried = [weights["input"].update]
    for chain in blocks.branches:
        below = entering
        for number, name in enumerate(chain, start=1):
            above = branch + sum(growth[other] for other in chain[number:])
            weights[name] = weight(name, below, slope + above, 1.0)
            # the same contribution comes from each of the L blocks
            carried.append(weights[name].update + above + (0.0 if axis == "width" else 1.0))
            below = weights[name].preactivation
    for name, other in zip(blocks.scores, reversed(blocks.scores), strict=True):
        value, *_ = blocks.branches[0]
        above = branch + sum(growth[name] for name in blocks.branches[0][1:])
        of_scores = slope + above + weights[value].preactivation + independent
        error = of_scores + entering + growth[other] - coherent
        weights[name] = weight(name, entering, error, 1.0)
    moved = max(carried) + size["output"] + entering - stream + coherent
    return BlockExponents(weights, stream, moved)


def _weight_exponents(
    axis: Literal["width", "depth"],
    update_rule: str,
    power: Callable[[str, str], float],
    name: str,
    entering: float,
    error: float,
    fan_in: float,
) -> WeightExponents:
    """Return the powers of one weight of a network of residual blocks.

    Args:
        axis: `width` or `depth`.
        update_rule: `sgd` or `adam`.
        power: the powers of the row, as returned by `_powers`.
        name: role or layer of the weight.
        entering: power of the inputs of the weight.
        error: power of the derivative of the loss with respect to the weight's preactivation.
        fan_in: 1 if the fan-in is the width, otherwise 0.
    """
    independent, coherent = _SUMS[axis]
    gradient = power(name, "multiplier") + error + entering
    direction = 0.0 if update_rule == "adam" else gradient
    step = direction + power(name, "learning_rate")
    size = power(name, "multiplier") + power(name, "init_std")
    preactivation = entering + size + fan_in * independent
    update = power(name, "multiplier") + step + entering + fan_in * coherent
    return WeightExponents(preactivation, gradient, update)


def _powers(
    axis: Literal["width", "depth"],
    row: Row,
    skip: bool,
    exponents: Exponents,
    changes: ExponentChanges,
    layers: Sequence[str] = (),
) -> Callable[[str, str], float]:
    """Return a function from a role, or one of the hidden `layers`, and a quantity to the power of an axis."""
    check_changes(changes, layers)
    exponents.check(row, skip=skip)

    def power(name: str, quantity: str) -> float:
        role = "hidden" if name in layers else name
        change = sum(changes.get(key, {}).get(quantity, {}).get(axis, 0.0) for key in {role, name})
        return exponents.value(row.exponent(role, quantity, axis, skip=skip)) + change

    return power
