"""Target propagation and difference target propagation (pc-tp Sec. 3.1.2, 5).

Let h_l be the outputs of the nodes and g_l the feedback nodes, which map outputs of node l to outputs of node l - 1.
The output's target is `hhat_L = h_L - etahat dloss/dh_L` of each sample. The other targets are `hhat_{l-1} =
g_l(hhat_l)` or, with the difference correction, `g_l(hhat_l) - (g_l(h_l) - h_{l-1})` (pc-tp S.11, S.13; the paper
indexes g by the layer that it maps to). Each node's weights follow their node's error, with plain SGD

    dW_l = eta mean_batch[(dp_l/dW_l)^T e_l],    e_l = hhat_l - h_l,

with p_l the node. Feedback weights descend a reconstruction loss (`reconstruction`) with their own learning rate.
"""

from collections.abc import Callable
from dataclasses import replace

import jax
from jax import Array
from jaxtyping import PyTree

from scaling_limits.algorithms.layerwise import downwards, weight_gradients
from scaling_limits.algorithms.problem import Problem
from scaling_limits.algorithms.target_propagation.reconstruction import (
    difference_reconstruction_losses,
    reconstruction_losses,
)
from scaling_limits.networks.network import Params, Segment, Stacks, Weights

LOSSES: dict[str, Callable[..., Array]] = {
    "reconstruction": reconstruction_losses,
    "difference_reconstruction": difference_reconstruction_losses,
}


def init(problem: Problem) -> tuple[()]:
    """Return the state, which is empty."""
    return ()


def update(problem: Problem, state: PyTree) -> tuple[Weights, PyTree, dict[str, Array]]:
    """Compute each node's weight gradients from the error of its target, and those of the feedback weights.

    All are batch means. `problem.feedback` and `problem.numbers["target_step"]`, etahat, are required.

    Metrics: `train_loss`, the batch-mean loss of the forward pass.
    """
    forward = problem.activities()
    gradients = weight_gradients(problem, problem.inputs(forward), _errors(problem, forward))
    metrics = {"train_loss": problem.loss(forward[-1][0])}
    return Weights(gradients, feedback_gradients(problem)), state, metrics


def errors(problem: Problem) -> Stacks:
    """Compute e_l = hhat_l - h_l of each sample; requires the same fields as `update`."""
    return _errors(problem, problem.activities())


def feedback_gradients(problem: Problem) -> Params:
    """Compute the gradient of the summed losses `options.feedback_loss` with respect to the feedback weights."""
    losses = LOSSES[str(problem.options.feedback_loss)]

    def total(feedback: Params) -> Array:
        return losses(replace(problem, feedback=feedback), problem.options.feedback_noise).sum()

    gradient: Params = jax.grad(total)(problem.feedback)
    return gradient


def _errors(problem: Problem, forward: Stacks) -> Stacks:
    """Compute the errors from the output down.

    `e_{l-1} = g_l(h_l + e_l) - h_{l-1}`, or `g_l(h_l + e_l) - g_l(h_l)` with the difference correction.
    """

    def step(segment: Segment, error: Array, entry: PyTree) -> tuple[Array, Array]:
        params, above, below = entry
        if problem.options.difference_correction:
            below = segment.apply(params, problem.scaling, above)
        return segment.apply(params, problem.scaling, above + error) - below, error

    output = problem.numbers["target_step"] * problem.output_error(forward[-1][0])
    inputs = problem.inputs(forward)
    entries = zip(problem.feedback, forward[1:], inputs[1:], strict=True)
    first, above = downwards(problem.network.feedback, step, output, entries)
    return (first[None], *above)
