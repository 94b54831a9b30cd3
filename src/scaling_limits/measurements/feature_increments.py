"""Differences of features against their distance in depth.

Source: depth-mup Def. 7.6, Sec. 10.4, Fig. 17-19, at lambda = 1/4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import Cell, NetworkSpec
from scaling_limits.measurements.requirements import lacking
from scaling_limits.networks.blocks import distances

if TYPE_CHECKING:
    from jaxtyping import Array

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.work import Count

AXES: dict[str, tuple[str, ...]] = {"feature_increment": ("index",)}


def labels(spec: NetworkSpec) -> dict[str, tuple[int, ...]]:
    """Return the labels along `index`: the number of blocks k between the two features."""
    return {"index": distances(spec.num_hidden_layers - 1)}


def measure(context: Context) -> dict[str, Array]:
    """Compute root mean squares over units and samples of x^{l+k} - x^l, with l = floor(L/4) of L blocks."""
    import jax.numpy as jnp

    from scaling_limits.measurements.stacks import rms

    *hidden, _ = context.problem.activities()
    features = jnp.concatenate(hidden)
    num_blocks = len(features) - 1
    first = num_blocks // 4
    moved = features[first + jnp.asarray(distances(num_blocks), int)] - features[first][None]
    return {"feature_increment": rms(moved)}


def refuse(cell: Cell) -> None:
    """Reject networks whose layers differ in size; raises ConfigurationError."""
    name = cell.network.name
    if name != "mlp":
        lack = f"requires layers of equal size, as in network: mlp, not '{name}'"
        raise lacking("feature_increments", lack)


def work(cell: Cell, count: Count) -> None:
    """Add the activities."""
    count.forward()
