"""The numbers that cells of SGD and Adam hold."""

from scaling_limits.cells import OptimiserSpec, Traced


class Moments(OptimiserSpec):
    """SGD's momentum, and Adam's decays of both moments and epsilon: all four, idle ones at their default."""

    momentum: Traced = 0.0
    beta1: Traced = 0.9
    beta2: Traced = 0.999
    epsilon: Traced = 1e-8
