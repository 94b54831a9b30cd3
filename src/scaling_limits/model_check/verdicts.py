"""Verdicts on layers and models: thresholds, reasons in words and usual causes. `docs/check.md` defines them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from scaling_limits.claims.base import QUARTER
from scaling_limits.claims.intervals import Bounds
from scaling_limits.model_check.scaling import Slope

Verdict = Literal["explodes", "vanishes", "lazy", "inconclusive", "stable"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""In the order in which a layer's verdict decides that of the model."""
Kind = Literal["hidden", "inner product", "output"]
Axis = Literal["width", "depth"]
AT_MOST = Bounds(-np.inf, QUARTER)
CONSTANT = Bounds.about(0.0, QUARTER)


@dataclass(frozen=True, eq=False)
class Layer:
    """The verdict on a layer over the width or depth.

    Attributes:
        name: the path of its module, as in `block_0/attention/query`.
        axis: `width` or `depth`.
        kind: `hidden` if its shape depends on the width, `output` for the last layer, else `inner product`.
        verdict: `stable`, `explodes`, `vanishes`, `lazy` or `inconclusive`.
        reason: the exponent that decides, in words.
        cause: what usually causes this; empty if the layer is stable.
        slopes: the exponents of all quantities that it has.
    """

    name: str
    axis: Axis
    kind: Kind
    verdict: Verdict
    reason: str
    cause: str
    slopes: tuple[Slope, ...] = field(repr=False)

    def slope(self, quantity: str, step: int) -> Slope | None:
        """Return the exponent of a quantity after a number of updates, if there is one."""
        for slope in self.slopes:
            if (slope.quantity, slope.step) == (quantity, step):
                return slope
        return None


def bounds_of(
    quantity: str, kind: Kind, *, last: bool, repeated: bool = False, indirect: bool = False
) -> Bounds | None:
    """Return the accepted exponents of a quantity.

    Args:
        quantity: `size`, `change`, `update` or `alignment`.
        kind: that of the layer.
        last: whether it is measured after the last step, or after the first.
        repeated: whether the layer is one of repeated blocks, over depth.
        indirect: whether the layer reaches the output only through inner products.
    """
    if quantity == "alignment":
        return None
    may_fall = repeated or not last or kind == "inner product"
    may_fall |= indirect and quantity != "size"
    if may_fall or (quantity == "size" and kind == "output"):
        return AT_MOST
    return CONSTANT


def judge(
    name: str,
    axis: Axis,
    kind: Kind,
    slopes: Sequence[Slope],
    output_moves: bool,
) -> Layer:
    """Judge a layer by its exponents.

    Args:
        name: that of the layer.
        axis: of the exponents.
        kind: of the layer.
        slopes: its exponents.
        output_moves: whether the change of the output does not vanish.
    """
    judged = [slope for slope in slopes if slope.judged]
    if kind == "output" and not any(slope.quantity == "change" for slope in judged):
        reason = "the output does not change at any " + axis
        return Layer(name, axis, kind, "vanishes", reason, _NO_TRAINING, tuple(slopes))
    verdict, deciding = _decide(judged, output_moves)
    reason = _reason(axis, deciding) if deciding else "all exponents lie within their thresholds"
    cause = cause_of(verdict, kind, axis, deciding) if deciding else _note(kind, slopes)
    return Layer(name, axis, kind, verdict, reason, cause, tuple(slopes))


def _decide(judged: Sequence[Slope], output_moves: bool) -> tuple[Verdict, Slope | None]:
    """Return the verdict and the exponent that decides it."""
    small: Verdict = "lazy" if output_moves else "vanishes"
    rules: tuple[tuple[Verdict, Callable[[Slope], bool]], ...] = (
        ("explodes", lambda slope: slope.grows),
        ("vanishes", lambda slope: slope.falls and slope.quantity == "size"),
        (small, lambda slope: slope.falls),
        ("inconclusive", lambda slope: slope.holds is None),
    )
    for verdict, applies in rules:
        deciding = [slope for slope in judged if applies(slope)]
        if deciding:
            return verdict, deciding[0]
    return "stable", None


def verdict_of(layers: Sequence[Layer]) -> Verdict:
    """Return the verdict of the model: the first in the order of `VERDICTS` that a layer has."""
    present = {layer.verdict for layer in layers}
    return next(verdict for verdict in VERDICTS if verdict in present)


