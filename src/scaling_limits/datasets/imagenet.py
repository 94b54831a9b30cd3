"""ImageNet: photographs of 1,000 kinds, an archive that the user provides, as there is no free download.

`imagenet.npz` below `data.path`, at any resolution, is read as a user's own dataset (`keras_npz`): its
sizes and its checksum are those of the file. Without it CIFAR-10 takes its place, which is said wherever it is shown.
"""

from collections.abc import Mapping

from scaling_limits.datasets import keras_npz
from scaling_limits.datasets.description import DatasetInfo, Payload, Samples, Source

_FILE = Payload("imagenet.npz", checksum="")

INFO = DatasetInfo(
    name="imagenet",
    title="ImageNet",
    shape=(32, 32, 3),
    num_classes=1000,
    num_train=1_281_167,
    num_test=50_000,
    checksum="",
    stand_in="cifar10",
)

SOURCES = (Source((_FILE,), folder="imagenet"),)


def decode(payloads: Mapping[str, bytes]) -> Samples:
    """The samples of the archive; raises as `keras_npz.decode` does."""
    return keras_npz.decode(_FILE.name, payloads[_FILE.name])
