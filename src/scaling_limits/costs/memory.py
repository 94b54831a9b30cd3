"""The memory that a cell needs, and the number of cells that are trained at once. Does not import jax."""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from scaling_limits import algorithms
from scaling_limits.cells import Cell
from scaling_limits.costs.declared import part, part_memory
from scaling_limits.costs.sizes import (
    item_size,
    layers,
    num_units,
    num_updates,
    num_weights,
    sample_sizes,
)
from scaling_limits.errors import ConfigurationError

PROCESS_BYTES = 350e6
"""Python with its libraries and compiled programs."""
GPU_PROCESS_BYTES = 4e9
"""The host memory of the same with CUDA's libraries."""

# Bytes per sample for the order of samples. While it is made, it exists as separate shuffled epochs, joined, and as
# 32-bit integers. Only the latter are kept, by NumPy and by JAX.
_ORDER_MADE, _ORDER_KEPT = 20, 8
# Copies that a compiled program holds at its peak: of weights that are not updated, and by default of weights that are;
# by default of the batch's units, and additional copies of the units of convolutions. tests/configuration/test_costs.py
# compares them with XLA's own analysis.
_WEIGHTS_DRAWN = 4
_WEIGHTS_UPDATED = 6
_UNITS = 2
_UNITS_CONVOLVED = 6


def batch_size(cell: Cell, wanted: int, *, mem_mb: int, gpu_mem_mb: int) -> int:
    """Return how many cells of this cell's shard are trained at once: `wanted`, or as many as fit, but at least 1.

    Args:
        cell: any cell of the shard; its `cells_per_batch` is ignored.
        wanted: the desired number, at least 1.
        mem_mb: the memory that a job may use, in MB.
        gpu_mem_mb: the GPU memory that a job may use, in MB.
    """
    if wanted == 1 or cell.limit is not None:
        return wanted
    allowed = gpu_mem_mb if cell.device == "gpu" else mem_mb
    free = allowed * 1e6 - PROCESS_BYTES - _data_bytes(cell)
    each = program_bytes(cell) + _ORDER_KEPT * _order_length(cell)
    return max(1, min(wanted, int(free / each)))


def refuse_too_large(cells: Iterable[Cell], *, mem_mb: int, gpu_mem_mb: int) -> None:
    """Reject cells that need more memory than a job may use.

    Args:
        cells: cells of any shards; one cell of each shard suffices.
        mem_mb: the memory that a job may use, in MB.
        gpu_mem_mb: the GPU memory that a job may use, in MB.

    Raises:
        ConfigurationError: a cell is too large; the message names the largest cell, its memory, and a sufficient
            setting.
    """
    cells = list(cells)
    for device, key, allowed in (
        ("cpu", "mem_mb", mem_mb),
        ("gpu", "gpu_mem_mb", gpu_mem_mb),
    ):
        there = [cell for cell in cells if cell.device == device]
        largest = max(there, key=cell_bytes, default=None)
        if largest is None or cell_bytes(largest) <= allowed * 1e6:
            continue
        needed = cell_bytes(largest)
        raise ConfigurationError(
            f"resources.{key}",
            f"{described(largest)} takes about {needed / 1e6:,.0f} MB, more than the {allowed:,} that a "
            f"job may take; set it to {_rounded_up(needed)} where that much is free, or leave such sizes out",
        )


def refuse_beyond_machine(cell: Cell) -> None:
    """Reject a cell that needs more memory than this machine has, or the container in which this process runs.

    Raises:
        ConfigurationError: the cell is too large; the message names its sizes, its memory, and the available memory.
    """
    needed, available = cell_bytes(cell), _machine_bytes()
    if needed > available:
        raise ConfigurationError(
            None,
            f"{described(cell)} takes about {needed / 1e6:,.0f} MB, more than the {available / 1e6:,.0f} of this "
            "machine; lower width, depth, batch_size, num_steps or the number of samples",
        )


def _machine_bytes() -> float:
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        # the file is missing or contains `max`
        with contextlib.suppress(OSError, ValueError):
            limits.append(int(Path(limit).read_text()))
    return min(limits)


