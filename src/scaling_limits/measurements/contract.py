"""The contract of a measurement: what its module defines."""

from typing import TYPE_CHECKING, Protocol

from jax import Array

from scaling_limits.measurements.context import Context


class Measurement(Protocol):
    """A pure function of a network in training, evaluated after chosen numbers of updates.

    A module whose axes are not numbered 0, 1, ... also defines `labels(network_spec) -> {axis: numbers}`. A module that
    is not defined for all cells defines `refuse(cell)` (see `requirements`).
    """

    AXES: dict[str, tuple[str, ...]]
    """The axes of each metric besides the training step."""

    def measure(self, context: Context, /) -> dict[str, Array]:
        """Compute the value of each metric, shaped by its axes."""


if TYPE_CHECKING:
    from scaling_limits.measurements import conditioning, feature_changes, weight_changes

    _CHECKED: tuple[Measurement, ...] = (conditioning, feature_changes, weight_changes)
