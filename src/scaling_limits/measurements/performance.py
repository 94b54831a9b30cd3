"""Loss and accuracy on the test set."""

from dataclasses import replace

from jaxtyping import Array

from ..losses import accuracy
from .context import Context

AXES: dict[str, tuple[str, ...]] = {"test_loss": (), "test_accuracy": ()}


def measure(context: Context) -> dict[str, Array]:
    """The cell's loss, a mean over test samples, and the share of them that is classified correctly."""
    problem = replace(context.problem, x=context.x_test, y=context.y_test)
    outputs = problem.forward()
    return {
        "test_loss": problem.loss(outputs),
        "test_accuracy": accuracy(outputs, context.y_test),
    }
