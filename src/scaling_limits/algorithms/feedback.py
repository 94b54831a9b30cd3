"""Settings of algorithms that train feedback weights.

Symbols (pc-tp): `feedback` psi, `feedback_learning_rate` tau'.
"""

from pydantic import Field

from scaling_limits.cells import CellSettings
from scaling_limits.errors import ConfigurationError
from scaling_limits.networks.settings import Activation
from scaling_limits.strict import Strict


class FeedbackWeights(Strict):
    """Feedback nodes, which map a node's output back to the size of its input, and the training of their weights."""

    feedback: Activation = Field(
        description="activation function of the feedback nodes; requires network: mlp with skip: false and "
        "activation_position: after_weight"
    )
    feedback_learning_rate: float = Field(
        ge=0, description="learning rate of the feedback weights, before the row's factors"
    )
    feedback_weight_decay: float = Field(
        default=1e-4,
        ge=0,
        description="weight decay of the feedback weights: this number times the weight is "
        "added to the gradient",
    )
    num_feedback_steps: int = Field(
        default=0,
        ge=0,
        description="updates of the feedback weights alone, on the first batches, before step 0",
    )


def refuse(settings: CellSettings) -> None:
    """Reject feedback nodes for networks that cannot have them.

    Raises:
        ConfigurationError: the network is not an mlp without skips and with activation_position: after_weight; the
            error names the key.
    """
    plain = not getattr(settings, "skip", False)
    if settings.network != "mlp" or not plain or settings.activation_position != "after_weight":
        raise ConfigurationError(
            "feedback",
            "feedback nodes require network: mlp with skip: false and activation_position: after_weight",
        )
