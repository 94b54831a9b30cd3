"""One network, trained without a configuration's files, Snakemake or a store."""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from scaling_limits import runtime
from scaling_limits.configuration.models import MeasurementPlan, Resources
from scaling_limits.configuration.resolve import Resolver
from scaling_limits.datasets.loading import load
from scaling_limits.datasets.preparation import prepare
from scaling_limits.errors import ConfigurationError
from scaling_limits.pipeline.jobs import computation, rows


def train(
    settings: Mapping[str, Any],
    measurements: Mapping[str, Sequence[int | Literal["end"]]] | None = None,
    data: Path | str | None = None,
) -> pd.DataFrame:
    """See `scaling_limits.train`."""
    plans = {
        name: MeasurementPlan(steps=list(steps)) for name, steps in (measurements or {}).items()
    }
    cell = Resolver(Resources(), {}, {}).resolve(settings, plans).cell
    if "jax" not in sys.modules:
        runtime.configure(dtype=cell.dtype)
    import jax

    if jax.dtypes.canonicalize_dtype(cell.dtype) != cell.dtype:
        raise ConfigurationError(
            "dtype: float64, but JAX was set up without; train before JAX is imported, or set jax_enable_x64"
        )
    with tempfile.TemporaryDirectory() as folder:
        prepared = Path(folder) / "prepared.npz"
        path = None if data is None else Path(data)
        name = cell.dataset.name
        prepare(name, data_path=path, downloads=Path(folder), output=prepared, user={})
        arrays = load(cell.dataset, prepared, cell.dtype)
    (measured,) = computation(cell, arrays)([cell])
    return rows(measured)
