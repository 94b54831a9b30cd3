"""Loss and accuracy on the test set."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scaling_limits.cells import Cell

if TYPE_CHECKING:
    from jaxtyping import Array

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.work import Count

AXES: dict[str, tuple[str, ...]] = {"test_loss": (), "test_accuracy": ()}


def measure(context: Context) -> dict[str, Array]:
    """Compute the mean of the cell's loss over test samples and, for targets that are classes, the accuracy.

    The accuracy is NaN if an output is not finite.
    """
    problem = replace(context.problem, x=context.x_test, y=context.y_test)
    outputs = context.outputs(context.x_test)
    measured = {"test_loss": problem.loss(outputs)}
    if context.has_classes:
        measured["test_accuracy"] = classified(outputs, context.y_test, problem.tokens)
    return measured


def classified(outputs: Array, targets: Array, tokens: int) -> Array:
    """Compute the fraction of samples, or of their tokens, that are classified correctly.

    It is NaN if an output is not finite.
    """
    import jax.numpy as jnp

    from scaling_limits.losses.outputs import accuracy

    # the argmax of NaN outputs would be the first class
    return jnp.where(jnp.isfinite(outputs).all(), accuracy(outputs, targets, tokens), jnp.nan)


def metrics(cell: Cell) -> set[str]:
    """Return the metrics recorded for a cell; there is no accuracy for real targets."""
    return {"test_loss"} if cell.dataset.targets == "real" else {*AXES}


def work(cell: Cell, count: Count) -> None:
    """Add the outputs of the test set, and of the samples that give batch norm its statistics."""
    count.forward(cell.dataset.num_test + (cell.network.num_statistics or 0))


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory of the activities of the test set; with batch norm, of one chunk of samples.

    A chunk has as many samples as those that give batch norm its statistics.
    """
    return {"samples": cell.network.num_statistics or cell.dataset.num_test}
