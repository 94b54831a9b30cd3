"""Fashion-MNIST: clothing, 28 x 28 grey, 60,000 + 10,000, in files with the same names as those of MNIST."""

from scaling_limits.datasets.description import DatasetInfo, Payload, Source, combined_checksum
from scaling_limits.datasets.mnist import decode, encode

_PAYLOADS = (
    Payload(
        "train-images-idx3-ubyte",
        "md5:f4a8712d7a061bf5bd6d2ca38dc4d50a",
    ),
    Payload(
        "train-labels-idx1-ubyte",
        "md5:9018921c3c673c538a1fc5bad174d6f9",
    ),
    Payload(
        "t10k-images-idx3-ubyte",
        "md5:8181f5470baa50b63fa0f6fddb340f0a",
    ),
    Payload(
        "t10k-labels-idx1-ubyte",
        "md5:15d484375f8d13e6eb1aabb0c3f46965",
    ),
)

INFO = DatasetInfo(
    name="fashion_mnist",
    title="Fashion-MNIST",
    shape=(28, 28),
    num_classes=10,
    num_train=60000,
    num_test=10000,
    checksum=combined_checksum(_PAYLOADS),
)

SOURCES = (
    Source(
        _PAYLOADS,
        folder=r"fashion[-_ ]?mnist",
        mirrors=(
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
            "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
        ),
        encode=encode,
    ),
)

__all__ = ["INFO", "SOURCES", "decode"]
