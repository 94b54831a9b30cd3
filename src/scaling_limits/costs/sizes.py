"""The sizes of a cell's network, as layers of equal weights; without jax."""

from collections.abc import Sequence
from dataclasses import replace

from scaling_limits import networks
from scaling_limits.cells import Cell
from scaling_limits.networks.layers import Layer


def layers(cell: Cell) -> list[Layer]:
    """All weights of the forward pass, from the input up."""
    return [layer for layer in networks.layers_of(cell.network) if layer.count]


def above_input(cell: Cell) -> list[Layer]:
    """All but the lowest, whose input is the data."""
    return layers(cell)[1:]


def trained(cell: Cell) -> list[Layer]:
    """Those that are not frozen."""
    return [layer for layer in layers(cell) if layer.name not in cell.frozen]


def topmost(stack: Sequence[Layer], count: int) -> list[Layer]:
    """The last `count` weights."""
    chosen: list[Layer] = []
    for layer in reversed(stack):
        kept = min(count, layer.count)
        if kept:
            chosen.insert(0, replace(layer, count=kept))
        count -= kept
    return chosen


def num_weights(chosen: Sequence[Layer]) -> int:
    """Entries of all weights."""
    return sum(layer.weights for layer in chosen)


def num_units(chosen: Sequence[Layer]) -> int:
    """Numbers that leave all layers, for one sample."""
    return sum(layer.units for layer in chosen)


def item_size(cell: Cell) -> int:
    """Bytes of a number."""
    return 8 if cell.dtype == "float64" else 4


def num_updates(cell: Cell) -> int:
    """Updates whose weights anything reads: none of 0, and compiled, a single one that nothing looks at afterwards is
    left out.
    """
    measured = any(step > 0 for spec in cell.measurements for step in spec.steps)
    return cell.num_steps if cell.num_steps > 1 or measured else 0


def sample_sizes(cell: Cell) -> tuple[int, int]:
    """The numbers of a sample as it is kept, of its input and of its target: of a text, words or tokens."""
    words, tokens = cell.dataset.context_size, cell.dataset.sequence_length
    if tokens is not None:
        return tokens, tokens
    return (cell.network.input_dim, cell.network.output_dim) if words is None else (words, 1)
