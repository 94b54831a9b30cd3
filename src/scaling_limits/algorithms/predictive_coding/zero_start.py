"""How many steps of inference from zeros it takes to move all hidden activities.

Weights see nothing below them while the activity below is zero, so those above one that stays there never learn.
All activations are zero at zero.
"""

from scaling_limits.cells import CellSettings

FLAT_AT_ZERO = frozenset({"relu"})
"""Activations without a derivative there, so that no error from above passes a node whose input is zero."""


def steps_from_zeros(settings: CellSettings) -> int | None:
    """The least number of steps after which no hidden activity is zero; None if all weights but the lowest would see
    zeros after any number.

    The clamped input moves one more layer a step, from below. So does the output error from above, or all layers at
    once in sequential order, except for activations that are flat at zero: there it moves none (`before_weight`), or
    that of the topmost layer only, which a linear output node sees (`after_weight`); with skips it bypasses the
    activation of `after_weight`.
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
