"""Counts of the operations that compute a cell, in a few kinds of work, from its sizes alone.

The function `work(cell, count)` of a part declares its work by calling the methods of a `Count`, in the order of its
computation; `rates` contains the seconds that each kind takes. Work is counted both at run time and at compile time: a
loop is compiled once.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from scaling_limits import algorithms
from scaling_limits.cells import AlgorithmSpec, Cell
from scaling_limits.costs import declared
from scaling_limits.costs.sizes import (
    above_input,
    item_size,
    layers,
    num_units,
    num_updates,
    num_weights,
    sample_sizes,
    topmost,
    trained,
)
from scaling_limits.networks.layers import Layer

RUNNING = {
    "products": "a multiply-add of a product of matrices, or of a decomposition by its cost in products",
    "bytes": "a byte of activities or weights, next to a product or alone",
    "moved": "a byte of the windows of a convolution, or of activities and random numbers by their cost in such bytes",
    "kernels": "a kernel that is started after another one, or a step of Python by its cost in kernels",
}
PREPARING = {
    "data": "a byte of data that is read and normalised",
    "operations": "an operation on a layer, or on a stack of equal layers, or a loop, in a program that is compiled",
}
"""Kinds of work and the meaning of one unit.

`RUNNING` is done for each cell, `PREPARING` once for a shard, before its first cell.
"""

PROGRAM = 20
"""Compile time of a program without any layer, in operations."""
_DRAWN = 7
"""Time of a byte of random numbers, in bytes of windows."""
_SHIFTED = 1 / 3
"""Time of a byte of a stack's activities that moves by one layer, in bytes of windows."""
_DECOMPOSITION, _DECOMPOSED = 4, 29
"""Time of a singular value decomposition: kernels, and products for each of its multiply-adds."""
_PYTHON = 230
"""Time of a step of a Python loop, in kernels."""

Purpose = Literal["errors", "weights", "feedback"]


