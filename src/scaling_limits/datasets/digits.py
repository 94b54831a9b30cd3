"""The handwritten digits bundled with scikit-learn: 8 x 8 grey, values 0 to 16, no download."""

from collections.abc import Mapping

import numpy as np

from scaling_limits.datasets.description import DatasetInfo, Samples

_NUM_TRAIN = 1500
_SPLIT_KEY = 1797

INFO = DatasetInfo(
    name="digits",
    title="handwritten digits of scikit-learn",
    shape=(8, 8),
    num_classes=10,
    num_train=_NUM_TRAIN,
    num_test=297,
    checksum="fd62850b35fbf94c038b0427645a8135ab6f0c0540152af53702f7f59dc03e3d",
)

SOURCES = ()


def decode(_payloads: Mapping[str, bytes]) -> Samples:
    """Return images [n, 8, 8] and labels [n], both uint8, in a fixed shuffled order.

    In the bundled order, the images of one writer are adjacent, so the last images would not be a fair test set.
    """
    from sklearn.datasets import load_digits

    bunch = load_digits()
    order = np.random.Generator(np.random.Philox(key=_SPLIT_KEY)).permutation(len(bunch.target))
    x, y = bunch.images.astype(np.uint8)[order], bunch.target.astype(np.uint8)[order]
    return Samples(
        x_train=x[:_NUM_TRAIN],
        y_train=y[:_NUM_TRAIN],
        x_test=x[_NUM_TRAIN:],
        y_test=y[_NUM_TRAIN:],
        maximum=16.0,
    )
