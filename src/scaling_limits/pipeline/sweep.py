"""Networks that are trained from Python, one or a sweep, without configuration files or Snakemake."""

import io
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import BeforeValidator
from tqdm import tqdm

from scaling_limits import runtime
from scaling_limits.algorithms import registry
from scaling_limits.configuration import axes, own_parts
from scaling_limits.configuration.models import MeasurementPlan, OwnNames, Resources
from scaling_limits.configuration.resolve import Resolved, Resolver
from scaling_limits.configuration.trees import Origin, Tree
from scaling_limits.configuration.validation import validate
from scaling_limits.costs.memory import refuse_beyond_machine
from scaling_limits.datasets import catalogue, keras_npz
from scaling_limits.datasets.preparation import prepare
from scaling_limits.errors import ConfigurationError, ScalingLimitsError
from scaling_limits.pipeline.jobs import Keyed, compute, lookup, rows
from scaling_limits.pipeline.keys import cell_key
from scaling_limits.store import Store, StoredCell

_ARRAYS = ("x_train", "y_train", "x_test", "y_test")
_CALLER = Tree(Origin("train"))


class _Arguments(OwnNames):
    """The description of the networks, without their data."""

    settings: dict[str, object]
    measurements: dict[
        str, Annotated[MeasurementPlan, BeforeValidator(lambda steps: {"steps": steps})]
    ]


def train(
    settings: object,
    measurements: object,
    data: object,
    store: object,
    algorithms: object,
    parameterisations: object,
) -> pd.DataFrame:
    """Train a network or a sweep; see `scaling_limits.train`.

    Args:
        settings: the settings; a list of values makes a sweep.
        measurements: for each measurement, the numbers of updates after which it is taken; None for no measurement.
        data: arrays by name, the path of an .npz file, or a folder with copies of datasets; None for none of these.
        store: the folder of computed cells; None to store nothing.
        algorithms: own algorithms, a Python file for each name; None for none.
        parameterisations: own rows of the table; None for none.

    Returns:
        The records, as `scaling_limits.train` describes them.

    Raises:
        ConfigurationError: an argument is invalid, or the networks cannot be computed or stored on this machine.
    """
    try:
        arguments = validate(
            _Arguments,
            _CALLER,
            {
                "settings": _listed(settings),
                "measurements": {} if measurements is None else measurements,
                "algorithms": {} if algorithms is None else algorithms,
                "parameterisations": [] if parameterisations is None else parameterisations,
            },
            written=lambda location: tuple(part for part in location if part != "steps"),
        )
        for part in own_parts.parts(Path(), _CALLER, arguments):
            own_parts.refuse_unusable(part)
        with tempfile.TemporaryDirectory() as folder:
            store_path = Path(folder, "cells") if store is None else _store_folder(store)
            return _train(arguments, data, Store(store_path), Path(folder))
    except ConfigurationError:
        raise
    except ScalingLimitsError as error:
        raise ConfigurationError(None, error) from error


