"""CIFAR-10: small photographs, 32 x 32 x 3, 50,000 + 10,000, in binary or pickled form."""

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

_BINARY = (
    Payload("data_batch_1.bin", "md5:5dd7e06a14cb22eb9f671a540d1b7c25"),
    Payload("data_batch_2.bin", "md5:5ea93a67294ea407fff1d09f752e9692"),
    Payload("data_batch_3.bin", "md5:942cd6a4bcdd0dd3c604fbe906cb4421"),
    Payload("data_batch_4.bin", "md5:ae636b3ba5c66a11e91e8cb52e771fcb"),
    Payload("data_batch_5.bin", "md5:53f37980c15c3d472c316c40844f3f0d"),
    Payload("test_batch.bin", "md5:803d5f7f4d78ea53de84dbe85f74fb6d"),
)
_PICKLED = (
    Payload("data_batch_1", "md5:c99cafc152244af753f735de768cd75f"),
    Payload("data_batch_2", "md5:d4bba439e000b95fd0a9bffe97cbabec"),
    Payload("data_batch_3", "md5:54ebc095f3ab1f0389bbae665268c751"),
    Payload("data_batch_4", "md5:634d18415352ddfa80567beed471001a"),
    Payload("data_batch_5", "md5:482c414d41f54cd18b22e5b47cb7c3cb"),
    Payload("test_batch", "md5:40351d587109b95175f43aff81a1287e"),
)

# both forms hold the same images in the same order, so one checksum identifies either
INFO = DatasetInfo(
    name="cifar10",
    title="CIFAR-10",
    shape=(32, 32, 3),
    num_classes=10,
    num_train=50000,
    num_test=10000,
    checksum=combined_checksum(_BINARY),
    stand_in="cifar10_standin",
)

_FOLDER = r"cifar[-_ ]?10(?!\d)"


def encode(train: Columns, test: Columns) -> dict[str, bytes]:
    """Return the binary files, given the images and labels of both splits in their official order."""
    records = cifar.encode(train, "label")
    size = len(records) // 5
    batches = {f"data_batch_{i + 1}.bin": records[i * size : (i + 1) * size] for i in range(5)}
    return {**batches, "test_batch.bin": cifar.encode(test, "label")}


SOURCES = (
    Source(
        _BINARY,
        folder=_FOLDER,
        mirrors=("https://www.cs.toronto.edu/~kriz/",),
        archive="cifar-10-binary.tar.gz",
        archive_checksum="md5:c32a1d4ab5d03f1284b67883e8d87530",
        encode=encode,
    ),
    Source(
        _PICKLED,
        folder=_FOLDER,
        archive="cifar-10-python.tar.gz",
        archive_checksum="md5:c58f30108f718f92721af3b95e74349a",
    ),
)


def decode(payloads: Mapping[str, bytes]) -> Samples:
    """Decode images [n, 32, 32, 3] and labels [n], both uint8.

    Raises:
        DatasetError: a batch does not have the published format.
    """
    return cifar.decode(payloads, label_bytes=1, label_key=b"labels")
