"""Check, by shapes and before compilation, that a user's algorithm returns what training needs."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import PyTree

from scaling_limits import networks
from scaling_limits.cells import Cell
from scaling_limits.datasets.loading import Arrays
from scaling_limits.errors import ConfigurationError
from scaling_limits.networks.network import Weights
from scaling_limits.training.step import Data, Training, data_of, initial_weights, numbers_of


def check(cell: Cell, arrays: Arrays) -> None:
    """Trace one step of an algorithm given as a file; the project's algorithms are not checked.

    `arrays` are the cell's samples; only their shapes are used.

    Raises:
        ConfigurationError: `update` does not return gradients shaped like the weights, the next state and scalar
            metrics that include `train_loss`, or `errors` does not return one array per segment, shaped like its
            activities.
    """
    if cell.algorithm.file is None:
        return
    order = jax.ShapeDtypeStruct((1, cell.batch_size), jnp.int32)

    def traced(numbers: dict[str, PyTree], order: Array, data: Data) -> None:
        training = Training(cell, numbers, order, data)
        weights = initial_weights(cell, networks.build(cell.network), numbers)
        problem = training.problem(weights, jnp.int32(0), order[0])
        algorithm = training.algorithm
        _alike("errors", "errors", algorithm.errors(problem), problem.activities())
        state = algorithm.init(problem)
        updated = algorithm.update(problem, state)
        if not (isinstance(updated, tuple) and len(updated) == 3):
            raise _UnlikeError(
                "update must return three values: gradients, the next state and metrics"
            )
        gradients, next_state, metrics = updated
        if not isinstance(gradients, Weights):
            raise _UnlikeError("update must return its gradients as Weights(forward, feedback)")
        for group in training.rules:
            result, expected = getattr(gradients, group), getattr(weights, group)
            _alike("update", f"{group} gradients", result, expected)
        _alike("update", "the next state", next_state, state)
        _scalars(metrics)

    try:
        jax.eval_shape(traced, numbers_of(cell), order, data_of(cell, arrays))
    except _UnlikeError as error:
        raise ConfigurationError(
            f"algorithms.{cell.algorithm.name}", f"{cell.algorithm.file}: {error}"
        ) from None


class _UnlikeError(Exception):
    """The algorithm returns something other than required."""


def _alike(function: str, what: str, result: PyTree, expected: PyTree) -> None:
    if _shapes(result) != _shapes(expected):
        raise _UnlikeError(
            f"{function} returns {what} of shapes {_shapes(result)} instead of {_shapes(expected)}"
        )


def _shapes(tree: PyTree) -> str:
    return str(jax.tree.map(lambda value: list(jnp.shape(value)), tree))


def _scalars(metrics: PyTree) -> None:
    if not isinstance(metrics, dict) or "train_loss" not in metrics:
        result = ", ".join(sorted(metrics)) if isinstance(metrics, dict) else type(metrics).__name__
        raise _UnlikeError(
            f"update must return the metric train_loss; its metrics are: {result or 'none'}"
        )
    for name, value in metrics.items():
        if jnp.shape(value) != ():
            raise _UnlikeError(
                f"update must return the metric {name} as a number, not as an array of shape "
                f"{list(jnp.shape(value))}"
            )
