"""The count of a cell's work, to which its parts add."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol

from scaling_limits.cells import AlgorithmSpec
from scaling_limits.networks.layers import Layer


class Count(Protocol):
    """The work of a cell, to which every part adds its own in `work(cell, count)`; numbers are per training step."""

    layers: Sequence[Layer]
    above_input: Sequence[Layer]
    trained: Sequence[Layer]
    updated: Sequence[Layer]

    def topmost(self, number: int) -> list[Layer]:
        """The last `number` weights."""

    def repeated(self, times: float) -> AbstractContextManager[None]:
        """Work inside the block is done `times` times, in a loop."""

    def only_for(self, purpose: Literal["weights", "feedback"]) -> AbstractContextManager[None]:
        """Work inside the block is left out unless gradients of these weights are asked for."""

    def products(self, chosen: Sequence[Layer], samples: float | None = None) -> None:
        """A product of each layer's weights with `samples` vectors (the batch's), one layer after the other."""

    def at_once(self, chosen: Sequence[Layer], samples: float | None = None) -> None:
        """The same products for all layers of a stack at once."""

    def forward(self, samples: float | None = None) -> None:
        """A pass from the data to the output."""

    def backward(self, samples: float | None = None) -> None:
        """A pass from the output to the lowest layer's output."""

    def weight_gradients(self) -> None:
        """The gradient of each trained node's weights, from its error and its input."""

    def jacobians(self, samples: float | None = None) -> None:
        """The derivatives of all outputs by all nodes."""

    def decompositions(self) -> None:
        """Singular value decompositions of each sample's derivatives of the outputs by each node."""

    def multiply_adds(self, number: float, dtype: str | None = None) -> None:
        """Multiply-adds of products of matrices that are no weights."""

    def operations(self, number: float) -> None:
        """Operations on layers in the program, whose work is counted elsewhere."""

    def activities(self, passes: float, chosen: Sequence[Layer]) -> None:
        """Passes over the activities of these layers, entry by entry."""

    def shifts(self, chosen: Sequence[Layer]) -> None:
        """Activities of stacks of equal layers that each move to the next layer's place."""

    def weights(self, passes: float) -> None:
        """Passes over the updated weights, entry by entry."""

    def traffic(self, size: float) -> None:
        """Bytes that are read or written once."""

    def python(self, steps: float, kernels: float = 0) -> None:
        """Steps of a Python loop, with the kernels that NumPy starts in it."""

    def errors(self, options: AlgorithmSpec | None = None) -> None:
        """The errors of all nodes by the cell's algorithm, or by that of other `options`, from the data on."""

    def gradient(self) -> None:
        """The gradient of the weights by the cell's algorithm, from the data on."""

    def backpropagation(self) -> None:
        """The gradient of the weights by backpropagation, from the data on."""

    def feedback_gradient(self) -> None:
        """The gradient of the feedback weights by the cell's algorithm."""

    def update(self, chosen: Sequence[Layer]) -> None:
        """An update of these layers' weights by the cell's optimiser."""

    def draw(self, chosen: Sequence[Layer]) -> None:
        """Random initial weights of these layers."""
