"""One network, trained without a configuration's files, Snakemake or a store."""

import io
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from scaling_limits import runtime
from scaling_limits.configuration.models import MeasurementPlan, Resources
from scaling_limits.configuration.resolve import Resolver
from scaling_limits.datasets import catalogue, keras_npz
from scaling_limits.datasets.loading import load
from scaling_limits.datasets.preparation import prepare
from scaling_limits.errors import ConfigurationError
from scaling_limits.pipeline.jobs import computation, rows


def train(
    settings: Mapping[str, Any],
    measurements: Mapping[str, Sequence[int | Literal["end"]]] | None = None,
    data: Mapping[str, ArrayLike] | Path | str | None = None,
) -> pd.DataFrame:
    """See `scaling_limits.train`."""
    with tempfile.TemporaryDirectory() as folder:
        return _trained(settings, measurements, data, Path(folder))


def _trained(
    settings: Mapping[str, Any],
    measurements: Mapping[str, Sequence[int | Literal["end"]]] | None,
    data: Mapping[str, ArrayLike] | Path | str | None,
    folder: Path,
) -> pd.DataFrame:
    own, copies = _found(data, folder)
    user = catalogue.archives(copies)
    if own is not None:
        settings = {"dataset": "data", **settings}
        user = {str(settings["dataset"]): own}
    plans = {
        name: MeasurementPlan(steps=list(steps)) for name, steps in (measurements or {}).items()
    }
    cell = Resolver(Resources(), user, {}).resolve(settings, plans).cell
    if "jax" not in sys.modules:
        runtime.configure(dtype=cell.dtype)
    import jax

    if jax.dtypes.canonicalize_dtype(cell.dtype) != cell.dtype:
        raise ConfigurationError(
            "dtype: float64, but JAX was set up without; train before JAX is imported, or set jax_enable_x64"
        )
    prepared = folder / "prepared.npz"
    prepare(cell.dataset.name, data_path=copies, downloads=folder, output=prepared, user=user)
    (measured,) = computation(cell, load(cell.dataset, prepared, cell.dtype))([cell])
    return rows(measured)


def _found(
    data: Mapping[str, ArrayLike] | Path | str | None, folder: Path
) -> tuple[Path | None, Path | None]:
    """The file of a dataset of one's own, and the folder with copies of others; arrays become a file in `folder`."""
    if isinstance(data, Mapping):
        content = io.BytesIO()
        arrays: dict[str, Any] = {key: np.asarray(array) for key, array in data.items()}
        np.savez(content, **arrays)
        keras_npz.decode("data", content.getvalue())  # what is wrong is said of `data`
        file = folder / "data.npz"
        file.write_bytes(content.getvalue())
        return file, None
    path = None if data is None else Path(data)
    if path is not None and not path.exists():
        raise ConfigurationError(f"data: {path} is not there")
    return (path, None) if path is not None and path.is_file() else (None, path)
