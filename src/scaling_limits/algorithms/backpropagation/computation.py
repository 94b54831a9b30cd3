"""Backpropagation of the loss.

Every weight follows the gradient of the batch-mean loss L (pcn-limits Eq. 1), which the optimiser turns into an update.
With plain SGD

    dW_l = -eta dL/dW_l = eta mean_batch[(dp_l/dW_l)^T e_l],    e_l = -dloss/du_l,

with u_l the output of the node p_l.
"""

from dataclasses import replace

import jax
from jax import Array
from jaxtyping import PyTree

from scaling_limits.algorithms.fisher import directions
from scaling_limits.algorithms.layerwise import backward_pass
from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.draws import layer_key, seed_key
from scaling_limits.networks.network import Params, Stacks, Weights


def init(problem: Problem) -> tuple[()]:
    """Return the state, which is empty."""
    return ()


def update(problem: Problem, state: PyTree) -> tuple[Weights, PyTree, dict[str, Array]]:
    """Compute the gradient of the batch-mean loss (pcn-limits Eq. 1); the only option used is `loss`.

    Metrics: `train_loss`, the batch-mean loss.
    """

    def loss(params: Params) -> Array:
        return problem.loss(replace(problem, params=params).forward())

    value, gradients = jax.value_and_grad(loss)(problem.params)
    return Weights(gradients), state, {"train_loss": value}


def observed_update(
    problem: Problem, state: PyTree
) -> tuple[Weights, PyTree, dict[str, Array], dict[str, Params]]:
    """Compute what `update` does and, in the same pass, quantities of every linear operation.

    These quantities are trees like the weights, by name:

    - `inputs [count, batch, ..., in]`: the inputs of the kernel,
    - `cotangents [count, batch, ..., out]`: the derivative of the loss with respect to the kernel's output, before the
      multiplier; a kernel's gradient is the product of inputs and cotangents, summed over samples and positions,
    - `fisher [count, directions, batch, ..., out]`, with the option `fisher`: the derivatives of each sample's
      log-likelihood with respect to the same output (`fisher.directions`). Sampled targets are redrawn at every step
      and depend on seed and step.

    Metrics: `train_loss`, the batch-mean loss.
    """
    network, scaling = problem.network, problem.scaling

    def forward(params: Params, shifts: Params) -> tuple[Array, Params]:
        return network.observed(params, scaling, problem.x, shifts)

    shifts = network.shifts(problem.x)
    output, pull, inputs = jax.vjp(forward, problem.params, shifts, has_aux=True)
    value, loss_gradient = jax.value_and_grad(problem.loss)(output)
    gradients, cotangents = pull(loss_gradient)
    operations = {"inputs": inputs, "cotangents": cotangents}
    kind = getattr(problem.options, "fisher", None)
    if kind is not None:
        key = layer_key(seed_key(problem.numbers["seed"]), "fisher", problem.numbers["step"])
        rows = directions(kind, problem.options.loss, output, key, problem.tokens)
        operations["fisher"] = jax.vmap(lambda row: pull(row)[1], out_axes=1)(rows)
    return Weights(gradients), state, {"train_loss": value}, operations


def errors(problem: Problem) -> Stacks:
    """Compute `-dloss/du_l` of each sample, with u_l the output of node l."""
    forward = problem.activities()
    output = problem.output_error(forward[-1][0])
    return backward_pass(problem, problem.inputs(forward), output)
