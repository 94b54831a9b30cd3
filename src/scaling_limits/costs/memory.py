"""How much memory a cell takes, and how many cells are trained at once; without jax."""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from scaling_limits.cells import Cell
from scaling_limits.costs.declared import algorithm, part, part_memory
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
"""The same with CUDA's libraries, in the memory of the machine."""

# The order of samples, bytes for each: shuffled epochs one by one, joined, and as integers of 32 bits, which alone are
# kept, by NumPy and by JAX.
_ORDER_MADE, _ORDER_KEPT = 20, 8
# Copies that a compiled program holds at its peak: of weights that are not updated, and, where parts say nothing, of
# those that are; of the batch's units, and further ones of those that come of windows. XLA's own analysis is compared
# with in tests/configuration/test_costs.py.
_WEIGHTS_DRAWN = 4
_WEIGHTS_UPDATED = 6
_UNITS = 2
_UNITS_CONVOLVED = 6


def batch_size(cell: Cell, wanted: int, *, mem_mb: int, gpu_mem_mb: int) -> int:
    """How many cells of this cell's shard are trained at once: `wanted`, or as many as fit, but at least 1.

    Args:
        cell: any cell of the shard; its `cells_per_batch` is not looked at.
        wanted: at least 1.
        mem_mb: megabytes that a job may take.
        gpu_mem_mb: megabytes of a GPU's memory that a job may take there.
    """
    if wanted == 1 or cell.limit is not None:
        return wanted
    allowed = gpu_mem_mb if cell.device == "gpu" else mem_mb
    free = allowed * 1e6 - PROCESS_BYTES - _data_bytes(cell)
    each = program_bytes(cell) + _ORDER_KEPT * _order_length(cell)
    return max(1, min(wanted, int(free / each)))


def refuse_too_large(cells: Iterable[Cell], *, mem_mb: int, gpu_mem_mb: int) -> None:
    """Refuse cells, one of each shard will do, that take more than a job may.

    Args:
        cells: of any shards.
        mem_mb: megabytes that a job may take.
        gpu_mem_mb: megabytes of a GPU's memory that a job may take there.

    Raises:
        ConfigurationError: names the largest cell, what it takes, and what the setting should be.
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
    """Refuse a cell that takes more memory than this machine has, or the container that this process runs in.

    Raises:
        ConfigurationError: names the cell's sizes, what it takes, and what there is.
    """
    needed, available = cell_bytes(cell), _machine_bytes()
    if needed > available:
        raise ConfigurationError(
            None,
            f"{described(cell)} takes about {needed / 1e6:,.0f} MB, more than the {available / 1e6:,.0f} of this "
            "machine; lower width, depth, batch_size, num_steps or the number of samples",
        )


def _machine_bytes() -> float:
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        # there is none, or `max`
        with contextlib.suppress(OSError, ValueError):
            found.append(int(Path(limit).read_text()))
    return min(found)


def described(cell: Cell) -> str:
    """The sizes of a cell in words."""
    net, cells = cell.network, cell.cells_per_batch
    what = f"limit {cell.limit}" if cell.limit else f"a cell of width {net.width}"
    batch = f", {cells} cells at once" if cells > 1 else ""
    return (
        f"{what} with {net.num_hidden_layers} hidden layers, batches of {cell.batch_size} and {cell.num_steps} steps "
        f"in {cell.dtype}{batch}"
    )


def cell_bytes(cell: Cell) -> float:
    """Peak memory of a process that computes a batch of such cells."""
    cells = cell.cells_per_batch
    order = _order_length(cell)
    trained = (program_bytes(cell) + _ORDER_KEPT * order) * cells
    made = (_ORDER_MADE + _ORDER_KEPT * (cells - 1)) * order
    return PROCESS_BYTES + max(_data_bytes(cell) + max(trained, made), _loading_bytes(cell))


def host_bytes(cell: Cell) -> float:
    """Peak memory of the machine that such a process takes: less than `cell_bytes` if it computes on a GPU."""
    if cell.device == "cpu":
        return cell_bytes(cell)
    order = _ORDER_MADE * _order_length(cell) * cell.cells_per_batch
    return GPU_PROCESS_BYTES + max(_data_bytes(cell) + order, _loading_bytes(cell))


def program_bytes(cell: Cell) -> float:
    """What the compiled training of one cell, or its limit, holds at its peak, data apart."""
    if cell.limit is not None:
        return part_memory(part("limit", cell.limit), cell, bytes=0.0)["bytes"]
    found = layers(cell)
    optimiser = part("optimiser", cell.optimiser.name)
    weights: float = _WEIGHTS_DRAWN
    if num_updates(cell):
        weights = part_memory(optimiser, cell, weights=_WEIGHTS_UPDATED)["weights"]
    inference = part_memory(algorithm(cell.algorithm), cell, units=_UNITS, windows=0)
    units = inference["units"]
    if cell.network.feedback is not None:
        weights, units = 2 * weights, 2 * units
    convolutions = [layer for layer in found if layer.is_convolution]
    # measurements are taken one after the other
    measured = [part_memory(part("measurement", spec.name), cell) for spec in cell.measurements]

    def most(kind: str) -> float:
        return max((each.get(kind, 0) for each in measured), default=0)

    held = (weights + most("weights")) * num_weights(found)
    kept = (units + most("units")) * num_units(found) + _UNITS_CONVOLVED * num_units(convolutions)
    windows = [layer.inputs * layer.positions for layer in convolutions]
    kept += inference["windows"] * max(windows, default=0)
    widest = max([*windows, *(layer.units // layer.count for layer in found)])
    samples = max(kept * cell.batch_size, 2 * most("samples") * widest)
    return float(item_size(cell) * (held + samples))


def _order_length(cell: Cell) -> int:
    """How many samples training sees, each as often as it does."""
    return 0 if cell.limit is not None else cell.num_steps * cell.batch_size


def _data_bytes(cell: Cell) -> float:
    """The data as NumPy's and as JAX's arrays."""
    data = cell.dataset
    return 2.0 * item_size(cell) * (data.num_train + data.num_test) * sum(sample_sizes(cell))


def _loading_bytes(cell: Cell) -> float:
    """The data while they are normalised: in bytes and in their dtype; a channel's mean and deviation in float64."""
    data = cell.dataset
    channels = data.input_shape[2] if len(data.input_shape) == 3 else 1
    deviation = 16.0 / channels if data.normalisation == "standardise" else 0.0
    return (
        (1.0 + item_size(cell) + deviation)
        * (data.num_train + data.num_test)
        * sample_sizes(cell)[0]
    )


def _rounded_up(count: float) -> int:
    """Megabytes, with a tenth to spare, in hundreds."""
    return int(-(-count * 1.1 // 1e8) * 100)