class Count:
    """Counter of the operations on a cell's network; `amounts` has the amount of each kind of work."""

    def __init__(self, cell: Cell):
        """Start to count the work of a cell."""
        self.cell = cell
        self.layers = layers(cell)
        self.above_input = above_input(cell)
        self.trained = trained(cell)
        self.updated = self.trained
        """The layers whose weights the optimiser updates."""
        self.amounts = dict.fromkeys((*RUNNING, *PREPARING), 0.0)
        self._times = 1.0
        self._purpose: Purpose = "errors"
        self._wanted: tuple[Purpose, ...] = ("errors", "weights", "feedback")
        self._known: list[AlgorithmSpec] = []

    def topmost(self, number: int) -> list[Layer]:
        """Return the last `number` weight layers."""
        return topmost(self.above_input, number)

    @contextmanager
    def repeated(self, times: float) -> Iterator[None]:
        """Count the work inside this context `times` times, as a compiled loop."""
        self._add("operations", 1)
        before, self._times = self._times, self._times * times
        yield
        self._times = before

    @contextmanager
    def only_for(self, purpose: Purpose) -> Iterator[None]:
        """Count the work inside this context only for one purpose of an algorithm.

        The purpose is the gradient of the weights (`weights`) or of the feedback weights (`feedback`). If only the
        errors of nodes are needed, the compiler omits this work.
        """
        before, self._purpose = self._purpose, purpose
        yield
        self._purpose = before

    def products(self, chosen: Sequence[Layer], samples: float | None = None) -> None:
        """Count a product of the weights of each chosen layer with a batch of vectors, one layer after the other.

        Args:
            chosen: the layers.
            samples: the number of vectors (default: the batch size).
        """
        self._products(chosen, samples, sum(layer.count for layer in chosen))

    def at_once(self, chosen: Sequence[Layer], samples: float | None = None) -> None:
        """Count the same products as `products`, computed for all layers of a stack at once."""
        self._products(chosen, samples, len(chosen))

    def forward(self, samples: float | None = None) -> None:
        """Count a pass from the input to the output."""
        self.products(self.layers, samples)

    def backward(self, samples: float | None = None) -> None:
        """Count a pass from the output back to the first hidden layer.

        The lowest weights, whose input is the data, are not needed.
        """
        self.products(self.above_input, samples)

    def weight_gradients(self) -> None:
        """Count the gradients of all trained weights from errors and inputs, for all layers of a stack at once."""
        with self.only_for("weights"):
            self.at_once(self.trained)
            if self.cell.network.activation_position == "after_weight":
                # the derivative of the activation requires the preactivation
                self.at_once(self.trained)

    def jacobians(self, samples: float | None = None) -> None:
        """Count the derivatives of all outputs with respect to all nodes."""
        samples = self.cell.batch_size if samples is None else samples
        self.backward(samples * self.cell.network.output_dim)

    def decompositions(self) -> None:
        """Count the singular value decompositions of each sample's derivatives of the outputs by each node."""
        outputs = self.cell.network.output_dim
        for layer in self.layers:
            matrices = self.cell.batch_size * layer.count
            self._add("kernels", _DECOMPOSITION * matrices)
            self._add("products", _DECOMPOSED * matrices * outputs**2 * layer.units / layer.count)
            self._add("operations", 1)

    def multiply_adds(self, number: float) -> None:
        """Count multiply-adds of matrix products that do not involve weights."""
        self._add("products", number)

    def operations(self, number: float) -> None:
        """Count operations on layers at compile time only; their work at run time is counted separately."""
        self._add("operations", number)

    def activities(self, passes: float, chosen: Sequence[Layer]) -> None:
        """Count elementwise passes over the activities of the chosen layers."""
        numbers = passes * self.cell.batch_size * num_units(chosen)
        self._add("bytes", item_size(self.cell) * numbers)
        self._add("kernels", passes * len(chosen))

    def shifts(self, chosen: Sequence[Layer]) -> None:
        """Count the activities of stacks of equal layers that move to the place of the next layer."""
        units = sum(layer.inputs * layer.count for layer in chosen if layer.count > 1)
        self._add("moved", _SHIFTED * item_size(self.cell) * self.cell.batch_size * units)

    def weights(self, passes: float) -> None:
        """Count elementwise passes over the weights that are updated."""
        self._add("bytes", passes * item_size(self.cell) * num_weights(self.updated))
        self._add("kernels", passes * len(self.updated))

    def traffic(self, size: float) -> None:
        """Count bytes that are read or written once."""
        self._add("bytes", size)

    def python(self, steps: float, kernels: float = 0) -> None:
        """Count steps of a Python loop, and the NumPy calls in it, such as a product for each matrix of a stack."""
        self._add("kernels", _PYTHON * steps + kernels)

    def errors(self, options: AlgorithmSpec | None = None) -> None:
        """Count the errors of all nodes, from the data on, by the cell's algorithm or by other options.

        If no weight is updated, the compiler computes equal errors only once.
        """
        options = options or self.cell.algorithm
        if num_updates(self.cell) or options not in self._known:
            self._known.append(options)
            self._algorithm(options, ("errors",))

    def gradient(self) -> None:
        """Count the gradient of the weights by the cell's algorithm, from the data on."""
        self._algorithm(self.cell.algorithm, ("errors", "weights"))

    def backpropagation(self) -> None:
        """Count the gradient of the weights by backpropagation, from the data on."""
        self.forward()
        self.backward()
        with self.only_for("weights"):
            self.products(self.trained)

    def feedback_gradient(self) -> None:
        """Count the gradient of the feedback weights by the cell's algorithm."""
        self._algorithm(self.cell.algorithm, ("feedback",))

    def update(self, chosen: Sequence[Layer]) -> None:
        """Count an update of the weights of the chosen layers by the cell's optimiser."""
        before, self.updated = self.updated, list(chosen)
        optimiser = declared.part("optimiser", self.cell.optimiser.name)
        declared.part_work(optimiser)(self.cell, self)
        self.updated = before

    def draw(self, chosen: Sequence[Layer]) -> None:
        """Count the random initialisation of the weights of the chosen layers."""
        self._add("moved", _DRAWN * item_size(self.cell) * num_weights(chosen))
        self._add("operations", len(chosen))
        if self.cell.init_distribution == "orthogonal":
            self.multiply_adds(sum(2.0 * c.weights * min(c.inputs, c.outputs) for c in chosen))

    def _algorithm(self, options: AlgorithmSpec, wanted: tuple[Purpose, ...]) -> None:
        cell = self.cell.model_copy(update={"algorithm": options})
        before, self._wanted = self._wanted, wanted
        declared.part_work(algorithms.part(options))(cell, self)
        self._wanted = before

    def _products(self, chosen: Sequence[Layer], samples: float | None, kernels: float) -> None:
        samples = self.cell.batch_size if samples is None else samples
        item = item_size(self.cell)
        for layer in chosen:
            self.multiply_adds(samples * layer.positions * layer.weights)
            entering = "moved" if layer.is_convolution else "bytes"
            self._add(entering, item * samples * layer.count * layer.positions * layer.inputs)
            self._add("bytes", item * samples * layer.units)
        self._add("bytes", item * num_weights(chosen))
        self._add("kernels", kernels)
        # the windows and the pooling of a convolution are separate operations
        operations = sum(3 if layer.is_convolution else 1 for layer in chosen)
        self._add("operations", operations + sum(layer.count > 1 for layer in chosen))

    def _add(self, kind: str, amount: float) -> None:
        if self._purpose in self._wanted:
            self.amounts[kind] += amount * (1.0 if kind in PREPARING else self._times)


def counted(cell: Cell) -> Count:
    """Return the counted work of a cell, including the preparation of its shard."""
    count = Count(cell)
    data = cell.dataset
    samples = data.num_train + data.num_test
    count.amounts["data"] = item_size(cell) * samples * sample_sizes(cell)[0]
    if cell.limit is not None:
        declared.part_work(declared.part("limit", cell.limit))(cell, count)
        return count
    count.amounts["operations"] = PROGRAM
    _training(cell, count)
    for spec in cell.measurements:
        with count.repeated(len(spec.steps)):
            declared.part_work(declared.part("measurement", spec.name))(cell, count)
    return count


def _training(cell: Cell, count: Count) -> None:
    has_feedback = cell.network.feedback is not None
    count.draw(count.layers)
    if has_feedback:
        count.draw(count.above_input)
        with count.repeated(cell.num_feedback_steps or 0):
            _feedback_step(count)
    updates = num_updates(cell)
    if not updates:
        if cell.num_steps:
            count.errors()
        return
    with count.repeated(updates):
        count.gradient()
        count.update(count.trained)
        if has_feedback:
            _feedback_step(count)


def _feedback_step(count: Count) -> None:
    count.feedback_gradient()
    count.update(count.above_input)


def flops(cell: Cell) -> float:
    """Return the number of floating-point operations in a cell's matrix products; a multiply-add counts as two.

    Decompositions count as the products that take as long.
    """
    return 2.0 * counted(cell).amounts["products"]
