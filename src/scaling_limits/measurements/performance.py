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
    """The cell's loss, a mean over test samples, and the share of them that is classified correctly, if targets are of
    classes: not a number where an output is not finite.
    """
    problem = replace(context.problem, x=context.x_test, y=context.y_test)
    outputs = context.outputs(context.x_test)
    measured = {"test_loss": problem.loss(outputs)}
    if context.has_classes:
        measured["test_accuracy"] = classified(outputs, context.y_test, problem.tokens)
    return measured


def classified(outputs: Array, targets: Array, tokens: int) -> Array:
    """The share of samples, or of their tokens, that these outputs classify correctly: not a number where one is not
    finite.
    """
    import jax.numpy as jnp

    from scaling_limits.losses.outputs import accuracy

    # the largest of outputs that are no numbers would be the first class
    return jnp.where(jnp.isfinite(outputs).all(), accuracy(outputs, targets, tokens), jnp.nan)


def metrics(cell: Cell) -> set[str]:
    """Real targets have no accuracy."""
    return {"test_loss"} if cell.dataset.targets == "real" else {*AXES}


def work(cell: Cell, count: Count) -> None:
    """The outputs of the test set, and of the samples whose statistics batch norm takes."""
    count.forward(cell.dataset.num_test + (cell.network.num_statistics or 0))


def memory(cell: Cell) -> dict[str, float]:
    """Activities of the test set, with batch norm of so many samples at once as give it its statistics."""
    return {"samples": cell.network.num_statistics or cell.dataset.num_test}
