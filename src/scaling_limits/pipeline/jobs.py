"""Jobs: packs of shards that share a process. A job loads what is stored and trains the rest."""

import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ..cells import Cell
from ..records import AXES
from ..store import Measured, Store, StoredCell
from .keys import cell_key, cell_source

COLUMNS = ["cell_id", "metric", *AXES, "value"]


def run_job(
    cells: Sequence[Cell],
    *,
    store: Store,
    datasets_folder: Path,
    accepted_sources: Sequence[str],
    records: Path,
    meta: Path,
) -> None:
    """Compute the cells of a job and write their records, sorted by key, and what is known of each computation.

    Args:
        cells: the job's cells, all of one dtype.
        store: where computed cells are looked up and kept.
        datasets_folder: prepared datasets, `<name>.npz`.
        accepted_sources: source digests whose cells are as good as the current source's.
        records: Parquet file to write.
        meta: JSON file to write.
    """
    found: dict[str, StoredCell] = {}
    missing: dict[str, list[tuple[str, Cell]]] = {}
    for cell in cells:
        key = cell_key(cell)
        stored = _stored(cell, key, store, accepted_sources)
        if stored is None:
            missing.setdefault(cell.shard(), []).append((key, cell))
        else:
            found[key] = stored
    count = sum(len(shard) for shard in missing.values())
    print(
        f"{len(cells)} cells: {len(found)} stored, {count} to train in {len(missing)} shards",
        file=sys.stderr,
        flush=True,
    )
    progress = _Progress(count)
    for shard in missing.values():
        for key, trained in _train(shard, store, datasets_folder):
            found[key] = trained
            progress.advance()
    tables = [_tidy(key, found[key]) for key in sorted(found)]
    _replace(
        records, lambda path: pd.concat(tables, ignore_index=True).to_parquet(path, index=False)
    )
    content = json.dumps({key: found[key].meta for key in sorted(found)}, sort_keys=True, indent=1)
    _replace(meta, lambda path: path.write_text(content))


def _stored(cell: Cell, key: str, store: Store, accepted: Sequence[str]) -> StoredCell | None:
    candidates = [key, *(cell_key(cell, source) for source in accepted)]
    return next((stored for name in candidates if (stored := store.load(name)) is not None), None)


def _train(
    shard: list[tuple[str, Cell]], store: Store, folder: Path
) -> Iterable[tuple[str, StoredCell]]:
    import jax.numpy as jnp

    from ..datasets.loading import load
    from ..runtime import device_class, library_versions
    from ..training.loop import compile_shard

    first = shard[0][1]
    data = load(first.dataset, folder / f"{first.dataset.name}.npz", first.dtype)
    kind = jnp.float64 if first.dtype == "float64" else jnp.float32
    begun = time.perf_counter()
    train = compile_shard(first, jnp.asarray(data.x_train, kind), jnp.asarray(data.y_train, kind))
    compile_seconds = time.perf_counter() - begun
    for start in range(0, len(shard), first.cells_per_batch):
        batch = shard[start : start + first.cells_per_batch]
        begun = time.perf_counter()
        measured = train([cell for _, cell in batch])
        seconds = (time.perf_counter() - begun) / len(batch)
        for (key, cell), result in zip(batch, measured, strict=True):
            meta = {
                "cell": cell.canonical(),
                "shard": cell.shard(),
                "source": cell_source(cell),
                "libraries": library_versions(),
                "device": device_class(),
                "compile_seconds": compile_seconds,
                "seconds": seconds,
            }
            stored = StoredCell(result, meta)
            store.save(key, stored)
            yield key, stored


class _Progress:
    def __init__(self, total: int):
        self.total = total
        self.done = 0
        self.begun = self.told = time.monotonic()

    def advance(self) -> None:
        self.done += 1
        now = time.monotonic()
        if self.done == self.total or now - self.told > 2.0:
            self.told = now
            rate = self.done / (now - self.begun)
            left = (self.total - self.done) / rate
            print(
                f"{self.done}/{self.total} cells, {rate:.2f} cells/s, {left:.0f} s left",
                file=sys.stderr,
                flush=True,
            )


def _tidy(key: str, stored: StoredCell) -> pd.DataFrame:
    tables = [_rows(metric, measured) for metric, measured in sorted(stored.measured.items())]
    table = pd.concat(tables, ignore_index=True)
    table.insert(0, "cell_id", key)
    return table[COLUMNS]


def _rows(metric: str, measured: Measured) -> pd.DataFrame:
    indices = np.indices(measured.values.shape).reshape(measured.values.ndim, -1)
    columns: dict[str, object] = {"metric": metric}
    size = measured.values.size
    for axis in AXES:
        if axis == "step":
            values = np.asarray(measured.steps)[indices[0]]
        elif axis in measured.axes:
            values = indices[measured.axes.index(axis)]
        else:
            columns[axis] = pd.array([pd.NA] * size, dtype="Int32")
            continue
        columns[axis] = pd.array(values, dtype="Int32")
    columns["value"] = measured.values.reshape(-1).astype(np.float64)
    return pd.DataFrame(columns)


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    temporary = path.with_name(f"{path.name}.tmp")
    write(temporary)
    temporary.replace(path)
