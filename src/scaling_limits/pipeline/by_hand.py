"""One network, trained without a configuration's files, Snakemake or a store."""

import io
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import BeforeValidator

from scaling_limits import runtime
from scaling_limits.cells import Cell
from scaling_limits.configuration import own_parts
from scaling_limits.configuration.files import validate
from scaling_limits.configuration.models import MeasurementPlan, OwnNames, Resources
from scaling_limits.configuration.resolve import Resolver
from scaling_limits.configuration.trees import Origin, Tree
from scaling_limits.costs.memory import refuse_beyond_machine
from scaling_limits.datasets import catalogue, keras_npz
from scaling_limits.datasets.loading import load
from scaling_limits.datasets.preparation import prepare
from scaling_limits.errors import ConfigurationError, DatasetError
from scaling_limits.pipeline.jobs import computation, rows

_KEYS = ("x_train", "y_train", "x_test", "y_test")
_CALLER = Tree(Origin("train"))


class _Arguments(OwnNames):
    """The description of a network, without its data."""

    settings: dict[str, object]
    measurements: dict[
        str, Annotated[MeasurementPlan, BeforeValidator(lambda steps: {"steps": steps})]
    ]


def train(
    settings: object,
    measurements: object,
    data: object,
    algorithms: object,
    parameterisations: object,
) -> pd.DataFrame:
    """Train one network without a configuration's files; see `scaling_limits.train`.

    Args:
        settings: the settings, one value each.
        measurements: for each measurement the numbers of updates after which it is taken; none if None.
        data: arrays by name, the path of an .npz file, or a folder with copies of datasets; None without.
        algorithms: own algorithms, a Python file for each name; none if None.
        parameterisations: own rows of the table; none if None.

    Returns:
        The records, as `scaling_limits.train` describes them.

    Raises:
        ConfigurationError: an argument, setting or measurement is unknown, missing, invalid or does not go with the
            others.
        DatasetError: the dataset is invalid or could not be obtained.
    """
    arguments = validate(
        _Arguments,
        _CALLER,
        {
            "settings": settings,
            "measurements": {} if measurements is None else measurements,
            "algorithms": {} if algorithms is None else algorithms,
            "parameterisations": [] if parameterisations is None else parameterisations,
        },
        written=lambda location: tuple(part for part in location if part != "steps"),
    )
    for part in own_parts.parts(Path(), _CALLER, arguments):
        own_parts.refuse_unusable(part)
    with tempfile.TemporaryDirectory() as folder:
        return _trained(arguments, data, Path(folder))


def _trained(arguments: _Arguments, data: object, folder: Path) -> pd.DataFrame:
    own, copies = _found(data, folder)
    user = catalogue.archives(copies)
    settings = arguments.settings
    if own is not None:
        settings = {"dataset": "data", **settings}
        user = {str(settings["dataset"]): own}
    files = {name: Path(path) for name, path in arguments.algorithms.items()}
    resolver = Resolver(Resources(), user, files, arguments.parameterisations)
    cell = resolver.resolve(settings, arguments.measurements).cell
    _refuse_unreached(arguments.measurements, cell)
    refuse_beyond_machine(cell)
    runtime.configure(dtype=cell.dtype)
    import jax

    prepared = folder / "prepared.npz"
    prepare(cell.dataset.name, data_path=copies, downloads=folder, output=prepared, user=user)
    # a process may train cells of both dtypes
    with jax.enable_x64(cell.dtype == "float64"):
        (measured,) = computation(cell, load(cell.dataset, prepared, cell.dtype))([cell])
    return rows(measured)


def _refuse_unreached(measurements: Mapping[str, MeasurementPlan], cell: Cell) -> None:
    """Refuse steps past the end, which presets leave out."""
    for name, plan in measurements.items():
        for step in plan.steps:
            if step != "end" and step > cell.num_steps:
                raise ConfigurationError(
                    f"measurements.{name}",
                    f"step {step} is never reached, as num_steps is {cell.num_steps}; valid are 0 "
                    f"to {cell.num_steps}, and 'end'",
                )


def _found(data: object, folder: Path) -> tuple[Path | None, Path | None]:
    """The file of an own dataset, and the folder with copies of others; arrays become a file in `folder`.

    Raises:
        ConfigurationError: there is no such file or folder, or `data` is none of these.
        DatasetError: the arrays are no dataset.
    """
    if data is None:
        return None, None
    if isinstance(data, Mapping):
        content = io.BytesIO()
        arrays: dict[str, Any] = {key: _array(key, data[key]) for key in _KEYS if key in data}
        np.savez(content, **arrays)
        keras_npz.decode("data", content.getvalue())  # what is wrong is said of `data`
        file = folder / "data.npz"
        file.write_bytes(content.getvalue())
        return file, None
    if not isinstance(data, str | Path):
        raise ConfigurationError(
            "data",
            f"should be arrays by name ({', '.join(_KEYS)}) or a path, not {type(data).__name__}",
        )
    path = Path(os.path.expanduser(data))
    if not path.exists():
        raise ConfigurationError("data", f"{path} is not there")
    return (path, None) if path.is_file() else (None, path)


def _array(key: str, values: object) -> object:
    if np.ma.is_masked(values):
        raise DatasetError(f"data: '{key}' has masked values; leave out the samples that have them")
    try:
        return np.asarray(values)
    except (ValueError, TypeError) as error:
        raise DatasetError(f"data: '{key}' is no array of numbers: {error}") from error
