"""A smaller archive that replaces CIFAR-10, with a note, if CIFAR-10 is not available."""

from collections.abc import Mapping

from scaling_limits.datasets import keras_npz
from scaling_limits.datasets.description import DatasetInfo, Payload, Samples, Source

_PAYLOAD = Payload(
    "cifar10_standin.npz",
    "sha256:f791704b80c2391e8a74a7772e656d0d5e4f0c56ee704145d846e146ea16dd5e",
)

INFO = DatasetInfo(
    name="cifar10_standin",
    title="CIFAR-10 (subset)",
    shape=(32, 32, 3),
    num_classes=10,
    num_train=10000,
    num_test=2000,
    checksum=_PAYLOAD.checksum.partition(":")[2],
    note="Subset of CIFAR-10 with 10,000 training and 2,000 test images; all but the first 4,000 training images "
    "are JPEG-compressed (about 30 dB).",
)

SOURCES = (Source((_PAYLOAD,), folder=r"cifar[-_ ]?10(?!\d)"),)


def decode(payloads: Mapping[str, bytes]) -> Samples:
    """Decode images [n, 32, 32, 3] and labels [n], both uint8."""
    return keras_npz.decode(_PAYLOAD.name, payloads[_PAYLOAD.name])
