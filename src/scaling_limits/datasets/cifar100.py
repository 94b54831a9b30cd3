"""CIFAR-100: small photographs of 100 classes, 32 x 32 x 3, 50,000 + 10,000, in pickled or binary form.

Labels are the fine ones; the coarse labels of 20 classes are ignored.
"""

from collections.abc import Mapping

from scaling_limits.datasets import cifar
from scaling_limits.datasets.description import (
    Columns,
    DatasetInfo,
    Payload,
    Samples,
    Source,
    combined_checksum,
)

_PICKLED = (
    Payload("train", "md5:16019d7e3df5f24257cddd939b257f8d"),
    Payload("test", "md5:f0ef6b0ae62326f3e7ffdfab6717acfc"),
)
_BINARY = (
    Payload("train.bin", "md5:6172c7755cfe09b2fe270c85cebc1b15"),
    Payload("test.bin", "md5:4499cfba6c016c1be1438163640a0898"),
)

# both forms hold the same images in the same order, so one checksum identifies either
INFO = DatasetInfo(
    name="cifar100",
    title="CIFAR-100",
    shape=(32, 32, 3),
    num_classes=100,
    num_train=50000,
    num_test=10000,
    checksum=combined_checksum(_PICKLED),
    stand_in="cifar10_standin",
)

_FOLDER = r"cifar[-_ ]?100"


def encode(train: Columns, test: Columns) -> dict[str, bytes]:
    """Return the binary files, given the images and both labels of both splits."""
    return {
        f"{name}.bin": cifar.encode(split, "coarse_label", "fine_label")
        for name, split in (("train", train), ("test", test))
    }


SOURCES = (
    Source(
        _PICKLED,
        folder=_FOLDER,
        mirrors=("https://www.cs.toronto.edu/~kriz/",),
        archive="cifar-100-python.tar.gz",
        archive_checksum="md5:eb9058c3a382ffc7106e4002c42a8d85",
        telling_names=False,
    ),
    Source(
        _BINARY,
        folder=_FOLDER,
        archive="cifar-100-binary.tar.gz",
        archive_checksum="md5:03b5dce01913d631647c71ecec9e9cb8",
        telling_names=False,
        encode=encode,
    ),
)


def decode(payloads: Mapping[str, bytes]) -> Samples:
    """Decode images [n, 32, 32, 3] and fine labels [n], both uint8.

    Raises:
        DatasetError: a file does not have the published format.
    """
    return cifar.decode(payloads, label_bytes=2, label_key=b"fine_labels")
