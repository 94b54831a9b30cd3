"""What a measurement may look at."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxtyping import Array, Float

from ..networks.network import Network


@dataclass(frozen=True)
class Context:
    """A network at one training step, with the batch that the next update will use.

    `gradients(params, x, y)` are the cell's own algorithm's weight gradients and metrics.
    """

    network: Network
    params: Any
    scaling: Any
    x: Float[Array, "batch input"]
    y: Float[Array, "batch output"]
    gradients: Callable[[Any, Array, Array], tuple[Any, dict[str, Array]]]
