"""A training step of a transformer by backpropagation against the rate of the machine's own matrix products.

Every repetition measures the products before and after the steps, so that a busy machine slows both.
"""

from typing import Any

import common
from inference_step import Product

from scaling_limits.cells import Cell
from scaling_limits.costs.sizes import layers
from scaling_limits.training.loop import compile_shard

WIDTHS = (64, 256)
REPEATS = 5
STEPS = 4
FEW_STEPS = 2
SETTINGS: dict[str, Any] = {
    "dataset": "tiny_shakespeare",
    "normalisation": "none",
    "sequence_length": 32,
    "num_train": 64,
    "num_test": 16,
    "network": "transformer",
    "activation": "gelu",
    "depth": 6,
    "depth_kind": "blocks",
    "parameterisation": "mup",
    "algorithm": "backpropagation",
    "loss": "cross_entropy",
    "optimiser": "adam",
    "learning_rate": 0.001,
    "batch_size": 32,
}


def operations(cell: Cell) -> float:
    """Of the products of a step: each weight forward, to its input and to its gradient, and those of attention."""
    tokens = cell.dataset.sequence_length or 1
    weights = sum(layer.weights for layer in layers(cell))
    attention = 2 * (cell.network.num_hidden_layers - 1) * tokens * cell.network.width
    return 6.0 * cell.batch_size * tokens * (weights + attention)


class Step:
    """The training step at a width, as what a program of more steps takes beyond one of fewer."""

    def __init__(self, width: int):
        few, many = (self._cell(width, count) for count in (FEW_STEPS, FEW_STEPS + STEPS))
        self.operations = operations(few)
        self.few, self.many = self._compiled(few), self._compiled(many)

    def _cell(self, width: int, num_steps: int) -> Cell:
        return common.cell({**SETTINGS, "width": width, "num_steps": num_steps})

    def _compiled(self, cell: Cell) -> Any:
        train = compile_shard(cell, common.data(cell))
        return lambda: train([cell])

    def seconds(self) -> float:
        """CPU seconds of one training step."""
        return (common.timed(self.many)[0] - common.timed(self.few)[0]) / STEPS


def main() -> None:
    """Measure, and write the table."""
    rows = []
    for width in WIDTHS:
        step, square = Step(width), Product(1024, width)
        times, shares = [], []
        for repetition in range(REPEATS + 1):
            before = square.rate()
            taken = step.seconds()
            rate = (before + square.rate()) / 2
            if repetition:  # the first one warms up
                times.append(taken * 1e3)
                shares.append(step.operations / taken / rate)
        rows.append([f"{width}", common.spread(times, 0), common.spread(shares, 2)])
    common.publish("transformer", common.table(["N", "ms", "fraction of the rate"], rows))


if __name__ == "__main__":
    main()
