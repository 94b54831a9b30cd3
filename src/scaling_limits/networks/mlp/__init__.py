"""Fully connected networks of H hidden layers without biases, with or without one-layer skips."""

from typing import Any, Literal

from pydantic import Field

from scaling_limits.cells import DatasetSpec, NetworkSpec
from scaling_limits.errors import ConfigurationError
from scaling_limits.networks.layers import Layer
from scaling_limits.networks.settings import structure
from scaling_limits.strict import Strict

READS = frozenset({"branch"})
"""What it reads of a row, besides what all networks do."""


class Settings(Strict):
    """Where activations stand, and skips."""

    activation_position: Literal["before_weight", "after_weight"] = Field(
        default="before_weight", description="a W phi(x), or phi(a W x)"
    )
    skip: bool = Field(default=False, description="hidden layers add their input (residual)")
    mean_subtraction: bool = Field(
        default=False, description="the mean over units is taken off residual branches"
    )

    @property
    def residual(self) -> bool:
        """Whether there are residual branches."""
        return self.skip


def refuse(settings: Any) -> None:
    """Refuse what acts on residual branches where there are none.

    Raises:
        ConfigurationError: naming the key.
    """
    if settings.mean_subtraction and not settings.skip:
        raise ConfigurationError("mean_subtraction: acts on residual branches; it needs skip: true")


def spec(settings: Any, dataset: DatasetSpec) -> NetworkSpec:
    """The structure that a cell holds."""
    return structure(
        settings,
        dataset,
        activation_position=settings.activation_position,
        skip=settings.skip,
        mean_subtraction=settings.mean_subtraction,
        feedback=getattr(settings, "feedback", None),
    )


def layers(spec: NetworkSpec) -> tuple[Layer, ...]:
    """Input, hidden (none at a single hidden layer) and output layers."""
    return (
        Layer("input", "input", spec.input_dim, spec.width),
        Layer("hidden", "hidden", spec.width, spec.width, spec.num_hidden_layers - 1),
        Layer("output", "output", spec.width, spec.output_dim),
    )


def feedback_layers(spec: NetworkSpec) -> tuple[Layer, ...]:
    """Those of feedback nodes, if there are any: from the outputs of layers 2..L back to the width."""
    if spec.feedback is None:
        return ()
    hidden, output = "feedback_hidden", "feedback_output"
    return (
        Layer(hidden, hidden, spec.width, spec.width, spec.num_hidden_layers - 1),
        Layer(output, output, spec.output_dim, spec.width),
    )
