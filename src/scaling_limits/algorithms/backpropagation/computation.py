"""Backpropagation of the loss."""

from dataclasses import replace
from typing import Any

import jax
from jax import Array

from scaling_limits.algorithms.layerwise import backward_pass
from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.network import Params, Stacks, Weights


def init(problem: Problem) -> tuple[()]:
    """No state."""
    return ()


def update(problem: Problem, state: Any) -> tuple[Weights, Any, dict[str, Array]]:
    """Gradient of the batch-mean loss (pcn-limits Eq. 1); of the options only `loss` is used.

    Metrics: `train_loss`, that loss.
    """

    def loss(params: Params) -> Array:
        return problem.loss(replace(problem, params=params).forward())

    value, gradients = jax.value_and_grad(loss)(problem.params)
    return Weights(gradients), state, {"train_loss": value}


def observed_update(
    problem: Problem, state: Any
) -> tuple[Weights, Any, dict[str, Array], dict[str, Params]]:
    """As `update`, in the same pass with the `inputs` and `cotangents` of every linear operation:
    trees like the weights, with what its kernel is applied to and the derivative of the loss by what
    comes out, before the multiplier. A kernel's gradient is the product of both, summed over samples
    and positions.
    """
    network, scaling = problem.network, problem.scaling

    def loss(params: Params, shifts: Params) -> tuple[Array, Params]:
        output, inputs = network.observed(params, scaling, problem.x, shifts)
        return problem.loss(output), inputs

    shifts = network.shifts(problem.x)
    of_both = jax.value_and_grad(loss, argnums=(0, 1), has_aux=True)
    (value, inputs), (gradients, cotangents) = of_both(problem.params, shifts)
    operations = {"inputs": inputs, "cotangents": cotangents}
    return Weights(gradients), state, {"train_loss": value}, operations


def errors(problem: Problem) -> Stacks:
    """`-dloss/du_l` of each sample, with u_l the output of node l."""
    forward = problem.activities()
    output = problem.output_error(forward[-1][0])
    return backward_pass(problem, problem.inputs(forward), output)
