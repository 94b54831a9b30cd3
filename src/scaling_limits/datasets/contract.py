"""The contract of a dataset: what its module defines."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from scaling_limits.datasets.description import DatasetInfo, Samples, Source


class Dataset(Protocol):
    """A dataset of the project: constants, and the decoding of its files."""

    @property
    def INFO(self) -> DatasetInfo:  # noqa: N802
        """The description that the configuration uses before any file is read."""

    @property
    def SOURCES(self) -> Sequence[Source]:  # noqa: N802
        """The forms in which its files are published; empty for generated data."""

    def decode(self, payloads: Mapping[str, bytes], /) -> Samples:
        """Decode the samples from the contents of one source, given by file name."""


if TYPE_CHECKING:
    from scaling_limits.datasets import (
        attribute_words,
        cifar10,
        cifar10_standin,
        cifar100,
        digits,
        fashion_mnist,
        gaussian_binary,
        imagenet,
        mnist,
        scalar_regression,
        sentences,
        tiny_shakespeare,
        wikitext2,
    )

    _CHECKED: tuple[Dataset, ...] = (
        attribute_words,
        cifar10,
        cifar100,
        cifar10_standin,
        digits,
        fashion_mnist,
        gaussian_binary,
        imagenet,
        mnist,
        scalar_regression,
        sentences,
        tiny_shakespeare,
        wikitext2,
    )
