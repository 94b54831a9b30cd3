"""MNIST: handwritten digits, 28 x 28 grey, 60,000 + 10,000."""

from collections.abc import Mapping

from scaling_limits.datasets import idx
from scaling_limits.datasets.description import (
    DatasetInfo,
    Payload,
    Samples,
    Source,
    combined_checksum,
)

_PAYLOADS = (
    Payload(
        "train-images-idx3-ubyte",
        "sha256:ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        namesake="md5:f4a8712d7a061bf5bd6d2ca38dc4d50a",
    ),
    Payload(
        "train-labels-idx1-ubyte",
        "sha256:65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        namesake="md5:9018921c3c673c538a1fc5bad174d6f9",
    ),
    Payload(
        "t10k-images-idx3-ubyte",
        "sha256:0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        namesake="md5:8181f5470baa50b63fa0f6fddb340f0a",
    ),
    Payload(
        "t10k-labels-idx1-ubyte",
        "sha256:ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        namesake="md5:15d484375f8d13e6eb1aabb0c3f46965",
    ),
)

INFO = DatasetInfo(
    name="mnist",
    title="MNIST",
    shape=(28, 28),
    num_classes=10,
    num_train=60000,
    num_test=10000,
    checksum=combined_checksum(_PAYLOADS),
)

# The page of the authors refuses downloads; the PyTorch and the TensorFlow projects keep these two.
SOURCES = (
    Source(
        _PAYLOADS,
        places=("mnist", "MNIST/raw"),
        mirrors=(
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
        ),
    ),
)


def decode(payloads: Mapping[str, bytes]) -> Samples:
    """Images [n, 28, 28] and labels [n], both uint8."""
    arrays = {name: idx.decode(name, content) for name, content in payloads.items()}
    return Samples(
        x_train=arrays["train-images-idx3-ubyte"],
        y_train=arrays["train-labels-idx1-ubyte"],
        x_test=arrays["t10k-images-idx3-ubyte"],
        y_test=arrays["t10k-labels-idx1-ubyte"],
        maximum=255.0,
    )
