"""Check by shapes that a user's own algorithm meets its contract, before anything is compiled."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from scaling_limits import networks
from scaling_limits.cells import Cell
from scaling_limits.datasets.loading import Arrays
from scaling_limits.errors import ConfigurationError
from scaling_limits.networks.network import Weights
from scaling_limits.training.step import Data, Training, data_of, initial_weights, numbers_of


def check(cell: Cell, arrays: Arrays) -> None:
    """Follow an algorithm of a file through one step; the project's algorithms are passed over.

    `arrays` are the cell's samples, of which shapes are looked at.

    Raises:
        ConfigurationError: `update` does not give gradients shaped as the weights, the next state and metrics that are
            numbers with `train_loss` among them; or `errors` not one array per segment, shaped as its activities.
    """
    if cell.algorithm.file is None:
        return
    order = jax.ShapeDtypeStruct((1, cell.batch_size), jnp.int32)

    def followed(numbers: dict[str, Any], order: Any, data: Data) -> None:
        training = Training(cell, numbers, order, data)
        weights = initial_weights(cell, networks.build(cell.network), numbers)
        problem = training.problem(weights, jnp.int32(0), order[0])
        algorithm = training.algorithm
        _alike("errors", "errors", algorithm.errors(problem), problem.activities())
        state = algorithm.init(problem)
        updated = algorithm.update(problem, state)
        if not (isinstance(updated, tuple) and len(updated) == 3):
            raise _UnlikeError("update gives not three things: gradients, the next state, metrics")
        gradients, next_state, metrics = updated
        if not isinstance(gradients, Weights):
            raise _UnlikeError("gradients of update are no Weights(forward, feedback)")
        for group in training.rules:
            given, asked = getattr(gradients, group), getattr(weights, group)
            _alike("update", f"{group} gradients", given, asked)
        _alike("update", "the next state", next_state, state)
        _scalars(metrics)

    try:
        jax.eval_shape(followed, numbers_of(cell), order, data_of(cell, arrays))
    except _UnlikeError as error:
        raise ConfigurationError(
            f"algorithms.{cell.algorithm.name}", f"{cell.algorithm.file}: {error}"
        ) from None


class _UnlikeError(Exception):
    """What the algorithm gives is not what is asked of it."""


def _alike(function: str, what: str, given: PyTree, asked: PyTree) -> None:
    if _described(given) != _described(asked):
        raise _UnlikeError(
            f"{function} gives {what} of shapes {_described(given)}; asked for are {_described(asked)}"
        )


def _described(tree: PyTree) -> str:
    return str(jax.tree.map(lambda value: list(jnp.shape(value)), tree))


def _scalars(metrics: PyTree) -> None:
    if not isinstance(metrics, dict) or "train_loss" not in metrics:
        result = ", ".join(sorted(metrics)) if isinstance(metrics, dict) else type(metrics).__name__
        raise _UnlikeError(f"metrics of update have no train_loss, but {result or 'nothing'}")
    for name, value in metrics.items():
        if jnp.shape(value) != ():
            raise _UnlikeError(
                f"the metric {name} of update has the shape {list(jnp.shape(value))}; asked for is a number"
            )
