"""Transformers without biases, for sequences of tokens (pcn-limits Eq. 126 to 129).

Nodes are the embeddings of tokens and positions, `depth` causal blocks of attention and two dense layers, and the
output. Symbols: N is `width`, h `num_heads`, d = N/h.
"""

from typing import Literal

from pydantic import Field

from scaling_limits.cells import CellSettings, DatasetSpec, NetworkSpec
from scaling_limits.errors import ConfigurationError
from scaling_limits.networks.layers import Layer
from scaling_limits.networks.settings import LayerNorm, structure

READS = frozenset({"branch"})
"""Quantities of a row that this network uses, in addition to those that all networks use."""

EXPANSION = 4
"""Number of units of a block's first dense layer, relative to the width."""


class Settings(LayerNorm):
    """Attention heads, and choices in which the paper's text differs from other networks."""

    num_heads: int = Field(
        default=8, ge=1, description="number of attention heads, a divisor of the width"
    )
    block_fan_ins: Literal["own", "printed"] = Field(
        default="own",
        description="fan-ins by which weights of blocks are scaled: their own, or those printed in pcn-limits "
        "Eq. 128 and 129, which are d for queries, keys and values, 4 N for the first dense layer "
        "and N for the second",
    )

    @property
    def residual(self) -> bool:
        """Whether there are residual branches."""
        return True


class Spec(NetworkSpec):
    """Specification with the attention heads; `input_shape` is (tokens of a sequence, size of the vocabulary)."""

    num_heads: int
    block_fan_ins: Literal["own", "printed"]


def refuse(settings: CellSettings) -> None:
    """Reject heads that do not divide the width, depths that do not count blocks, and losses without tokens.

    Raises:
        ConfigurationError: naming the key and what is valid.
    """
    if settings.width % settings.num_heads:
        nearest = max(round(settings.width / settings.num_heads), 1) * settings.num_heads
        raise ConfigurationError(
            "width",
            f"{settings.width} is not divisible by num_heads: {settings.num_heads}; the nearest is {nearest}",
        )
    if settings.depth_kind != "blocks":
        raise ConfigurationError(
            "depth_kind",
            f"'{settings.depth_kind}' is not available for network: transformer, whose depth counts blocks; use "
            "blocks",
        )
    if settings.loss != "cross_entropy":
        raise ConfigurationError(
            "loss",
            f"'{settings.loss}' is not available for network: transformer; use cross_entropy",
        )


def spec(settings: CellSettings, dataset: DatasetSpec) -> Spec:
    """Return the specification of the network.

    Raises:
        ConfigurationError: the data are not sequences of tokens.
    """
    if dataset.sequence_length is None:
        raise ConfigurationError(
            "network",
            f"transformer requires sequences of tokens, which dataset '{dataset.name}' does not contain; use "
            "tiny_shakespeare or sentences",
        )
    plain = structure(
        settings,
        dataset,
        of_sequences=True,
        input_shape=dataset.input_shape,
        skip=True,
        layer_norm=settings.layer_norm,
    )
    return Spec(
        **dict(plain),
        num_heads=settings.num_heads,
        block_fan_ins=settings.block_fan_ins,
    )


def layers(spec: Spec) -> tuple[Layer, ...]:
    """Return all weights, from the input up."""
    tokens, vocabulary = sizes(spec)
    width, count = spec.width, spec.num_hidden_layers - 1
    wide = EXPANSION * width
    printed = spec.block_fan_ins == "printed"
    heads = width // spec.num_heads if printed else width

    def hidden(name: str, inputs: int, outputs: int, fan_in: int) -> Layer:
        return Layer(name, "hidden", inputs, outputs, count, positions=tokens, fan_in=fan_in)

    return (
        # inputs are one-hot, so the effective fan-in is 1
        Layer("input", "input", vocabulary, width, positions=tokens, fan_in=1),
        Layer("input", "input", tokens, width, positions=tokens, fan_in=1),
        *(hidden(name, width, width, heads) for name in ("query", "key", "value")),
        hidden("attention", width, width, width),
        hidden("expansion", width, wide, wide if printed else width),
        hidden("contraction", wide, width, width if printed else wide),
        Layer("output", "output", width, vocabulary, positions=tokens),
    )


def sizes(spec: NetworkSpec) -> tuple[int, int]:
    """Return the number of tokens of a sequence, and the size of the vocabulary."""
    tokens, vocabulary = spec.input_shape or (0, 0)
    return tokens, vocabulary
