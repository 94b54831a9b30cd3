"""The sizes of a cell's network, as layers of equal weights; without jax."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scaling_limits.cells import Cell
from scaling_limits.networks import image_layers


@dataclass(frozen=True)
class Layer:
    """`count` equal weights `[outputs, inputs]`, each applied at as many `positions` of what enters."""

    name: str
    inputs: int
    outputs: int
    count: int = 1
    positions: int = 1

    @property
    def weights(self) -> int:
        """Entries of all of them."""
        return self.inputs * self.outputs * self.count

    @property
    def is_convolution(self) -> bool:
        """Whether its windows are copied out of what enters; a window that covers all of it is no copy."""
        return self.positions > 1

    @property
    def units(self) -> int:
        """Numbers that leave all of them, for one sample."""
        return self.outputs * self.positions * self.count


def layers(cell: Cell) -> list[Layer]:
    """All weights of the forward pass, from the input up."""
    net = cell.network
    if net.name in image_layers.ARCHITECTURES:
        return [
            Layer(layer.name, layer.fan_in, layer.features, positions=math.prod(layer.leaving[:2]))
            for layer in image_layers.layers(net)
        ]
    found = [
        Layer("input", net.input_dim, net.width),
        Layer("hidden", net.width, net.width, net.num_hidden_layers - 1),
        Layer("output", net.width, net.output_dim),
    ]
    return [layer for layer in found if layer.count]


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
    """Updates whose weights anything reads: compiled, a single one that nothing looks at afterwards is left out."""
    measured = any(step > 0 for spec in cell.measurements for step in spec.steps)
    return cell.num_steps if cell.num_steps > 1 or measured else 0
