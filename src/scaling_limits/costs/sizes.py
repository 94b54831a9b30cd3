"""The sizes of a cell's network, as groups of equal weight layers. Does not import jax."""

from collections.abc import Sequence
from dataclasses import replace

from scaling_limits import networks
from scaling_limits.cells import Cell
from scaling_limits.networks.layers import Layer


def layers(cell: Cell) -> list[Layer]:
    """Return all weight layers of the forward pass, from the input up."""
    return [layer for layer in networks.layers_of(cell.network) if layer.count]


def above_input(cell: Cell) -> list[Layer]:
    """Return all weight layers except the lowest, whose input is the data."""
    return layers(cell)[1:]


def trained(cell: Cell) -> list[Layer]:
    """Return the weight layers that are not frozen."""
    return [layer for layer in layers(cell) if layer.name not in cell.frozen]


def topmost(stack: Sequence[Layer], count: int) -> list[Layer]:
    """Return the last `count` weight layers."""
    chosen: list[Layer] = []
    for layer in reversed(stack):
        kept = min(count, layer.count)
        if kept:
            chosen.insert(0, replace(layer, count=kept))
        count -= kept
    return chosen


def num_weights(chosen: Sequence[Layer]) -> int:
    """Return the number of weights in all layers."""
    return sum(layer.weights for layer in chosen)


def num_units(chosen: Sequence[Layer]) -> int:
    """Return the number of outputs of all layers for one sample."""
    return sum(layer.units for layer in chosen)


def item_size(cell: Cell) -> int:
    """Return the bytes per number."""
    return 8 if cell.dtype == "float64" else 4


def num_updates(cell: Cell) -> int:
    """Return the number of updates whose weights are read afterwards.

    It is 0 without training steps. The compiler also omits a single update after which nothing is measured.
    """
    measured = any(step > 0 for spec in cell.measurements for step in spec.steps)
    return cell.num_steps if cell.num_steps > 1 or measured else 0


def sample_sizes(cell: Cell) -> tuple[int, int]:
    """Return the numbers that are stored for the input and for the target of a sample; for text, words or tokens."""
    words, tokens = cell.dataset.context_size, cell.dataset.sequence_length
    if tokens is not None:
        return tokens, tokens
    return (cell.network.input_dim, cell.network.output_dim) if words is None else (words, 1)
