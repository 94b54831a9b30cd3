"""The stages of inference: the layers that its steps have to evaluate."""

from scaling_limits.cells import AlgorithmSpec, Compiled

NUM_STAGES = 4
"""Maximum number of stages.

More stages evaluate fewer layers, down to half of them, but each stage is one more loop to compile. Programs compiled
quickly have one stage."""


def moves_from_above(options: AlgorithmSpec) -> bool:
    """Return whether activities move only where the output error has arrived.

    This is so if inference starts from the forward pass, where all other errors are zero, and no decay acts on the
    activities.
    """
    return options.activity_initialisation == "forward" and options.activity_decay is None


def stages(options: AlgorithmSpec, num_hidden: int, compiled: Compiled) -> list[tuple[int, int]]:
    """Return (last step, number of hidden layers that have moved by then) for each stage, with steps counted from 1.

    If activities move from above, each synchronous step moves one more layer, from the output down.
    """
    num_steps = options.num_inference_steps or 0
    slow = moves_from_above(options) and options.inference_order == "synchronous"
    if not slow or compiled == "quickly" or options.inference == "adam":
        # the shapes of Adam's averages would have to grow with the stages
        return [(num_steps, num_hidden)]
    ramp = min(num_steps, num_hidden)
    count = min(NUM_STAGES, ramp)
    ends = [-(-stage * ramp // count) for stage in range(1, count + 1)]
    result = [(end, end) for end in ends]
    if num_steps > num_hidden:
        result[-1] = (num_steps, num_hidden)
    return result
