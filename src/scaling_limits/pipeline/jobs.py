"""Jobs: packs of shards that share a process. A job loads stored cells and computes the others."""

import contextlib
import json
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from scaling_limits import limits
from scaling_limits.cells import Cell
from scaling_limits.costs.memory import cell_bytes, described
from scaling_limits.datasets.loading import Arrays
from scaling_limits.errors import ScalingLimitsError
from scaling_limits.files import write_file
from scaling_limits.locks import Locks
from scaling_limits.measured import Measured
from scaling_limits.pipeline.keys import cell_key, cell_source
from scaling_limits.pipeline.machine import machine_kind
from scaling_limits.records import AXES
from scaling_limits.runtime import device_class, library_versions
from scaling_limits.store import Store, StoredCell

COLUMNS = ["cell_id", "metric", *AXES, "value"]

Keyed = tuple[str, Cell]
"""A cell with its key, the key first."""


class OutOfMemoryError(ScalingLimitsError):
    """A cell needs more memory than the machine or its GPU has."""


def run_job(
    cells: Sequence[Cell],
    *,
    store: Store,
    datasets_folder: Path,
    records: Path,
    meta: Path,
    prepare: Callable[[], None] = lambda: None,
) -> None:
    """Compute the cells of a job, and write their records, sorted by key, and the metadata of each computation.

    Args:
        cells: the job's cells, all with the same dtype.
        store: the store that is searched for cells and extended by new ones.
        datasets_folder: the folder of prepared datasets, `<name>.npz`.
        records: the Parquet file to write.
        meta: the JSON file to write.
        prepare: is called before the first cell is computed, and not at all if every cell is stored; it configures the
            device. A machine without a GPU can thus use the stored cells of one with a GPU.

    Raises:
        WriteError: a cell or one of the two files cannot be written.
        StoreError: a stored cell cannot be read.
        DatasetError: the prepared dataset cannot be used.
        ConfigurationError: a user-defined algorithm does not return the values that training requires.
        OutOfMemoryError: a cell does not fit into memory; the cells before it are stored.
    """
    stored, missing = lookup(cells, store)
    count = sum(len(shard) for shard in missing)
    print(
        f"{len(cells)} cells: {len(stored)} stored, {count} to compute in {len(missing)} shards",
        file=sys.stderr,
        flush=True,
    )
    progress = _Progress(count)
    if missing:
        prepare()
    for key, computed in compute(missing, store, datasets_folder):
        stored[key] = computed
        progress.advance()
    tables = [_tidy(key, stored[key]) for key in sorted(stored)]
    write_file(records, pd.concat(tables, ignore_index=True).to_parquet(index=False))
    content = {key: stored[key].meta for key in sorted(stored)}
    write_file(meta, json.dumps(content, sort_keys=True, indent=1))


def lookup(cells: Iterable[Cell], store: Store) -> tuple[dict[str, StoredCell], list[list[Keyed]]]:
    """Return the stored cells by key, and the missing ones grouped by shard.

    Raises:
        StoreError: a stored cell cannot be read.
    """
    results: dict[str, StoredCell] = {}
    missing: dict[str, list[Keyed]] = {}
    for key, cell in {cell_key(cell): cell for cell in cells}.items():
        stored = store.load(key)
        if stored is None:
            missing.setdefault(cell.shard(), []).append((key, cell))
        else:
            results[key] = stored
    return results, list(missing.values())


def compute(
    shards: Iterable[Sequence[Keyed]], store: Store, datasets: Path
) -> Iterator[tuple[str, StoredCell]]:
    """Yield each missing cell, computed here or in the meantime by another process.

    Cells that other processes are computing come last. If such a process is killed, its cells are computed here.
    """
    left: list[Sequence[Keyed]] = [*shards]
    if not left:
        return
    with Locks(store.folder / "lock") as locks:
        while left:
            busy: list[Sequence[Keyed]] = []
            for shard in left:
                if locked := (yield from _compute_free(shard, store, datasets, locks)):
                    busy.append(locked)
            if busy == left:
                locks.wait(busy[0][0][0])
            left = busy


