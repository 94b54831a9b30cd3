"""Accuracy on the training set.

Source: second-order Fig. 3 and Fig. S.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import Cell
from scaling_limits.measurements.requirements import lacking

if TYPE_CHECKING:
    from jaxtyping import Array

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.work import Count

AXES: dict[str, tuple[str, ...]] = {"train_accuracy": ()}


def measure(context: Context) -> dict[str, Array]:
    """Compute the fraction of all training samples that are classified correctly; NaN if an output is not finite."""
    from scaling_limits.measurements.performance import classified

    outputs, tokens = context.outputs(context.x_train), context.problem.tokens
    return {"train_accuracy": classified(outputs, context.y_train, tokens)}


def refuse(cell: Cell) -> None:
    """Reject targets that are not classes.

    Raises:
        ConfigurationError: naming the targets and what is valid.
    """
    if cell.dataset.targets == "real":
        raise lacking(
            "training_performance",
            "requires targets with classes, not targets: real; use one_hot or scalar",
        )


def work(cell: Cell, count: Count) -> None:
    """Add the outputs of the training set, and of the samples that give batch norm its statistics."""
    count.forward(cell.dataset.num_train + (cell.network.num_statistics or 0))


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory of the activities of the training set; with batch norm, of one chunk of samples.

    A chunk has as many samples as those that give batch norm its statistics.
    """
    return {"samples": cell.network.num_statistics or cell.dataset.num_train}
