"""The networks of pcn-limits Eq. 125 and 126, small, with a batch."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scaling_limits import networks
from scaling_limits.algorithms.predictive_coding import computation, descent, equilibrium
from scaling_limits.algorithms.problem import Problem
from scaling_limits.cells import Cell
from toys import BACKPROPAGATION, EQUILIBRIUM, cell

DESCENT: dict[str, Any] = {
    "inference": "gradient_descent",
    "num_inference_steps": 3,
    "activity_gradient": "per_sample",
    "activity_learning_rate": 0.05,
}
BATCH = 3


def problem_of(own: Cell) -> Problem:
    """Drawn weights with random samples: of a transformer random tokens."""
    rng = np.random.default_rng(0)
    network, scaling = networks.build(own.network), own.traced()["scaling"]
    params = jax.jit(lambda: network.init(jax.random.key(1), scaling, "normal", jnp.float64))()
    tokens = own.dataset.sequence_length or 1
    classes = own.dataset.num_classes

    def labels() -> Any:
        return jnp.asarray(np.eye(classes)[rng.integers(classes, size=(BATCH, tokens))])

    x = labels() if tokens > 1 else jnp.asarray(rng.normal(size=(BATCH, own.network.input_dim)))
    x, y = (v.reshape(BATCH, -1) for v in (x, labels()))
    numbers = {**own.traced().get("algorithm", {}), "seed": 0, "step": 0}
    return Problem(network, params, scaling, x, y, own.algorithm, numbers, tokens=tokens)


def unstacked(problem: Problem) -> list[Any]:
    """The weights of every node, by the names of its operations."""
    return [
        {name: part["kernel"][i] for name, part in stack.items()}
        for segment, stack in zip(problem.network.segments, problem.params, strict=True)
        for i in range(segment.count)
    ]


def restacked(problem: Problem, nodes: list[Any]) -> Any:
    """The tree that `unstacked` was taken from."""
    left, stacks = list(nodes), []
    for segment in problem.network.segments:
        own = [left.pop(0) for _ in range(segment.count)]
        stacks.append({name: {"kernel": jnp.stack([n[name] for n in own])} for name in own[0]})
    return tuple(stacks)


def check(changes: dict[str, Any], energy: Any) -> None:
    """Everything that is computed of a network beside `energy(x, y, weights, hidden activities)`, the equation."""
    own = cell(**changes, **EQUILIBRIUM)
    problem = problem_of(own)
    weights = unstacked(problem)
    forward, loss = jax.jit(lambda: (problem.activities(), problem.loss(problem.forward())))()
    hidden = [z for stack in forward[:-1] for z in stack]

    @jax.jit
    def with_slopes(weights: Any, hidden: Any) -> Any:
        return jax.value_and_grad(energy, argnums=(2, 3))(problem.x, problem.y, weights, hidden)

    # at the forward pass nothing but the loss is left, which is that of backpropagation
    at_first, _ = with_slopes(weights, hidden)
    np.testing.assert_allclose(at_first, loss, rtol=1e-12)
    # at the equilibrium the equation has no slope by any activity, and the weights follow its slope by them
    gradients, metrics, inferred = jax.jit(lambda: _at_equilibrium(problem, forward))()
    hidden = [z for stack in _activities(problem, inferred) for z in stack]
    value, (by_weights, by_hidden) = with_slopes(weights, hidden)
    np.testing.assert_allclose(metrics["energy"], value, rtol=1e-12)
    assert value < at_first - 1e-3
    assert max(float(jnp.abs(slope).max()) for slope in by_hidden) < 1e-11
    jax.tree.map(
        lambda found, expected: np.testing.assert_allclose(found, expected, atol=1e-12),
        gradients.forward,
        restacked(problem, by_weights),
    )
    # steps descend the same energy of each sample
    options = cell(**changes, **DESCENT).algorithm
    stepwise = replace(
        problem, options=options, numbers={"activity_learning_rate": 0.05, "seed": 0, "step": 0}
    )
    moved = jax.jit(lambda: descent.infer(stepwise, forward))()
    z = [each for stack in forward[:-1] for each in stack]
    for _ in range(3):
        _, (_, slopes) = with_slopes(weights, z)
        z = [a - 0.05 * problem.batch_tokens * b for a, b in zip(z, slopes, strict=True)]
    found = [each for stack in _activities(stepwise, moved) for each in stack]
    for one, other in zip(found, z, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


def _at_equilibrium(problem: Problem, forward: Any) -> Any:
    gradients, _, metrics = computation.update(problem, ())
    return gradients, metrics, equilibrium.infer(problem, forward)


def _activities(problem: Problem, inferred: Any) -> Any:
    """Of the hidden nodes: what enters each node above the first."""
    entering = [each for stack in inferred.inputs for each in stack][1:]
    return [[each] for each in entering]


def backpropagated(changes: dict[str, Any], **further: Any) -> Cell:
    """The cell, trained by backpropagation."""
    return cell(**BACKPROPAGATION | changes | further)