def _compute_free(
    shard: Sequence[Keyed], store: Store, datasets: Path, locks: Locks
) -> Generator[tuple[str, StoredCell], None, list[Keyed]]:
    """Yield the cells of a shard that no other process is computing, and return the others."""
    trainer = None
    busy: list[Keyed] = []
    batch: list[Keyed] = []
    for number, (key, cell) in enumerate(shard, start=1):
        if not locks.take(key):
            busy.append((key, cell))
        elif stored := store.load(key):
            locks.release(key)
            yield key, stored
        else:
            batch.append((key, cell))
        if batch and (len(batch) == cell.cells_per_batch or number == len(shard)):
            trainer = trainer or _Trainer(cell, datasets)
            for trained, result in zip(batch, trainer(batch), strict=True):
                store.save(trained[0], result)
                locks.release(trained[0])
                yield trained[0], result
            batch = []
    return busy


class _Trainer:
    """The compiled computation of a shard; it can be created from any cell of the shard."""

    def __init__(self, cell: Cell, datasets: Path):
        from scaling_limits.datasets.loading import load

        begun = _clock()
        with _memory_for(cell):
            arrays = load(cell.dataset, datasets / f"{cell.dataset.name}.npz", cell.dtype)
            self._compute = computation(cell, arrays)
        self._compile_seconds = _clock() - begun

    def __call__(self, batch: Sequence[Keyed]) -> list[StoredCell]:
        """Compute a batch of cells, and record the metadata of each computation."""
        begun = _clock()
        with _memory_for(batch[0][1]):
            measured = self._compute([cell for _, cell in batch])
        seconds = (_clock() - begun) / len(batch)
        return [
            StoredCell(
                result,
                {
                    "cell": cell.canonical(),
                    "shard": cell.shard(),
                    "source": cell_source(cell),
                    "libraries": library_versions(),
                    "device": device_class(),
                    "machine": machine_kind(),
                    "compile_seconds": self._compile_seconds,
                    "seconds": seconds,
                },
            )
            for (_, cell), result in zip(batch, measured, strict=True)
        ]


def _clock() -> float:
    """Return CPU seconds on a CPU, and wall seconds on a GPU, which computes while the process waits."""
    return time.process_time() if device_class() == "cpu" else time.perf_counter()


def computation(
    cell: Cell, arrays: Arrays
) -> Callable[[list[Cell]], Sequence[dict[str, Measured]]]:
    """Return the function that computes the cells of a shard batch by batch: its compiled training, or its limit.

    Args:
        cell: any cell of the shard.
        arrays: its samples.

    Raises:
        ConfigurationError: a user-defined algorithm does not return the values that training requires.
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
        # NumPy raises MemoryError; XLA raises an error with this status, on both CPU and GPU
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
        self.begun = self.reported = time.monotonic()

    def advance(self) -> None:
        self.done += 1
        now = time.monotonic()
        if self.done == self.total or now - self.reported > 2.0:
            self.reported = now
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
    """Return the records of a cell, with a row for each number, sorted by metric.

    The columns are `metric`, the axes (missing values if a metric does not have the axis) and `value`.
    """
    tables = [_rows(metric, metric_values) for metric, metric_values in sorted(measured.items())]
    return pd.concat(tables, ignore_index=True)[COLUMNS[1:]]


def _rows(metric: str, measured: Measured) -> pd.DataFrame:
    indices = np.indices(measured.values.shape).reshape(measured.values.ndim, -1)
    columns: dict[str, object] = {"metric": metric}
    size = measured.values.size
    for axis in AXES:
        if axis not in measured.axes:
            columns[axis] = pd.array([pd.NA] * size, dtype="Int32")
            continue
        position = measured.axes.index(axis)
        labels = measured.labels.get(axis, range(measured.values.shape[position]))
        columns[axis] = pd.array(np.asarray(labels)[indices[position]], dtype="Int32")
    columns["value"] = measured.values.reshape(-1).astype(np.float64)
    return pd.DataFrame(columns)
