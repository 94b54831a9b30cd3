"""Target propagation with converged linear feedback weights: closed forms, in float64.

Data are rows: activities h_l `[N, M_l]` of N samples; lists are over l = 1..L. Feedback weights Q_l `[M_{l-1}, M_l]`, l
= 2..L, minimise ||Q_l h_l - h_{l-1}||^2 + mu_l ||Q_l||^2 summed over samples. With the kernels k_l = h_l h_l^T `[N,
N]`, this gives Q_l* = h_{l-1}^T (k_l + mu_l)^{-1} h_l, so the propagation of targets between layers acts on samples.
mu_l = 0 requires a regular k_l. Source: pc-tp (S.119)-(S.133). In the paper, h_l are columns and kernels are divided by
the width; its Q_l* is the same.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

Matrix = Float[np.ndarray, "rows columns"]


def feedback_weights(activities: Sequence[Matrix], ridges: Sequence[float]) -> list[Matrix]:
    """Return Q_2*..Q_L* (S.120), given h_1..h_L and mu_2..mu_L."""
    return [
        lower.T @ np.linalg.solve(_kernel(upper, ridge), upper)
        for lower, upper, ridge in zip(activities[:-1], activities[1:], ridges, strict=True)
    ]


def ridge_for(weight_decay: float, num_samples: int, units_below: int) -> float:
    """Return mu_l of gradient descent with a weight decay.

    The loss is (S.164), the batch mean of ||Q_l h_l - h_{l-1}||^2 / (2 M_{l-1}), and the decay is added to the
    gradient.
    """
    return weight_decay * num_samples * units_below


def difference_errors(
    activities: Sequence[Matrix], output_error: Matrix, ridges: Sequence[float]
) -> list[Matrix]:
    """Return e_1..e_L of targets with the difference correction (S.127)-(S.130), given e_L `[N, M_L]`."""
    errors = [output_error]
    # weights of the samples: every e_{l-1} is a linear combination of rows of h_{l-1}
    mixture = output_error @ activities[-1].T
    levels = list(zip(activities[:-1], activities[1:], ridges, strict=True))
    for lower, upper, ridge in reversed(levels):
        mixture = np.linalg.solve(_kernel(upper, ridge), mixture.T).T
        errors.insert(0, mixture @ lower)
        mixture = mixture @ (lower @ lower.T)
    return errors


def targets(
    activities: Sequence[Matrix], output_target: Matrix, ridges: Sequence[float]
) -> list[Matrix]:
    """Return hhat_1..hhat_L of targets without the correction (S.131)-(S.133), given hhat_L."""
    # Q* is linear, so targets follow the same recursion as errors with the correction
    return difference_errors(activities, output_target, ridges)


def _kernel(activities: Matrix, ridge: float) -> Matrix:
    kernel: Matrix = activities @ activities.T
    return kernel + ridge * np.eye(len(activities))
