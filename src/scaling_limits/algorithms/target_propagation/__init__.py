"""Target propagation and difference target propagation (pc-tp Sec. 3.1.2, 5)."""

from typing import Literal

from pydantic import Field

from scaling_limits.algorithms import feedback
from scaling_limits.cells import AlgorithmSpec, Cell, CellSettings, Traced
from scaling_limits.errors import ConfigurationError
from scaling_limits.networks.work import Count


class Settings(feedback.FeedbackWeights):
    """How targets are propagated and feedback weights trained; the defaults are those of pc-tp App. E."""

    difference_correction: bool = Field(
        default=False,
        description="whether targets have the correction of difference target propagation (pc-tp S.13)",
    )
    target_step: float = Field(
        default=0.01,
        gt=0,
        description="etahat: step from the output to its target along the negative gradient; all errors are "
        "proportional to it",
    )
    feedback_loss: Literal["reconstruction", "difference_reconstruction"] = Field(
        default="reconstruction",
        description="loss of the feedback weights: reconstruction of each node's input from its output, or of "
        "each hidden layer through the network's output",
    )
    feedback_noise: float | None = Field(
        default=None,
        gt=0,
        description="standard deviation of the noise added to activities when feedback weights are trained; no "
        "noise if absent; required by difference_reconstruction",
    )


class Options(AlgorithmSpec):
    """The options of a cell.

    `difference_correction`: whether targets have the difference correction (pc-tp S.13). `feedback_loss`: the loss that
    feedback weights minimise. `target_step`: the step etahat of the output's target. `feedback_noise`: standard
    deviation of the noise added to activities when feedback weights are trained (pc-tp S.12), None without noise.
    """

    difference_correction: bool
    feedback_loss: Literal["reconstruction", "difference_reconstruction"] = "reconstruction"
    target_step: Traced
    feedback_noise: float | None = None


def refuse(settings: CellSettings) -> None:
    """Reject a loss of feedback weights without the noise that it requires, and networks without feedback nodes.

    Raises:
        ConfigurationError: naming the key.
    """
    feedback.refuse(settings)
    if settings.feedback_loss == "difference_reconstruction" and settings.feedback_noise is None:
        raise ConfigurationError(
            "feedback_noise", "required by feedback_loss: difference_reconstruction"
        )


def work(cell: Cell, count: Count) -> None:
    """Add the work of propagating targets through the feedback nodes and of training these nodes."""
    options = cell.algorithm
    count.forward()
    count.backward()
    if options.difference_correction:
        count.backward()
    count.weight_gradients()
    with count.only_for("feedback"):
        if options.feedback_loss == "difference_reconstruction":
            # one copy per layer is propagated up to the output and back down, and the gradient costs the same
            count.backward(4 * cell.network.num_hidden_layers * cell.batch_size)
            return
        # from the noisy inputs of nodes to their outputs, back, and the gradient of this
        for _ in range(2 if options.feedback_noise is None else 3):
            count.at_once(count.above_input)
