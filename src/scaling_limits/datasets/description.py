"""Descriptions of datasets and of the published files from which they are read."""

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

    Targets are classes or, with `num_targets`, real numbers; `num_classes` is then 0. In a text with `context_size`, a
    sample is a word with its context, and the text has analogies.

    Attributes:
        shape: shape of one sample: (H, W), (H, W, C) or (D,). For a text with `context_size`, (size of the
            vocabulary,), because a sample becomes the counts of all words. With `is_sequence`, the shape of a token.
        checksum: SHA-256 checksum that identifies the verified content.
        stand_in: the dataset that replaces this one if only the replacement is available on this machine.
        note: a note that is shown with the data.
        context_size: number of context words of a sample, for texts of words.
        is_sequence: whether the dataset is one text of tokens, which is cut into samples of the length in the settings;
            `num_train` and `num_test` then count the tokens that have a next one.
        num_targets: number of real targets of every sample.
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
        folder: regular expression for the lower-case names of folders that contain the dataset; it may match any part
            of a name.
        mirrors: addresses of folders; without mirrors, only local copies are used.
        archive: name of the archive; `archive_checksum` is the checksum of its bytes.
        gzipped: whether mirrors keep the payloads compressed.
        telling_names: False if the files have unspecific names such as `train`; they are then accepted in folders of
            the dataset only.
        encode: returns the payloads, given the columns of the training and the test split. With it, Keras' `.npz` and
            Hugging Face's Parquet files are accepted as copies.
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

    `maximum` is the largest possible pixel value; 0 if the data have no such bound. For a text of words, x are the
    indices of context words [n, context_size], y those of the words in the middle, and `analogies` questions [q, 4]:
    the fourth word is to the third as the second is to the first. For a sequence, x are the tokens [n] and y the next
    tokens.
    """

    x_train: NDArray[np.generic]
    y_train: NDArray[np.integer | np.floating]
    x_test: NDArray[np.generic]
    y_test: NDArray[np.integer | np.floating]
    maximum: float
    analogies: NDArray[np.integer] | None = None


def combined_checksum(payloads: Iterable[Payload]) -> str:
    """Return one SHA-256 checksum that represents the checksums of several files."""
    lines = "".join(f"{payload.name} {payload.checksum}\n" for payload in payloads)
    return hashlib.sha256(lines.encode()).hexdigest()
