"""Settings of every network: its size and activation. Symbols: `width` N, or M in pc-tp."""

import math
from typing import Any, Literal

from pydantic import Field

from scaling_limits.cells import CellSettings, DatasetSpec, Fields, NetworkSpec
from scaling_limits.errors import ConfigurationError
from scaling_limits.strict import Strict

Activation = Literal["linear", "tanh", "relu", "abs", "gelu", "erf"]
PIECEWISE_LINEAR = frozenset({"linear", "relu", "abs"})
"""Activations without curvature."""


class Settings(Strict):
    """Size of a network. `depth` is the depth on the paper's axis, and `depth_kind` defines its unit."""

    width: int = Field(
        ge=1,
        description="units of a hidden layer; in networks for images, a factor of the "
        "numbers of channels",
    )
    depth: int = Field(
        ge=1, description="depth of the network, in the unit that depth_kind defines"
    )
    depth_kind: Literal["hidden_layers", "weight_layers", "blocks", "block_layers"] = Field(
        description="unit of depth: hidden layers H (mupc), weight layers L = H + 1 (pc-tp, pcn-limits), "
        "residual blocks L, with H = L + 1 (depth-mup), or the layers in these blocks, block_depth L"
    )
    activation: Activation = Field(description="activation function of the hidden layers")

    @property
    def num_weight_layers(self) -> int:
        """L, the number of weight layers including the output. A residual block of several layers counts as one."""
        return {
            "weight_layers": self.depth,
            "hidden_layers": self.depth + 1,
            "blocks": self.depth + 2,
            "block_layers": self.depth // getattr(self, "block_depth", 1) + 2,
        }[self.depth_kind]

    @property
    def num_hidden_layers(self) -> int:
        """H = L - 1, the number of layers with a free activity."""
        return self.num_weight_layers - 1

    @property
    def scaled_depth(self) -> int:
        """The depth on which depth exponents act: residual blocks (depth-mup), else weight layers."""
        counts_blocks = self.depth_kind in ("blocks", "block_layers")
        return self.num_weight_layers - 2 if counts_blocks else self.num_weight_layers


class LayerNorm(Strict):
    """Layer norm, declared by networks with residual branches of dense layers."""

    layer_norm: bool = Field(
        default=False,
        description="whether the input of each residual branch is normalised over the units of each sample or "
        "token, without gain and shift; in transformers, also the input of the output layer",
    )


def structure(
    settings: CellSettings, dataset: DatasetSpec, *, of_sequences: bool = False, **options: Any
) -> NetworkSpec:
    """Return the specification of a network for a dataset, with the simplest structure unless `options` override it.

    Raises:
        ConfigurationError: the data are sequences of tokens, and the network does not support them (`of_sequences`).
    """
    if dataset.sequence_length is not None and not of_sequences:
        raise ConfigurationError(
            "network",
            f"{settings.network} does not accept sequences of tokens, which dataset '{dataset.name}' consists of; "
            "use transformer",
        )
    plain = {"activation_position": "before_weight", "skip": False, "mean_subtraction": False}
    return NetworkSpec(
        name=settings.network,
        input_dim=math.prod(dataset.input_shape),
        output_dim=dataset.target_dim,
        width=settings.width,
        num_hidden_layers=settings.num_hidden_layers,
        activation=settings.activation,
        **{**plain, **options},
    )


def batch_norm(dataset: DatasetSpec) -> Fields:
    """Return the options of a network with batch norm, evaluated with the statistics of up to 1024 training samples."""
    return {"num_statistics": min(1024, dataset.num_train)}


def refuse_batch_norm(settings: CellSettings) -> None:
    """Reject algorithms that treat samples independently, for networks that normalise the samples of a batch together.

    Raises:
        ConfigurationError: naming the key and what is valid.
    """
    if settings.algorithm != "backpropagation":
        raise ConfigurationError(
            "algorithm",
            f"'{settings.algorithm}' treats samples independently, but network: {settings.network} normalises "
            "them together (batch norm); use backpropagation",
        )


def refuse(settings: Settings) -> None:
    """Reject networks without a hidden layer, and `block_layers` if the number of layers in a block is fixed.

    Raises:
        ConfigurationError: naming the key.
    """
    if settings.num_hidden_layers < 1:
        raise ConfigurationError(
            "depth",
            f"{settings.depth} {settings.depth_kind} leave no hidden layer; use a larger depth",
        )
    if settings.depth_kind == "block_layers" and not hasattr(settings, "block_depth"):
        raise ConfigurationError(
            "depth_kind",
            "'block_layers' is available only for network: mlp; use blocks or weight_layers",
        )
