"""A training step of K-FAC, FOOF and Shampoo against one of SGD, at several widths.

Every repetition measures the steps of all of them, so that a busy machine slows both sides of a ratio.
"""

import statistics
from collections.abc import Callable
from typing import Any

import common

from scaling_limits.cells import Cell
from scaling_limits.configuration.models import Resources
from scaling_limits.configuration.resolve import Resolver
from scaling_limits.training.loop import compile_shard

WIDTHS = (128, 256, 512, 1024)
REPEATS = 7
FEW_STEPS = 2
"""Steps of the program that is subtracted (initial draws, data)."""
UNITS = 20_000
"""Units times steps of the timed program."""
OPTIMISERS: dict[str, dict[str, Any]] = {
    "SGD": {"optimiser": "sgd"},
    "K-FAC, sampled": {"optimiser": "kfac", "damping": 1.0, "fisher": "sampled"},
    "K-FAC, exact": {"optimiser": "kfac", "damping": 1.0},
    "FOOF": {"optimiser": "foof", "damping": 1.0},
    "Shampoo": {"optimiser": "shampoo", "damping": 1e-3},
}
SETTINGS: dict[str, Any] = {
    "dataset": "mnist",
    "num_train": 1024,
    "num_test": 16,
    "activation": "relu",
    "depth": 3,
    "depth_kind": "weight_layers",
    "parameterisation": "preconditioned_mup",
    "base_width": 64,
    "algorithm": "backpropagation",
    "learning_rate": 1e-3,
    "batch_size": 128,
}


def cell(width: int, num_steps: int, optimiser: dict[str, Any]) -> Cell:
    """A network of three weights on 784 inputs and 10 outputs (second-order, Fig. 6)."""
    given = {**SETTINGS, **optimiser, "width": width, "num_steps": num_steps}
    return common.optimised(Resolver(Resources(), {}, {}).resolve(given, {}).cell)


class Step:
    """The training step of an optimiser, as what a program of more steps takes beyond one of fewer."""

    def __init__(self, width: int, optimiser: dict[str, Any]):
        self.count = UNITS // width
        self.few, self.many = (
            self._compiled(cell(width, count, optimiser))
            for count in (FEW_STEPS, FEW_STEPS + self.count)
        )

    def _compiled(self, chosen: Cell) -> Callable[[], object]:
        train = compile_shard(chosen, common.data(chosen))
        return lambda: train([chosen])

    def seconds(self) -> float:
        """CPU seconds of one training step."""
        return (common.timed(self.many)[0] - common.timed(self.few)[0]) / self.count


def main() -> None:
    """Measure, and write a table."""
    lines = []
    for width in WIDTHS:
        steps = {name: Step(width, options) for name, options in OPTIMISERS.items()}
        taken: dict[str, list[float]] = {name: [] for name in steps}
        for _ in range(REPEATS):
            for name, step in steps.items():
                taken[name].append(step.seconds() * 1e3)
        usual = statistics.median(taken["SGD"])
        own = [common.spread([t / usual for t in taken[name]], 1) for name in list(steps)[1:]]
        lines.append([f"{width}", common.spread(taken["SGD"], 2), *own])
    header = ["width", "SGD, ms", *list(OPTIMISERS)[1:]]
    common.publish("preconditioners", common.table(header, lines))


if __name__ == "__main__":
    main()
