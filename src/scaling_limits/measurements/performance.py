"""Loss and accuracy on the test set."""

from jaxtyping import Array

from ..losses import accuracy, mean_loss
from .context import Context

AXES: dict[str, tuple[str, ...]] = {"test_loss": (), "test_accuracy": ()}


def measure(context: Context) -> dict[str, Array]:
    """The cell's loss, a mean over test samples, and the share of them that is classified correctly."""
    outputs = context.network.forward(context.params, context.scaling, context.x_test)
    return {
        "test_loss": mean_loss(context.algorithm.loss, outputs, context.y_test),
        "test_accuracy": accuracy(outputs, context.y_test),
    }
