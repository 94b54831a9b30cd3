"""Fully connected networks of H hidden layers without biases, with or without skips."""

from typing import Literal

from pydantic import Field

from scaling_limits.cells import CellSettings, DatasetSpec, NetworkSpec
from scaling_limits.errors import ConfigurationError
from scaling_limits.networks.blocks import layer_names
from scaling_limits.networks.layers import Layer
from scaling_limits.networks.settings import LayerNorm, structure

READS = frozenset({"branch"})
"""What it reads of a row, besides what all networks do."""


class Settings(LayerNorm):
    """The position of activations, skips, and the layers of their branches."""

    activation_position: Literal["before_weight", "after_weight"] = Field(
        default="before_weight", description="a W phi(x), or phi(a W x)"
    )
    skip: bool = Field(default=False, description="hidden layers add their input (residual)")
    block_depth: int = Field(
        default=1, ge=1, description="k: layers of a residual branch (depth-mup Sec. 9)"
    )
    mean_subtraction: bool = Field(
        default=False, description="the mean over units is taken off residual branches"
    )

    @property
    def residual(self) -> bool:
        """Whether there are residual branches."""
        return self.skip


def refuse(settings: CellSettings) -> None:
    """Refuse what acts on residual branches where there are none, and depths that are no number of blocks.

    Raises:
        ConfigurationError: naming the key and what is valid.
    """
    block_depth, kind = settings.block_depth, settings.depth_kind
    branch = {
        "mean_subtraction": settings.mean_subtraction,
        "layer_norm": settings.layer_norm,
        "block_depth": block_depth > 1,
    }
    for key, is_given in branch.items():
        if is_given and not settings.skip:
            raise ConfigurationError(key, "acts on residual branches; it needs skip: true")
    if block_depth > 1 and kind not in ("blocks", "block_layers"):
        raise ConfigurationError(
            "depth_kind",
            f"{kind} of blocks of {block_depth} layers is ambiguous; use blocks or block_layers",
        )
    if kind == "block_layers" and settings.depth % block_depth:
        nearest = max(round(settings.depth / block_depth), 1) * block_depth
        raise ConfigurationError(
            "depth",
            f"{settings.depth} block_layers are no number of blocks of block_depth: {block_depth} layers; the "
            f"nearest is {nearest}",
        )


def spec(settings: CellSettings, dataset: DatasetSpec) -> NetworkSpec:
    """The structure that a cell holds."""
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
    """Input, hidden (none at a single hidden layer) and output layers."""
    width, count = spec.width, spec.num_hidden_layers - 1
    return (
        Layer("input", "input", spec.input_dim, width),
        *(Layer(name, "hidden", width, width, count) for name in layer_names(spec.block_depth)),
        Layer("output", "output", width, spec.output_dim),
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
