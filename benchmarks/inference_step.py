"""A training step of muPC against the rate of the machine's own matrix products, and what compiling it takes.

Every repetition measures the products, then the steps of all sizes, so that a busy machine slows both.
"""

from collections.abc import Callable

import common
import jax
import jax.numpy as jnp

from scaling_limits.cells import Cell
from scaling_limits.training.loop import compile_shard

SIZES = ((8, 128), (8, 512), (32, 128), (128, 128))
"""(hidden layers H, which is also the number of inference steps; width N)."""
REPEATS = 7
STEP_SECONDS = 0.5
"""About what the timed steps of one repetition take at half the expected rate."""
FEW_STEPS = 2
"""Steps of the program that is subtracted (initial draws, data); of one alone the update would be compiled away."""
EXPECTED_RATE = 1e11


def operations(cell: Cell, *, reached_only: bool) -> float:
    """Of the matrix products of a training step: 2 B n m for each product of a weight [n, m] with B samples.

    One product per weight in the forward pass and one for its gradient; in inference step t one prediction and one
    pullback for the output's weight and those of the hidden layers H, H - 1, ..., whose activities have moved after
    step t. That is the least an implementation with these steps can do. Otherwise all those of the hidden layers.
    """
    net, batch = cell.network, cell.batch_size
    hidden, output = net.width**2, net.width * net.output_dim
    count = net.num_hidden_layers - 1
    weights = net.input_dim * net.width + count * hidden + output
    total = 4.0 * batch * weights
    for step in range(1, (cell.algorithm.num_inference_steps or 0) + 1):
        evaluated = min(step - 1, count) if reached_only else count
        total += 4.0 * batch * (evaluated * hidden + output)
    return total


class Step:
    """The training step of a size, as what a program of more steps takes beyond one of fewer."""

    def __init__(self, depth: int, width: int):
        self.depth, self.width = depth, width
        cell = self._cell(FEW_STEPS)
        self.needed = operations(cell, reached_only=True)
        self.all = operations(cell, reached_only=False)
        self.count = max(1, round(STEP_SECONDS * EXPECTED_RATE / 2 / self.needed))
        self.compile_seconds: list[float] = []
        self.few = self._compiled(FEW_STEPS)
        self.many = self._compiled(FEW_STEPS + self.count)

    def _cell(self, num_steps: int) -> Cell:
        return common.cells(depth=self.depth, width=self.width, num_steps=num_steps)[0]

    def _compiled(self, num_steps: int) -> Callable[[], object]:
        cell = self._cell(num_steps)
        data = common.data(cell)
        jax.clear_caches()
        taken, train = common.timed(lambda: compile_shard(cell, data))
        self.compile_seconds.append(taken)
        return lambda: train([cell])

    def seconds(self) -> float:
        """CPU seconds of one training step."""
        return (common.timed(self.many)[0] - common.timed(self.few)[0]) / self.count


class Product:
    """The product of `[count, rows, width]` and `[count, width, width]`."""

    def __init__(self, rows: int, width: int, count: int = 1):
        x, weights = jnp.ones((count, rows, width)), jnp.full((count, width, width), 1.0 / width)
        if count == 1:
            x, weights = x[0], weights[0]
        self.operations = 2.0 * count * rows * width**2
        self.repeats = max(1, round(5e9 / self.operations))
        self.arguments = (x, weights)
        self.run = jax.jit(jnp.matmul).lower(x, weights).compile()

    def rate(self) -> float:
        """Operations per CPU second."""

        def repeat() -> None:
            for _ in range(self.repeats):
                result = self.run(*self.arguments)
            result.block_until_ready()

        return self.operations * self.repeats / common.timed(repeat)[0]


def main() -> None:
    """Measure, and write two tables."""
    Step(2, 16)  # what is imported and compiled once per process
    steps = [Step(depth, width) for depth, width in SIZES]
    squares = {width: Product(width, width) for width in (128, 512, 1024)}
    batches = {width: Product(64, width) for width in (128, 512)}
    stacks = {step: Product(64, step.width, step.depth - 1) for step in steps}
    times: dict[Step, list[float]] = {step: [] for step in steps}
    shares: dict[Step, list[float]] = {step: [] for step in steps}
    rates: dict[Product, list[float]] = {
        product: [] for group in (squares, batches, stacks) for product in group.values()
    }
    for repetition in range(REPEATS + 1):
        for step in steps:
            before = squares[step.width].rate()
            taken = step.seconds()
            if repetition:  # the first one warms up
                rate = (before + squares[step.width].rate()) / 2
                times[step].append(taken * 1e3)
                shares[step].append(step.needed / taken / rate)
        for product, found in rates.items():
            found.append(product.rate() / 1e9)
    shallow = {step.width: step for step in reversed(steps)}
    rows = []
    for step in steps:
        compiling = min(step.compile_seconds)
        row = {
            "H": f"{step.depth}",
            "N": f"{step.width}",
            "ms per batch": common.spread(times[step], 1),
            "GFLOP needed": f"{step.needed / 1e9:.2f}",
            "all layers": f"{step.all / 1e9:.2f}",
            "fraction of the square rate": common.spread(shares[step], 2),
            "rate of the stack": common.spread(rates[stacks[step]], 0),
            "compile s": f"{compiling:.1f}",
            "relative to H = 8": f"{compiling / min(shallow[step.width].compile_seconds):.2f}",
        }
        rows.append(row)
    text = common.table(list(rows[0]), [list(row.values()) for row in rows])
    common.publish("inference step", text)
    named = [(f"[{n}, {n}] · [{n}, {n}]", p) for n, p in squares.items()]
    named += [(f"[64, {n}] · [{n}, {n}]", p) for n, p in batches.items()]
    common.publish(
        "machine",
        common.table(
            ("product", "GFLOP/s"),
            [(name, common.spread(rates[product], 0)) for name, product in named],
        ),
    )


if __name__ == "__main__":
    main()
