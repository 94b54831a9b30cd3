"""A line with noise: y = -x + epsilon, x ~ N(1, 1), epsilon ~ N(0, 1/2), all scalars (toy task of mupc, Fig. A.10).

The second argument of N is the variance, as in the paper's weight distributions.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from scaling_limits.datasets.description import DatasetInfo, Samples

_KEY = 64
_NOISE_VARIANCE = 0.5
_NUM_TRAIN, _NUM_TEST = 1024, 256

INFO = DatasetInfo(
    name="scalar_regression",
    title="a line with noise",
    shape=(1,),
    num_classes=0,
    num_targets=1,
    num_train=_NUM_TRAIN,
    num_test=_NUM_TEST,
    checksum="85d95e319b22fd1d960b0ab4a65fae54fb255e88409089440fb3617f60d24038",
)

SOURCES = ()


def decode(_payloads: Mapping[str, bytes]) -> Samples:
    """Generate inputs and targets [n, 1] in float64, for training and test."""
    generator = np.random.Generator(np.random.Philox(key=_KEY))

    def draw(count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        x = 1.0 + generator.standard_normal((count, 1))
        return x, -x + _NOISE_VARIANCE**0.5 * generator.standard_normal((count, 1))

    (x_train, y_train), (x_test, y_test) = draw(_NUM_TRAIN), draw(_NUM_TEST)
    return Samples(x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test, maximum=0.0)
