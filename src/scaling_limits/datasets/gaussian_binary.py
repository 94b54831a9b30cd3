"""Random signs on Gaussian inputs: x ~ N(0, 1)^40 and y in {-1, 1}, 20 samples (toy task of pcn-limits, A.8).

The labels are independent of the inputs, so the 20 test samples measure memorisation, not generalisation.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from scaling_limits.datasets.description import DatasetInfo, Samples

_KEY = 40
_DIMENSION = 40
_NUM_SAMPLES = 20

INFO = DatasetInfo(
    name="gaussian_binary",
    title="binary labels on Gaussian inputs",
    shape=(_DIMENSION,),
    num_classes=2,
    num_train=_NUM_SAMPLES,
    num_test=_NUM_SAMPLES,
    checksum="61958ec11d34e29254525d229284bcaf79554bf23869bb2ea2c7391268589ac4",
)

SOURCES = ()


def decode(_payloads: Mapping[str, bytes]) -> Samples:
    """Generate inputs [20, 40] in float32 and labels [20] in {-1, 1}, for training and test."""
    generator = np.random.Generator(np.random.Philox(key=_KEY))

    def draw() -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        x = generator.standard_normal((_NUM_SAMPLES, _DIMENSION)).astype(np.float32)
        return x, (2 * generator.integers(0, 2, _NUM_SAMPLES) - 1).astype(np.int32)

    (x_train, y_train), (x_test, y_test) = draw(), draw()
    return Samples(x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test, maximum=0.0)
