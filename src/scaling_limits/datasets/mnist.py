"""MNIST: handwritten digits, 28 x 28 grey, 60,000 + 10,000."""

from collections.abc import Mapping

from scaling_limits.datasets import idx
from scaling_limits.datasets.description import (
    Columns,
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
    ),
    Payload(
        "train-labels-idx1-ubyte",
        "sha256:65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    ),
    Payload(
        "t10k-images-idx3-ubyte",
        "sha256:0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    ),
    Payload(
        "t10k-labels-idx1-ubyte",
        "sha256:ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
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


def encode(train: Columns, test: Columns) -> dict[str, bytes]:
    """Return the four files, given the images and labels of both splits."""
    return {
        "train-images-idx3-ubyte": idx.encode(train["image"]),
        "train-labels-idx1-ubyte": idx.encode(train["label"]),
        "t10k-images-idx3-ubyte": idx.encode(test["image"]),
        "t10k-labels-idx1-ubyte": idx.encode(test["label"]),
    }


# the authors' page rejects downloads; the PyTorch and TensorFlow projects host these mirrors
SOURCES = (
    Source(
        _PAYLOADS,
        # excludes kmnist and fashion_mnist
        folder=r"(?<![a-z])(?<!fashion[-_ ])mnist",
        mirrors=(
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
        ),
        encode=encode,
    ),
)


def decode(payloads: Mapping[str, bytes]) -> Samples:
    """Decode images [n, 28, 28] and labels [n], both uint8."""
    arrays = {name: idx.decode(name, content) for name, content in payloads.items()}
    return Samples(
        x_train=arrays["train-images-idx3-ubyte"],
        y_train=arrays["train-labels-idx1-ubyte"],
        x_test=arrays["t10k-images-idx3-ubyte"],
        y_test=arrays["t10k-labels-idx1-ubyte"],
        maximum=255.0,
    )
