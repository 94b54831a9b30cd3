"""What a dataset is, and which published files it is read from."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Columns = Mapping[str, NDArray[np.integer]]
"""Labelled images of one split: `image` [n, H, W] or [n, H, W, C], and labels [n] by the names of their columns."""


@dataclass(frozen=True)
class DatasetInfo:
    """A dataset as the configuration sees it.

    `shape` is that of one sample: (H, W), (H, W, C) or (D,). `checksum` (sha256) names the
    verified content. `stand_in` is the dataset that may take this one's place if it is on the
    machine and this one is not. `note` has to be said wherever the data are shown. Samples of a text
    are words about another one, `context_size` of them; `shape` is then that of what they become,
    how often each word of the vocabulary is among them. Such a text has analogies. With `is_sequence` it is one text
    of tokens, which is cut into samples of as many as the settings say; `shape` is a token's shape, and `num_train`
    and `num_test` count tokens that have a next one. Targets are classes, or with `num_targets` so many real numbers of
    every sample; `num_classes` is then 0.
    """

    name: str
    title: str
    shape: tuple[int, ...]
    num_classes: int
    num_train: int
    num_test: int
    checksum: str
    stand_in: str | None = None
    note: str = ""
    context_size: int | None = None
    is_sequence: bool = False
    num_targets: int | None = None


@dataclass(frozen=True)
class Payload:
    """A published file without its compression.

    `checksum` is `<algorithm>:<hexadecimal digits>` of these bytes.
    """

    name: str
    checksum: str


@dataclass(frozen=True)
class Source:
    """One form in which a dataset is published.

    Attributes:
        payloads: the files, published one by one, with gzip if `gzipped`, or all in `archive`.
        folder: regular expression that names of folders with the dataset match somewhere, in lower case.
        mirrors: addresses of folders; without any, only a local copy serves.
        archive: name of the archive; `archive_checksum` is the checksum of its bytes.
        gzipped: whether mirrors keep the payloads compressed.
        telling_names: False if the files have names such as `train`, which may be anything: they count in folders of
            the dataset only.
        encode: the payloads, from the columns of the training and the test split. With it, Keras' `.npz` and Hugging
            Face's Parquet serve as copies.
    """

    payloads: tuple[Payload, ...]
    folder: str
    mirrors: tuple[str, ...] = ()
    archive: str = ""
    archive_checksum: str = ""
    gzipped: bool = True
    telling_names: bool = True
    encode: Callable[[Columns, Columns], dict[str, bytes]] | None = None


@dataclass(frozen=True, eq=False)
class Samples:
    """Decoded samples: x [n, H, W], [n, H, W, C] or [n, D]; integer labels y [n], or real targets y [n, num_targets].

    `maximum` is the largest value a pixel can take; 0 where the data have no such bound. For a text, x
    are indices of words [n, context_size], y those of the words that they stand about, and `analogies`
    questions [q, 4]: what is to the third word as the second is to the first? The fourth. For a sequence, x and y are
    the tokens [n] and those after them.
    """

    x_train: NDArray[np.generic]
    y_train: NDArray[np.integer | np.floating]
    x_test: NDArray[np.generic]
    y_test: NDArray[np.integer | np.floating]
    maximum: float
    analogies: NDArray[np.integer] | None = None


def combined_checksum(payloads: Iterable[Payload]) -> str:
    """Combine the checksums of several files into one sha256."""
    lines = "".join(f"{payload.name} {payload.checksum}\n" for payload in payloads)
    return hashlib.sha256(lines.encode()).hexdigest()