def culprit_of(layers: Sequence[Layer], steps: int) -> Layer | None:
    """Return the layer to look at first; None if the model is stable.

    Args:
        layers: in the order of the forward pass, the width first.
        steps: the last step.
    """
    verdict = verdict_of(layers)
    if verdict == "stable":
        return None
    suspects = [layer for layer in layers if layer.verdict == verdict]
    if verdict == "explodes":
        for layer in suspects:
            initial = layer.slope("size", 0)
            if initial is not None and initial.grows:
                return layer
    for step in (1, steps):
        own_slopes = {layer: layer.slope("update", step) for layer in suspects}
        deviating = {
            layer: s for layer, s in own_slopes.items() if s is not None and s.holds is False
        }
        if deviating:
            return _earliest(deviating)
    return suspects[0]


def _earliest(deviating: dict[Layer, Slope]) -> Layer:
    """Return the first layer whose exponent cannot be told apart from the one that is farthest beyond its bounds."""
    farthest = max(deviating.values(), key=lambda slope: slope.beyond)
    if farthest.interval is None:
        return next(layer for layer, slope in deviating.items() if slope.interval is None)
    low, high = farthest.interval
    return next(
        layer
        for layer, slope in deviating.items()
        if slope.interval and slope.interval[0] <= high and low <= slope.interval[1]
    )


def _reason(axis: Axis, slope: Slope) -> str:
    """Say which exponent decides."""
    what = {"size": "size", "change": "change", "update": "update by its own weights"}
    after = f"after {slope.step} update{'s' if slope.step > 1 else ''}"
    where = f"the {what[slope.quantity]} {after if slope.step else 'at initialisation'}"
    if np.isnan(slope.value):
        return f"{where} has no exponent over {axis}: it is zero or not finite at some sizes"
    if np.isposinf(slope.value):
        return f"{where} is not finite at the largest {axis}: training diverged there"
    return f"{where} scales as {axis} to the power {slope}; accepted: {slope.bounds}"


_NO_TRAINING = "no gradient reaches the parameters, or all learning rates are zero"
_CAUSES: dict[tuple[Verdict, Kind], str] = {
    ("explodes", "output"): (
        "the output layer's learning rate, multiplier or initial weights are not divided by the width"
    ),
    ("vanishes", "output"): (
        "the output layer's learning rate or multiplier is divided by a too large power of the width"
    ),
    ("explodes", "inner product"): (
        "the scale of the inner product is a too small power of the width; attention logits need 1/d instead of 1/√d "
        "where d grows with the width"
    ),
    ("explodes", "hidden"): (
        "the layer's learning rate is not divided by the width (Adam), or its multiplier grows with the width"
    ),
    ("vanishes", "hidden"): (
        "the initial weights or the learning rate are divided by a too large power of the width"
    ),
    ("lazy", "hidden"): (
        "the layer's learning rate is divided by a too large power of the width, or the output layer's multiplier is "
        "1/√width (NTK) instead of 1/width"
    ),
    ("lazy", "output"): (
        "the output moves by what hidden layers pass on; the output layer's own learning rate is too small"
    ),
}
_INITIAL = "the initial weights are not divided by √fan-in, or a multiplier grows with the width"
_OF_DEPTH = "the branches of residual blocks are not multiplied by depth^(−1/2), or the learning rate does not follow"
_MORE = "more seeds, a larger range of sizes or a larger learning rate narrow the interval"
_TOO_LARGE = "the learning rate is too large at the smallest size; lower it at all sizes"


def cause_of(verdict: Verdict, kind: Kind, axis: Axis, slope: Slope) -> str:
    """Say what usually causes a verdict, given the exponent that decides it."""
    if verdict == "inconclusive":
        return _TOO_LARGE if np.isnan(slope.value) else _MORE
    if axis == "depth":
        return _OF_DEPTH
    if verdict == "explodes" and slope.quantity == "size" and slope.step == 0:
        return _CAUSES[verdict, kind] if kind != "hidden" else _INITIAL
    return _CAUSES[verdict, kind]


def _note(kind: Kind, slopes: Sequence[Slope]) -> str:
    """Say what may look wrong in a stable layer and is not."""
    initial = [slope for slope in slopes if slope.quantity == "size" and slope.step == 0]
    small = not initial or initial[0].value < -QUARTER
    if kind == "output" and small:
        return (
            "the output grows in the first steps because it is zero or small at initialisation, which is right; look "
            "at the last step"
        )
    return ""
