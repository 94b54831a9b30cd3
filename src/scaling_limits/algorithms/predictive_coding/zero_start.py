"""Number of inference steps from zero activities after which no hidden activity is zero.

A weight whose input activity is zero receives no gradient, so weights above an activity that stays zero never learn.
All activations are zero at zero.
"""

from scaling_limits.cells import CellSettings

FLAT_AT_ZERO = frozenset({"relu"})
"""Activations with zero derivative at zero: no error from above passes a node whose input is zero."""


def steps_from_zeros(settings: CellSettings) -> int | None:
    """Return the minimum number of steps after which no hidden activity is zero, or None if there is no such number.

    With fixed predictions, all weights but the lowest would have zero inputs after any number of steps. Otherwise, the
    clamped input moves one more layer per step, from below, and so does the output error, from above (all layers at
    once in sequential order). At activations that are flat at zero, the output error moves no layer (`before_weight`),
    or only the topmost layer, which enters a linear output node (`after_weight`). With skips it bypasses the activation
    of `after_weight`.
    """
    hidden: int = settings.num_hidden_layers
    if settings.fixed_predictions:
        return None
    if settings.activation in FLAT_AT_ZERO:
        if getattr(settings, "activation_position", "before_weight") == "before_weight":
            return hidden
        if not settings.skip:
            return max(hidden - 1, 1)
    return 1 if settings.inference_order == "sequential" else -(-hidden // 2)
