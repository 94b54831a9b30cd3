"""The datasets by name: constants that are known when the configuration is read, before any data are."""

import importlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from scaling_limits.datasets import keras_npz, local
from scaling_limits.datasets.description import DatasetInfo
from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.registry import Registry

if TYPE_CHECKING:
    from scaling_limits.datasets.contract import Dataset

_PACKAGE = "scaling_limits.datasets"

registry: "Registry[Dataset]" = Registry(
    "dataset",
    {
        name: f"{_PACKAGE}.{name}"
        for name in (
            "attribute_words",
            "cifar10",
            "cifar10_standin",
            "cifar100",
            "digits",
            "fashion_mnist",
            "gaussian_binary",
            "imagenet",
            "mnist",
            "scalar_regression",
            "sentences",
            "tiny_shakespeare",
            "wikitext2",
        )
    },
    "scaling_limits.datasets",
    ("INFO", "SOURCES"),
)

_ARCHIVES = ("imagenet",)


def archives(data_path: Path | None) -> dict[str, Path]:
    """Return the datasets that only users can provide, with their files below `data_path`.

    Their content is known from the file only, so they are read like a user's datasets.
    """
    if data_path is None:
        return {}
    result: dict[str, Path] = {}
    for name in _ARCHIVES:
        (source,) = registry.get(name).SOURCES
        (files,) = local.find(source, data_path).payloads.values()
        if files:
            result[name] = files[0]
    return result


def names(user: Mapping[str, Path]) -> list[str]:
    """Return all valid names: the project's datasets and those of `user` (name -> .npz file).

    Raises:
        ConfigurationError: a user's dataset has the name of one of the project's.
    """
    taken = sorted(set(user) & set(registry.modules) - set(_ARCHIVES))
    if taken:
        raise ConfigurationError(
            "data.datasets",
            f"'{taken[0]}' is already the name of a dataset of scaling_limits; choose another name",
        )
    return sorted([*registry.modules, *user])


def info(name: str, user: Mapping[str, Path]) -> DatasetInfo:
    """Return the description of the dataset `name`; only a user's dataset or archive is read for this, once.

    Raises:
        ConfigurationError: there is no such dataset.
        DatasetError: the user's file is missing or invalid.
    """
    declaring = importlib.import_module(module(name, user))
    if name not in user:
        result: DatasetInfo = declaring.INFO
        return result
    read = keras_npz.info(name, user[name])
    return replace(read, title=registry.get(name).INFO.title) if name in _ARCHIVES else read


def module(name: str, user: Mapping[str, Path]) -> str:
    """Return the dotted name of the module that decodes `name`.

    With `loading`, this is the source on which the dataset's values depend.

    Raises:
        ConfigurationError: there is no such dataset.
    """
    valid = names(user)
    if name not in valid:
        raise ConfigurationError("dataset", unknown("dataset", name, valid))
    return keras_npz.__name__ if name in user else registry.module(name)


def available_locally(name: str, data_path: Path | None) -> bool:
    """Return whether all files of the project's dataset `name` exist below `data_path`, without reading them.

    True for datasets that need no files.
    """
    sources = registry.get(name).SOURCES
    if data_path is None:
        return not sources
    return not sources or any(local.find(source, data_path).complete for source in sources)


def published(name: str) -> bool:
    """Return whether the project's dataset `name` can be downloaded."""
    return any(source.mirrors for source in registry.get(name).SOURCES)
