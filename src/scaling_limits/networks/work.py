"""The work of a cell, to which its parts contribute."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol

from scaling_limits.cells import AlgorithmSpec
from scaling_limits.networks.layers import Layer


class Count(Protocol):
    """The work of a cell. Every part adds its contribution in `work(cell, count)`; numbers are per training step."""

    layers: Sequence[Layer]
    above_input: Sequence[Layer]
    trained: Sequence[Layer]
    updated: Sequence[Layer]

    def topmost(self, number: int) -> list[Layer]:
        """Return the last `number` weights."""

    def repeated(self, times: float) -> AbstractContextManager[None]:
        """Multiply the work inside the block by `times`; it is done in a loop."""

    def only_for(self, purpose: Literal["weights", "feedback"]) -> AbstractContextManager[None]:
        """Skip the work inside the block unless gradients of these weights are requested."""

    def products(self, chosen: Sequence[Layer], samples: float | None = None) -> None:
        """Add products of each layer's weights with `samples` vectors (default: the batch), layer by layer."""

    def at_once(self, chosen: Sequence[Layer], samples: float | None = None) -> None:
        """Add the same products as `products`, for all layers of a stack at once."""

    def forward(self, samples: float | None = None) -> None:
        """Add a pass from the data to the output."""

    def backward(self, samples: float | None = None) -> None:
        """Add a pass from the output to the lowest layer's output."""

    def weight_gradients(self) -> None:
        """Add the gradients of each trained node's weights, from its error and its input."""

    def jacobians(self, samples: float | None = None) -> None:
        """Add the derivatives of all outputs with respect to all nodes."""

    def decompositions(self) -> None:
        """Add singular value decompositions of each sample's derivatives of the outputs with respect to each node."""

    def multiply_adds(self, number: float) -> None:
        """Add multiply-adds of products of matrices that are not weights."""

    def operations(self, number: float) -> None:
        """Add operations on layers to the program, without their work, which is counted elsewhere."""

    def activities(self, passes: float, chosen: Sequence[Layer]) -> None:
        """Add elementwise passes over the activities of these layers."""

    def shifts(self, chosen: Sequence[Layer]) -> None:
        """Add the shifts of activities in stacks of equal layers, where each moves to the next layer's position."""

    def weights(self, passes: float) -> None:
        """Add elementwise passes over the updated weights."""

    def traffic(self, size: float) -> None:
        """Add bytes that are read or written once."""

    def python(self, steps: float, kernels: float = 0) -> None:
        """Add steps of a Python loop, with the kernels that NumPy starts in it."""

    def errors(self, options: AlgorithmSpec | None = None) -> None:
        """Add the errors of all nodes by the cell's algorithm, or by other `options`, starting from the data."""

    def gradient(self) -> None:
        """Add the gradient of the weights by the cell's algorithm, starting from the data."""

    def backpropagation(self) -> None:
        """Add the gradient of the weights by backpropagation, starting from the data."""

    def feedback_gradient(self) -> None:
        """Add the gradient of the feedback weights by the cell's algorithm."""

    def update(self, chosen: Sequence[Layer]) -> None:
        """Add an update of these layers' weights by the cell's optimiser."""

    def draw(self, chosen: Sequence[Layer]) -> None:
        """Add the random initial weights of these layers."""
