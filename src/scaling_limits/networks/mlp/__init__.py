"""Fully connected networks of H hidden layers without biases, with or without skips."""

from typing import Literal

from pydantic import Field

from scaling_limits.cells import CellSettings, DatasetSpec, NetworkSpec
from scaling_limits.errors import ConfigurationError
from scaling_limits.networks.blocks import layer_names
from scaling_limits.networks.layers import Layer
from scaling_limits.networks.settings import LayerNorm, structure

READS = frozenset({"branch"})
"""Quantities of a row that this network uses, in addition to those that all networks use."""


class Settings(LayerNorm):
    """Position of activations, skips, and the form of residual branches."""

    activation_position: Literal["before_weight", "after_weight"] = Field(
        default="before_weight",
        description="where the activation function acts: before the weight, a W phi(x), "
        "or after it, phi(a W x)",
    )
    skip: bool = Field(
        default=False, description="whether hidden layers have skip connections (residual network)"
    )
    block_depth: int = Field(
        default=1, ge=1, description="number k of layers in a residual branch (depth-mup Sec. 9)"
    )
    mean_subtraction: bool = Field(
        default=False, description="whether residual branches subtract their mean over units"
    )

    @property
    def residual(self) -> bool:
        """Whether there are residual branches."""
        return self.skip


def refuse(settings: CellSettings) -> None:
    """Reject settings of residual branches without such branches, and depths without a whole number of blocks.

    Raises:
        ConfigurationError: naming the key and what is valid.
    """
    block_depth, kind = settings.block_depth, settings.depth_kind
    branch = {
        "mean_subtraction": settings.mean_subtraction,
        "layer_norm": settings.layer_norm,
        "block_depth": block_depth > 1,
    }
    for key, is_used in branch.items():
        if is_used and not settings.skip:
            raise ConfigurationError(
                key, "has no effect without residual branches; requires skip: true"
            )
    if block_depth > 1 and kind not in ("blocks", "block_layers"):
        raise ConfigurationError(
            "depth_kind",
            f"'{kind}' is ambiguous with block_depth: {block_depth}; use blocks or block_layers",
        )
    if kind == "block_layers" and settings.depth % block_depth:
        nearest = max(round(settings.depth / block_depth), 1) * block_depth
        raise ConfigurationError(
            "depth",
            f"{settings.depth} block_layers are not a multiple of block_depth: {block_depth}; the nearest is "
            f"{nearest}",
        )


def spec(settings: CellSettings, dataset: DatasetSpec) -> NetworkSpec:
    """Return the specification of the network."""
    return structure(
        settings,
        dataset,
        activation_position=settings.activation_position,
        skip=settings.skip,
        mean_subtraction=settings.mean_subtraction,
        block_depth=settings.block_depth,
        layer_norm=settings.layer_norm,
        feedback=getattr(settings, "feedback", None),
    )


def layers(spec: NetworkSpec) -> tuple[Layer, ...]:
    """Return the input, hidden (none with a single hidden layer) and output layers."""
    width, count = spec.width, spec.num_hidden_layers - 1
    return (
        Layer("input", "input", spec.input_dim, width),
        *(Layer(name, "hidden", width, width, count) for name in layer_names(spec.block_depth)),
        Layer("output", "output", width, spec.output_dim),
    )


def feedback_layers(spec: NetworkSpec) -> tuple[Layer, ...]:
    """Return the layers of feedback nodes, from the outputs of layers 2..L back to the width."""
    if spec.feedback is None:
        return ()
    hidden, output = "feedback_hidden", "feedback_output"
    return (
        Layer(hidden, hidden, spec.width, spec.width, spec.num_hidden_layers - 1),
        Layer(output, output, spec.output_dim, spec.width),
    )
