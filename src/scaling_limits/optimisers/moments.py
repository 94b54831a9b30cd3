"""The numbers in cells with SGD and Adam."""

from scaling_limits.cells import OptimiserSpec, Traced


class Moments(OptimiserSpec):
    """SGD's momentum, and Adam's decays of both moments and epsilon; unused ones have their defaults."""

    momentum: Traced = 0.0
    beta1: Traced = 0.9
    beta2: Traced = 0.999
    epsilon: Traced = 1e-8