def described(cell: Cell) -> str:
    """Return the sizes of a cell as text."""
    net, cells = cell.network, cell.cells_per_batch
    what = f"limit {cell.limit}" if cell.limit else f"a cell of width {net.width}"
    batch = f", {cells} cells at once" if cells > 1 else ""
    return (
        f"{what} with {net.num_hidden_layers} hidden layers, batches of {cell.batch_size} and {cell.num_steps} steps "
        f"in {cell.dtype}{batch}"
    )


def cell_bytes(cell: Cell) -> float:
    """Return the peak memory in bytes of a process that computes a batch of such cells."""
    cells = cell.cells_per_batch
    order = _order_length(cell)
    trained = (program_bytes(cell) + _ORDER_KEPT * order) * cells
    made = (_ORDER_MADE + _ORDER_KEPT * (cells - 1)) * order
    return PROCESS_BYTES + max(_data_bytes(cell) + max(trained, made), _loading_bytes(cell))


def host_bytes(cell: Cell) -> float:
    """Return the peak host memory in bytes of such a process: less than `cell_bytes` if it computes on a GPU."""
    if cell.device == "cpu":
        return cell_bytes(cell)
    order = _ORDER_MADE * _order_length(cell) * cell.cells_per_batch
    return GPU_PROCESS_BYTES + max(_data_bytes(cell) + order, _loading_bytes(cell))


def program_bytes(cell: Cell) -> float:
    """Return the peak memory in bytes of the compiled training of one cell, or of its limit, without the data."""
    if cell.limit is not None:
        return part_memory(part("limit", cell.limit), cell, bytes=0.0)["bytes"]
    sizes = layers(cell)
    optimiser = part("optimiser", cell.optimiser.name)
    weights: float = _WEIGHTS_DRAWN
    if num_updates(cell):
        weights = part_memory(optimiser, cell, weights=_WEIGHTS_UPDATED)["weights"]
    inference = part_memory(algorithms.part(cell.algorithm), cell, units=_UNITS, windows=0)
    units = inference["units"]
    if cell.network.feedback is not None:
        weights, units = 2 * weights, 2 * units
    convolutions = [layer for layer in sizes if layer.is_convolution]
    # measurements run one after the other, so only the largest counts
    measured = [part_memory(part("measurement", spec.name), cell) for spec in cell.measurements]

    def most(kind: str) -> float:
        return max((each.get(kind, 0) for each in measured), default=0)

    held = (weights + most("weights")) * num_weights(sizes)
    kept = (units + most("units")) * num_units(sizes) + _UNITS_CONVOLVED * num_units(convolutions)
    windows = [layer.inputs * layer.positions for layer in convolutions]
    kept += inference["windows"] * max(windows, default=0)
    widest = max([*windows, *(layer.units // layer.count for layer in sizes)])
    samples = max(kept * cell.batch_size, 2 * most("samples") * widest)
    return float(item_size(cell) * (held + samples))


def _order_length(cell: Cell) -> int:
    """Return the number of samples that training sees, counting repetitions."""
    return 0 if cell.limit is not None else cell.num_steps * cell.batch_size


def _data_bytes(cell: Cell) -> float:
    """Return the size in bytes of the data as arrays of NumPy and of JAX."""
    data = cell.dataset
    return 2.0 * item_size(cell) * (data.num_train + data.num_test) * sum(sample_sizes(cell))


def _loading_bytes(cell: Cell) -> float:
    """Return the size in bytes of the data during normalisation.

    The data exist as bytes and in their dtype; mean and deviation of one channel at a time are computed in float64.
    """
    data = cell.dataset
    channels = data.input_shape[2] if len(data.input_shape) == 3 else 1
    deviation = 16.0 / channels if data.normalisation == "standardise" else 0.0
    return (
        (1.0 + item_size(cell) + deviation)
        * (data.num_train + data.num_test)
        * sample_sizes(cell)[0]
    )


def _rounded_up(count: float) -> int:
    """Return a number of bytes in MB with a tenth to spare, rounded up to hundreds."""
    return int(-(-count * 1.1 // 1e8) * 100)
