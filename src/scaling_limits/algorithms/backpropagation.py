"""Backpropagation of the loss."""

from dataclasses import replace

import jax
from jax import Array

from scaling_limits.algorithms.layerwise import backward_pass
from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.network import Params, Stacks


def gradients(problem: Problem) -> tuple[Params, dict[str, Array]]:
    """Gradient of the batch-mean loss (pcn-limits Eq. 1); of the options only `loss` is used.

    Metrics: `train_loss`, that loss.
    """

    def loss(params: Params) -> Array:
        return problem.loss(replace(problem, params=params).forward())

    value, grads = jax.value_and_grad(loss)(problem.params)
    return grads, {"train_loss": value}


def errors(problem: Problem) -> Stacks:
    """`-dloss/du_l` of each sample, with u_l the output of node l."""
    forward = problem.activities()
    output = problem.output_error(forward[-1][0])
    return backward_pass(problem, problem.inputs(forward), output)
