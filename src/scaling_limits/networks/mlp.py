"""Fully connected networks of H hidden layers without biases, with or without one-layer skips."""

import math
from typing import Any, Literal

from pydantic import Field

from scaling_limits.cells import DatasetSpec, NetworkSpec
from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.networks.layers import Layer as LayerData
from scaling_limits.networks.network import Network, Segment
from scaling_limits.networks.nodes import ACTIVATIONS, Layer
from scaling_limits.strict import Strict


def build(spec: NetworkSpec) -> Network:
    """Input layer, H - 1 equal hidden layers (which may have skips), output layer (mupc Eq. 1).

    `before_weight`: layer l computes `a_l W_l phi(z_{l-1}) [+ z_{l-1}]`, with phi the identity on
    the input.
    `after_weight`: `phi(a_l W_l z_{l-1}) [+ z_{l-1}]`, with a linear output, and with skips a linear
    input layer as well (depth-mup Sec. 6.3). With `feedback` psi there are nodes `psi(a Q_l z_l)` back
    from each layer l > 1 (pc-tp S.11).

    Raises:
        ConfigurationError: for an unknown activation, no hidden layer, mean subtraction without
            skips, or feedback where there are skips or activations before the weights.
    """
    if spec.activation not in ACTIVATIONS:
        raise ConfigurationError(unknown("activation", spec.activation, ACTIVATIONS))
    if spec.num_hidden_layers < 1:
        raise ConfigurationError(
            f"num_hidden_layers is {spec.num_hidden_layers}; an mlp has at least one"
        )
    if spec.mean_subtraction and not spec.skip:
        raise ConfigurationError(
            "mean_subtraction acts on the residual branch: it needs skip: true"
        )
    first = spec.activation_position == "before_weight"
    before, after = (spec.activation, "linear") if first else ("linear", spec.activation)
    entry = Layer(spec.width, "linear", "linear" if spec.skip else after)
    segments = [Segment(node=entry, role="input", count=1, first=1)]
    if spec.num_hidden_layers > 1:
        hidden = Layer(spec.width, before, after, spec.skip, spec.mean_subtraction)
        segments.append(
            Segment(node=hidden, role="hidden", count=spec.num_hidden_layers - 1, first=2)
        )
    output = Layer(spec.output_dim, before, "linear")
    segments.append(Segment(node=output, role="output", count=1, first=spec.num_hidden_layers + 1))
    linear = spec.activation == "linear"
    return Network(tuple(segments), spec.input_dim, linear, _feedback(spec))


def _feedback(spec: NetworkSpec) -> tuple[Segment, ...]:
    """g_l(x) = psi(a Q_l x) for l = 2..L."""
    if spec.feedback is None:
        return ()
    if spec.feedback not in ACTIVATIONS:
        raise ConfigurationError(unknown("activation", spec.feedback, ACTIVATIONS))
    if spec.skip or spec.activation_position != "after_weight":
        raise ConfigurationError(
            "feedback: feedback nodes are those of an mlp without skips, with activation_position: after_weight"
        )
    node = Layer(spec.width, "linear", spec.feedback)
    last = spec.num_hidden_layers + 1
    hidden = [Segment(node, "feedback_hidden", last - 2, 2)] if last > 2 else []
    return (*hidden, Segment(node, "feedback_output", 1, last))


READS = frozenset({"branch"})
"""What it reads of a row, besides what all networks do."""


class Settings(Strict):
    """Where activations stand, and skips."""

    activation_position: Literal["before_weight", "after_weight"] = "before_weight"
    skip: bool = Field(default=False, description="hidden layers add their input (residual)")
    mean_subtraction: bool = Field(
        default=False, description="the mean over units is taken off residual branches"
    )


def refuse(settings: Any) -> None:
    """Refuse what acts on residual branches where there are none.

    Raises:
        ConfigurationError: naming the key.
    """
    if settings.mean_subtraction and not settings.skip:
        raise ConfigurationError("mean_subtraction: acts on residual branches; it needs skip: true")
    for role, changes in settings.exponent_changes.items():
        if "branch" in changes and not (settings.skip and role == "hidden"):
            raise ConfigurationError(
                f"exponent_changes.{role}.branch: acts only on the role hidden with skip: true; leave it out"
            )


def spec(settings: Any, dataset: DatasetSpec) -> NetworkSpec:
    """The structure that a cell holds."""
    return NetworkSpec(
        name=settings.network,
        input_dim=math.prod(dataset.input_shape),
        output_dim=dataset.target_dim,
        width=settings.width,
        num_hidden_layers=settings.num_hidden_layers,
        activation=settings.activation,
        activation_position=settings.activation_position,
        skip=settings.skip,
        mean_subtraction=settings.mean_subtraction,
        feedback=getattr(settings, "feedback", None),
    )


def layers(spec: NetworkSpec) -> tuple[LayerData, ...]:
    """Input, hidden (none at a single hidden layer) and output layers."""
    return (
        LayerData("input", "input", spec.input_dim, spec.width),
        LayerData("hidden", "hidden", spec.width, spec.width, spec.num_hidden_layers - 1),
        LayerData("output", "output", spec.width, spec.output_dim),
    )


def feedback_layers(spec: NetworkSpec) -> tuple[LayerData, ...]:
    """Those of feedback nodes, if there are any: from the outputs of layers 2..L back to the width."""
    if spec.feedback is None:
        return ()
    hidden, output = "feedback_hidden", "feedback_output"
    return (
        LayerData(hidden, hidden, spec.width, spec.width, spec.num_hidden_layers - 1),
        LayerData(output, output, spec.output_dim, spec.width),
    )
