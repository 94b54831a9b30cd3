"""The contract of a loss: the functions that its module defines."""

from typing import TYPE_CHECKING, Protocol

from jax import Array
from jaxtyping import Float


class Loss(Protocol):
    """A loss of outputs `[*batch, out]`, summed over samples and their tokens; it has no settings.

    Optional: `error(outputs, targets, tokens)` returns each sample's -dloss/df in closed form, and `refuse(settings)`
    rejects targets for which the loss is not defined.
    """

    def summed(
        self,
        outputs: Float[Array, "*batch out"],
        targets: Float[Array, "*batch out"],
        tokens: int,
        /,
    ) -> Float[Array, ""]:
        """Compute the sum of the loss, of one sample or several."""


class Likelihood(Loss, Protocol):
    """A loss that is a negative log-likelihood, for optimisers that need its Fisher information."""

    def directions(
        self, kind: str, outputs: Float[Array, "batch out"], key: Array, /
    ) -> Float[Array, "directions batch out"]:
        """Compute derivatives of the log-likelihood with respect to the outputs (`algorithms.fisher`)."""


if TYPE_CHECKING:
    from scaling_limits.losses import cross_entropy, mean_squared_error

    _CHECKED: tuple[Likelihood, ...] = (cross_entropy, mean_squared_error)
