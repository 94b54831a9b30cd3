"""The steps of a cell's training, as pure functions of its state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jaxtyping import Array, Int, PyTree

from scaling_limits import algorithms, networks, optimisers
from scaling_limits.algorithms.problem import Problem
from scaling_limits.cells import Cell
from scaling_limits.datasets import words
from scaling_limits.datasets.loading import Arrays
from scaling_limits.networks.draws import layer_key, seed_key
from scaling_limits.networks.network import Network, Params, Weights
from scaling_limits.optimisers import groups
from scaling_limits.training.augmentation import augmented
from scaling_limits.training.state import State

if TYPE_CHECKING:
    from scaling_limits.algorithms.contract import Algorithm, ObservedAlgorithm


class Data(NamedTuple):
    """Training and test set, `[samples, input]` and `[samples, output]`; for text, word indices and analogies."""

    inputs: Array
    targets: Array
    test_inputs: Array
    test_targets: Array
    analogies: Array | None = None


def data_of(cell: Cell, arrays: Arrays) -> Data:
    """Return a cell's samples on the device: floating-point data in the cell's dtype, text indices unchanged."""
    parts: list[PyTree] = [arrays.x_train, arrays.y_train, arrays.x_test, arrays.y_test]
    if cell.dataset.context_size is not None:
        parts.append(arrays.analogies)
    dtypes = [cell.dtype if part.dtype.kind == "f" else part.dtype for part in parts]
    return Data(*map(jnp.asarray, parts, dtypes))


def numbers_of(cell: Cell) -> dict[str, PyTree]:
    """Return a cell's traced numbers: integers as uint32, floating-point numbers in the cell's dtype."""
    real = np.dtype(cell.dtype).type

    def typed(value: float) -> np.generic:
        result: np.generic = np.uint32(value) if isinstance(value, int) else real(value)
        return result

    numbers: dict[str, PyTree] = jax.tree.map(typed, cell.traced())
    return numbers


def initial_weights(cell: Cell, network: Network, numbers: Mapping[str, PyTree]) -> Weights:
    """Draw the weights of a cell at initialisation, given its traced `numbers`."""
    key = seed_key(numbers["seed"])
    how = numbers["scaling"], cell.init_distribution, jnp.dtype(cell.dtype)
    return Weights(network.init(key, *how), network.init_feedback(key, *how))


@dataclass(frozen=True)
class Training:
    """The constant inputs of a cell's training: its traced numbers, the sample indices of all batches, and the data."""

    cell: Cell
    numbers: Mapping[str, PyTree]
    order: Int[Array, "steps batch"]
    data: Data

    @cached_property
    def network(self) -> Network:
        """The network, without weights."""
        return networks.build(self.cell.network)

    @cached_property
    def algorithm(self) -> "Algorithm":
        """The algorithm's module."""
        return algorithms.get(self.cell.algorithm)

    @cached_property
    def rules(self) -> dict[str, optax.GradientTransformationExtraArgs]:
        """The update rule of each group of weights, with the learning rate of the cell."""
        return self._rules(1.0)

    def rules_at(self, step: Array) -> dict[str, optax.GradientTransformationExtraArgs]:
        """Return the update rules with the learning rate of a step according to the cell's schedule."""
        if self.cell.learning_rate_schedule is None:
            return self.rules
        total, warmup = self.cell.num_steps, self.cell.warmup_steps
        schedule = (
            optax.cosine_decay_schedule(1.0, total)
            if warmup is None
            else optax.warmup_cosine_decay_schedule(0.0, 1.0, warmup, total)
        )
        return self._rules(jnp.asarray(schedule(step), self.cell.dtype))

    def _rules(self, schedule: Array | float) -> dict[str, optax.GradientTransformationExtraArgs]:
        numbers = self.numbers
        scaling = numbers["scaling"]
        return groups.rules(self.cell, numbers["optimiser"], scaling, self.network, schedule)

    @property
    def reference(self) -> Array | None:
        """Evenly spaced training samples that give batch norm its statistics in evaluation; None without it."""
        most = self.cell.network.num_statistics
        return None if most is None else self.data.inputs[:: -(-len(self.data.inputs) // most)]

    def problem(self, weights: Weights, step: Array, batch: Array) -> Problem:
        """Return the input of the algorithm at a step, for the samples with indices `batch`."""
        numbers = {**self.numbers.get("algorithm", {}), "seed": self.numbers["seed"], "step": step}
        x, y = self.vectors(self.data.inputs[batch], self.data.targets[batch])
        return Problem(
            network=self.network,
            params=weights.forward,
            scaling=self.numbers["scaling"],
            x=self._augmented(x, step),
            y=self._smoothed(y),
            options=self.cell.algorithm,
            numbers=numbers,
            feedback=weights.feedback,
            tokens=self.tokens,
            compiled=self.cell.compiled,
        )

    @property
    def tokens(self) -> int:
        """The number of tokens of a sample, 1 for data that are not sequences."""
        return self.cell.dataset.sequence_length or 1

    def vectors(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Return inputs and targets of samples in the form that the network takes."""
        return words.vectors(self.cell.dataset, x, y, self.cell.dtype)

    def _augmented(self, inputs: Array, step: Array) -> Array:
        if self.cell.augmentation is None:
            return inputs
        key = layer_key(seed_key(self.numbers["seed"]), "augmentation", step)
        return augmented(inputs, self.cell.dataset.input_shape, self.cell.augmentation, key)

    def _smoothed(self, targets: Array) -> Array:
        smoothing = self.cell.label_smoothing
        if smoothing is None:
            return targets
        smoothed: Array = (1.0 - smoothing) * targets + smoothing / self.cell.dataset.num_classes
        return smoothed

    def begin(self, weights: Weights) -> State:
        """Return the state before the first step, after any steps in which feedback weights are trained alone."""
        chosen = {name: getattr(weights, name) for name in self.rules}
        states = {name: rule.init(chosen[name]) for name, rule in self.rules.items()}
        problem = self.problem(weights, jnp.int32(0), self.order[0])
        state = State(weights, (), Weights(**states), self.algorithm.init(problem))
        if "feedback" not in self.rules:
            return state
        count = self.cell.num_feedback_steps or 0

        def step(index: Array, state: State) -> State:
            return self._updated(state, index - count, self.order[index], ["feedback"])[0]

        trained: State = lax.fori_loop(0, count, step, state)
        return trained

    def step(self, state: State, index: Array) -> tuple[State, dict[str, Array]]:
        """Return the state after a step, and the metrics of the batch before it."""
        return self._updated(state, index, self.order[index], list(self.rules))

    def direction(self, state: State, index: Array) -> tuple[Params, Params, PyTree]:
        """Compute the gradients and the direction of a step without momentum, learning rates and bound of updates.

        Returns:
            The gradients, the directions of the optimiser, and its state after the step.
        """
        numbers = {**self.numbers["optimiser"], "momentum": 0.0}
        if "kl_clip" in numbers:
            numbers["kl_clip"] = jnp.inf
        scaling = {
            role: {**factors, "learning_rate": -1.0}
            for role, factors in self.numbers["scaling"].items()
        }
        rule = groups.rules(self.cell, numbers, scaling, self.network)["forward"]
        problem = self.problem(state.weights, index, self.order[index])
        gradients, _, _, operations = self._gradients(problem, state.algorithm)
        weights, before = state.weights.forward, state.optimiser.forward
        directions, after = rule.update(gradients.forward, before, weights, **operations)
        return gradients.forward, directions, after

    def _updated(
        self, state: State, step: Array, batch: Array, moving: Sequence[str]
    ) -> tuple[State, dict[str, Array]]:
        problem = self.problem(state.weights, step, batch)
        gradients, algorithm_state, metrics, operations = self._gradients(problem, state.algorithm)
        weights, states = state.weights._asdict(), state.optimiser._asdict()
        rules = self.rules_at(step)
        for name in moving:
            weights[name], states[name] = groups.updated(
                rules[name], getattr(gradients, name), weights[name], states[name], operations
            )
        moved = State(Weights(**weights), state.network, Weights(**states), algorithm_state)
        return moved, metrics

    def _gradients(
        self, problem: Problem, state: PyTree
    ) -> tuple[Weights, PyTree, dict[str, Array], dict[str, Params]]:
        """Return the results of the algorithm's update, and the further arguments of the optimiser."""
        needed = optimisers.needs(self.cell.optimiser.name)
        if not needed:
            return *self.algorithm.update(problem, state), {}
        algorithm = cast("ObservedAlgorithm", self.algorithm)
        gradients, state, metrics, operations = algorithm.observed_update(problem, state)
        return gradients, state, metrics, {name: operations[name] for name in needed}
