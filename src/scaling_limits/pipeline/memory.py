"""How much memory a cell takes, and how many cells are trained at once; without jax."""

from collections.abc import Iterable

from scaling_limits.cells import Cell
from scaling_limits.errors import ConfigurationError
from scaling_limits.pipeline.sizes import (
    item_size,
    layers,
    num_tokens,
    num_units,
    num_updates,
    num_weights,
)

PROCESS_BYTES = 350e6
"""Python with its libraries and compiled programs."""

# How many copies of weights, and of the batch's units, a compiled program holds at its peak;
# tests/configuration/test_costs.py compares with XLA's own analysis.
_WEIGHTS = {"sgd": 5, "adam": 6}
_WEIGHTS_DRAWN = 4
_UNITS = {"synchronous": 8, "sequential": 6, "fixed": 2, "exact": 4, "other": 2}
_UNITS_POOLED = 6


def batch_size(cell: Cell, wanted: int, mem_mb: int) -> int:
    """How many cells of this cell's shard are trained at once: `wanted`, or as many as fit, but at least 1.

    Args:
        cell: any cell of the shard; its `cells_per_batch` is not looked at.
        wanted: at least 1.
        mem_mb: megabytes that a job may take.
    """
    if wanted == 1 or cell.limit is not None:
        return wanted
    free = mem_mb * 1e6 - PROCESS_BYTES - _data_bytes(cell)
    return max(1, min(wanted, int(free / program_bytes(cell))))


def refuse_too_large(cells: Iterable[Cell], mem_mb: int) -> None:
    """Refuse cells that take more than a job may.

    Raises:
        ConfigurationError: names the largest cell, what it takes, and what `resources.mem_mb` should be.
    """
    shards = {cell.shard(): cell for cell in cells}.values()
    largest = max(shards, key=cell_bytes, default=None)
    if largest is None or cell_bytes(largest) <= mem_mb * 1e6:
        return
    needed = cell_bytes(largest)
    raise ConfigurationError(
        f"resources.mem_mb: {described(largest)} takes about {needed / 1e6:,.0f} MB, more than the {mem_mb:,} that a "
        f"job may take; set it to {_rounded_up(needed)} where that much is free, or leave such sizes out"
    )


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
    batch = _data_bytes(cell) + program_bytes(cell) * cell.cells_per_batch
    return PROCESS_BYTES + max(batch, _loading_bytes(cell))


def program_bytes(cell: Cell) -> float:
    """What the compiled training of one cell, or its limit, holds at its peak, data apart."""
    if cell.limit is not None:
        return _limit_bytes(cell)
    options = cell.algorithm
    kind = "other"
    if options.inference is not None:
        kind = "exact" if options.inference == "exact" else str(options.inference_order)
        kind = "fixed" if kind == "sequential" and options.fixed_predictions else kind
    weights, units = _WEIGHTS[cell.optimiser.name], _UNITS[kind]
    if not num_updates(cell):
        weights = _WEIGHTS_DRAWN
    if cell.network.feedback is not None:
        weights, units = 2 * weights, 2 * units
    if any(layer.is_convolution for layer in layers(cell)):
        units += _UNITS_POOLED
    measured = {spec.name for spec in cell.measurements}
    if "gradient_alignment" in measured:
        weights, units = weights + 2, units + 1
    if measured & {"feature_changes", "output_alignment"}:
        weights, units = weights + 1, units + 2
    if options.name == "gauss_newton_target" or "error_alignment" in measured:
        # Jacobians of the output by all units
        units += 2 * cell.network.output_dim
    trained = weights * num_weights(layers(cell))
    numbers = trained + units * cell.batch_size * num_units(layers(cell))
    if "performance" in measured:
        # of the test set, what enters and leaves the widest layer
        widest = max(layer.units // layer.count for layer in layers(cell))
        numbers = max(numbers, trained + 2 * cell.dataset.num_test * widest)
    return float(item_size(cell) * numbers)


def _limit_bytes(cell: Cell) -> float:
    """As the docstrings of the limits say; those of a limit that is not known here are not counted."""
    depth = cell.network.num_hidden_layers
    if cell.limit == "depth_recursion":
        return 32.0 * (num_tokens(cell) * (depth - 1)) ** 2
    if cell.limit == "linear_dmft":
        steps = cell.num_steps * cell.network.output_dim
        return 32.0 * ((depth + 1) * (cell.batch_size + steps)) ** 2
    return 0.0


def _data_bytes(cell: Cell) -> float:
    """The data as NumPy's and as JAX's arrays."""
    data, net = cell.dataset, cell.network
    return (
        2.0 * item_size(cell) * (data.num_train + data.num_test) * (net.input_dim + net.output_dim)
    )


def _loading_bytes(cell: Cell) -> float:
    """The data while they are normalised: in bytes and in their dtype; a channel's mean and deviation in float64."""
    data, net = cell.dataset, cell.network
    channels = data.input_shape[2] if len(data.input_shape) == 3 else 1
    deviation = 16.0 / channels if data.normalisation == "standardise" else 0.0
    return (1.0 + item_size(cell) + deviation) * (data.num_train + data.num_test) * net.input_dim


def _rounded_up(count: float) -> int:
    """Megabytes, with a tenth to spare, in hundreds."""
    return int(-(-count * 1.1 // 1e8) * 100)
