"""The stages of inference: which layers its steps have to evaluate."""

from scaling_limits.cells import AlgorithmSpec, Compiled

NUM_STAGES = 4
"""More stages evaluate fewer layers, down to half, but each is one more loop to compile: one where that is quick."""


def moves_from_above(options: AlgorithmSpec) -> bool:
    """Whether at first nothing moves but what the output error pulls at: from the forward pass, all other errors are
    zero, and no decay acts on the activities.
    """
    return options.activity_initialisation == "forward" and options.activity_decay is None


def stages(options: AlgorithmSpec, num_hidden: int, compiled: Compiled) -> list[tuple[int, int]]:
    """(last step, number of hidden layers that have moved by then) of each stage, steps from 1.

    If activities move from above, synchronous steps move one more layer each, from the output down.
    """
    num_steps = options.num_inference_steps or 0
    slow = moves_from_above(options) and options.inference_order == "synchronous"
    if not slow or compiled == "quickly" or options.inference == "adam":
        # Adam's averages would have to grow with the stages
        return [(num_steps, num_hidden)]
    ramp = min(num_steps, num_hidden)
    count = min(NUM_STAGES, ramp)
    ends = [-(-stage * ramp // count) for stage in range(1, count + 1)]
    result = [(end, end) for end in ends]
    if num_steps > num_hidden:
        result[-1] = (num_steps, num_hidden)
    return result