def _listed(value: object) -> object:
    """Return a value with tuples, ranges and arrays of NumPy in it as lists, and NumPy's numbers as Python's."""
    if isinstance(value, Mapping):
        return {key: _listed(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [_listed(inner) for inner in value] if isinstance(value, list | tuple | range) else value


def _store_folder(store: object) -> Path:
    if not isinstance(store, str | Path):
        problem = f"should be the path of a folder, not {type(store).__name__}"
        raise ConfigurationError("store", problem)
    folder = Path(os.path.expanduser(store))
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError("store", f"{folder} is a file, not a folder")
    return folder


def _train(arguments: _Arguments, data: object, store: Store, folder: Path) -> pd.DataFrame:
    """Return the records of all points; files that are needed only meanwhile go into `folder`."""
    user_files, copies = _data_files(data, folder)
    user = catalogue.archives(copies)
    settings = arguments.settings
    if user_files is not None:
        settings = {"dataset": "data", **settings}
        name = settings["dataset"]
        if not isinstance(name, str):
            raise ConfigurationError("dataset", "`data` is one dataset, so this has to be one name")
        user = {name: user_files}
    points = _points(arguments, settings, user)
    stored, missing = lookup((each.cell for each in points), store)
    for shard in missing:
        refuse_beyond_machine(shard[0][1])
    for name in sorted({shard[0][1].dataset.name for shard in missing}):
        output = folder / "datasets" / f"{name}.npz"
        prepare(name, data_path=copies, downloads=folder, output=output, user=user)
    stored |= _computed(missing, len(stored), store, folder / "datasets")
    tables = [rows(stored[cell_key(each.cell)].measured) for each in points]
    varied = [name for name, value in settings.items() if axes.is_axis(value, name)]
    if not varied:
        return tables[0]
    labels = [name for name in varied if name != "seed"] + ["seed"]
    labelled = [_labelled(t, each, labels) for t, each in zip(tables, points, strict=True)]
    return pd.concat(labelled, ignore_index=True)


def _points(
    arguments: _Arguments, settings: Mapping[str, object], user: Mapping[str, Path]
) -> list[Resolved]:
    """Return the networks of a sweep, the one whose last list of values varies fastest first.

    Args:
        arguments: the description of the networks.
        settings: their settings with the dataset.
        user: the user's own datasets by name.

    Raises:
        ConfigurationError: a setting or measurement is invalid.
    """
    for name, value in settings.items():
        problem = axes.problem(name, value)
        if problem is not None:
            raise ConfigurationError(name, problem)
    known = registry.with_files(arguments.algorithms)
    resolver = Resolver(Resources(), user, arguments.parameterisations, known)
    points = [resolver.resolve(each, arguments.measurements) for each in axes.points(settings)]
    _refuse_unreached(arguments.measurements, max(each.cell.num_steps for each in points))
    return points


def _refuse_unreached(measurements: Mapping[str, MeasurementPlan], last: int) -> None:
    """Refuse steps past the end of every training, which presets leave out."""
    for name, plan in measurements.items():
        for step in plan.steps:
            if step != "end" and step > last:
                raise ConfigurationError(
                    f"measurements.{name}",
                    f"step {step} is never reached, as num_steps is {last}; valid are 0 to {last}, "
                    "and 'end'",
                )


def _computed(
    shards: Sequence[Sequence[Keyed]], num_stored: int, store: Store, datasets: Path
) -> dict[str, StoredCell]:
    """Compute and store the missing cells, with a progress bar if standard error is a terminal.

    Args:
        shards: the missing cells by shard.
        num_stored: the number of the sweep's other cells.
        store: the store that lacks the cells.
        datasets: folder of prepared datasets.
    """
    stored: dict[str, StoredCell] = {}
    total = num_stored + sum(map(len, shards))
    # `disable=None` is for a standard error that is no terminal
    disable = None if shards else True
    with tqdm(
        total=total, initial=num_stored, unit="network", leave=False, disable=disable
    ) as progress:
        for dtype, chosen in _by_dtype(shards):
            runtime.configure(dtype=dtype)
            import jax

            # a process may train cells of both dtypes
            with jax.enable_x64(dtype == "float64"):
                for key, cell in compute(chosen, store, datasets):
                    stored[key] = cell
                    progress.update()
    return stored


def _by_dtype(
    shards: Iterable[Sequence[Keyed]],
) -> list[tuple[str, list[Sequence[Keyed]]]]:
    chosen: dict[str, list[Sequence[Keyed]]] = {}
    for shard in shards:
        chosen.setdefault(shard[0][1].dtype, []).append(shard)
    return sorted(chosen.items())


def _labelled(table: pd.DataFrame, point: Resolved, labels: Iterable[str]) -> pd.DataFrame:
    """Return a table with columns for the values of settings in front."""
    values = {name: getattr(point.settings, name) for name in labels}
    columns = pd.DataFrame({name: [value] * len(table) for name, value in values.items()})
    return pd.concat([columns, table], axis=1)


def _data_files(data: object, folder: Path) -> tuple[Path | None, Path | None]:
    """The file of an own dataset, and the folder with copies of others; arrays become a file in `folder`.

    Raises:
        ConfigurationError: there is no such file or folder, or `data` is none of these.
        DatasetError: the arrays are no dataset.
    """
    if data is None:
        return None, None
    if isinstance(data, Mapping):
        content = io.BytesIO()
        arrays: dict[str, Any] = {key: _array(key, data[key]) for key in _ARRAYS if key in data}
        np.savez(content, **arrays)
        keras_npz.decode("data", content.getvalue())  # what is wrong is said of `data`
        file = folder / "arrays.npz"
        file.write_bytes(content.getvalue())
        return file, None
    if not isinstance(data, str | Path):
        raise ConfigurationError(
            "data",
            f"should be arrays by name ({', '.join(_ARRAYS)}) or a path, not {type(data).__name__}",
        )
    path = Path(os.path.expanduser(data))
    if not path.exists():
        raise ConfigurationError("data", f"{path} is not there")
    return (path, None) if path.is_file() else (None, path)


def _array(key: str, values: object) -> object:
    if np.ma.is_masked(values):
        problem = f"'{key}' has masked values; leave out the samples that have them"
        raise ConfigurationError("data", problem)
    try:
        return np.asarray(values)
    except (ValueError, TypeError) as error:
        raise ConfigurationError("data", f"'{key}' is no array of numbers: {error}") from error
