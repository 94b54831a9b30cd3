"""Jobs: packs of shards that share a process. A job loads what is stored and trains the rest."""

import contextlib
import fcntl
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from scaling_limits import limits
from scaling_limits.cells import Cell
from scaling_limits.costs.memory import cell_bytes, described
from scaling_limits.datasets.loading import Arrays
from scaling_limits.errors import ScalingLimitsError
from scaling_limits.files import write_file
from scaling_limits.measured import Measured
from scaling_limits.pipeline.keys import cell_key, cell_source
from scaling_limits.records import AXES
from scaling_limits.store import Store, StoredCell

COLUMNS = ["cell_id", "metric", *AXES, "value"]


class OutOfMemoryError(ScalingLimitsError):
    """The machine or its GPU has not the memory that a cell takes."""


def run_job(
    cells: Sequence[Cell],
    *,
    store: Store,
    datasets_folder: Path,
    records: Path,
    meta: Path,
) -> None:
    """Compute the cells of a job and write their records, sorted by key, and what is known of each computation.

    Args:
        cells: the job's cells, all of one dtype.
        store: where computed cells are looked up and kept.
        datasets_folder: prepared datasets, `<name>.npz`.
        records: Parquet file to write.
        meta: JSON file to write.

    Raises:
        WriteError: a cell or one of the two files cannot be written.
        StoreError: a stored cell cannot be read.
        DatasetError: the prepared dataset cannot be used.
        ConfigurationError: an algorithm of the user's own does not give what training asks of it.
        OutOfMemoryError: a cell does not fit into memory; those before it are stored.
    """
    found: dict[str, StoredCell] = {}
    missing: dict[str, list[tuple[str, Cell]]] = {}
    for cell in cells:
        key = cell_key(cell)
        stored = store.load(key)
        if stored is None:
            missing.setdefault(cell.shard(), []).append((key, cell))
        else:
            found[key] = stored
    count = sum(len(shard) for shard in missing.values())
    print(
        f"{len(cells)} cells: {len(found)} stored, {count} to compute in {len(missing)} shards",
        file=sys.stderr,
        flush=True,
    )
    progress = _Progress(count)
    for name in _in_turn(list(missing), store.folder / "locks"):
        left = []
        for key, cell in missing[name]:
            # another job may have computed it in the meantime
            stored = store.load(key)
            if stored is None:
                left.append((key, cell))
            else:
                found[key] = stored
                progress.advance()
        for key, trained in _train(left, store, datasets_folder) if left else ():
            found[key] = trained
            progress.advance()
    tables = [_tidy(key, found[key]) for key in sorted(found)]
    write_file(records, pd.concat(tables, ignore_index=True).to_parquet(index=False))
    content = {key: found[key].meta for key in sorted(found)}
    write_file(meta, json.dumps(content, sort_keys=True, indent=1))


def _in_turn(shards: Sequence[str], locks: Path) -> Iterator[str]:
    """Each shard while no other process computes it: one that another process is at comes last, when that has ended.

    Experiments may share cells, and their jobs run at the same time. Where a file system knows no locks, both compute.
    """
    locks.mkdir(parents=True, exist_ok=True)
    others: list[str] = []
    for names, how in ((shards, fcntl.LOCK_EX | fcntl.LOCK_NB), (others, fcntl.LOCK_EX)):
        for name in names:
            with (locks / name).open("w") as file:
                try:
                    fcntl.flock(file, how)
                except BlockingIOError:
                    others.append(name)
                    continue
                except OSError:
                    pass
                yield name


def _train(
    shard: list[tuple[str, Cell]], store: Store, folder: Path
) -> Iterable[tuple[str, StoredCell]]:
    from scaling_limits.datasets.loading import load
    from scaling_limits.runtime import device_class, library_versions

    first = shard[0][1]
    # a process waits for others on a busy machine, but its own seconds are the same; a GPU works apart from it
    clock = time.process_time if device_class() == "cpu" else time.perf_counter
    begun = clock()
    with _memory_for(first):
        arrays = load(first.dataset, folder / f"{first.dataset.name}.npz", first.dtype)
        compute = computation(first, arrays)
    compile_seconds = clock() - begun
    for start in range(0, len(shard), first.cells_per_batch):
        batch = shard[start : start + first.cells_per_batch]
        begun = clock()
        with _memory_for(first):
            measured = compute([cell for _, cell in batch])
        seconds = (clock() - begun) / len(batch)
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


def computation(
    cell: Cell, arrays: Arrays
) -> Callable[[list[Cell]], Sequence[dict[str, Measured]]]:
    """What computes the cells of a shard, a batch at a time: its compiled training, or its limit.

    `cell` is any one of them; `arrays` are its samples.

    Raises:
        ConfigurationError: an algorithm of the user's own does not give what training asks of it.
    """
    if cell.limit is not None:
        limit = limits.registry.get(cell.limit)
        return lambda cells: [limit.compute(cell, arrays) for cell in cells]

    from scaling_limits.training import own_algorithm
    from scaling_limits.training.loop import compile_shard

    own_algorithm.check(cell, arrays)
    return compile_shard(cell, arrays)


@contextlib.contextmanager
def _memory_for(cell: Cell) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # NumPy raises the first; XLA an error whose status says so, on a CPU as on a GPU
        if not (isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error)):
            raise
        fewer = "lower resources.cells_per_batch, or " if cell.cells_per_batch > 1 else ""
        raise OutOfMemoryError(
            f"out of memory: {described(cell)} was estimated at {cell_bytes(cell) / 1e6:,.0f} MB; cells stored so far "
            f"are kept. To go on, {fewer}run fewer jobs at once (snakemake --cores 1), or leave such sizes out"
        ) from error


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
    table = rows(stored.measured)
    table.insert(0, "cell_id", key)
    return table


def rows(measured: Mapping[str, Measured]) -> pd.DataFrame:
    """The records of a cell, a row for each number: `metric`, the axes (missing where a metric does not have one) and
    `value`, sorted by metric.
    """
    tables = [_rows(metric, found) for metric, found in sorted(measured.items())]
    return pd.concat(tables, ignore_index=True)[COLUMNS[1:]]


def _rows(metric: str, measured: Measured) -> pd.DataFrame:
    indices = np.indices(measured.values.shape).reshape(measured.values.ndim, -1)
    columns: dict[str, object] = {"metric": metric}
    size = measured.values.size
    for axis in AXES:
        if axis not in measured.axes:
            columns[axis] = pd.array([pd.NA] * size, dtype="Int32")
            continue
        place = measured.axes.index(axis)
        labels = measured.labels.get(axis, range(measured.values.shape[place]))
        columns[axis] = pd.array(np.asarray(labels)[indices[place]], dtype="Int32")
    columns["value"] = measured.values.reshape(-1).astype(np.float64)
    return pd.DataFrame(columns)
