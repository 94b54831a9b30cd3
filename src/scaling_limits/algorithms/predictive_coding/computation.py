"""Predictive coding with supervised targets.

The energy of a sample, with z_0 = x and p_l the network's nodes, is

    F = sum_{l<L} gamma_l/2 ||z_l - p_l(z_{l-1})||^2 + gamma_L loss(p_L(z_{L-1}), y)

(pc-tp Eq. 2; mupc Eq. 1 and pcn-limits Eq. 2 have unit weights gamma and the mean squared error). Activities are
inferred, then each node's weights follow the error of their node. Their gradient is `-e_l dp_l/dW_l`, which is dF/dW_l
without gamma_l, as in pc-tp S.33; with plain SGD the update is

    dW_l = eta mean_batch[(dp_l/dW_l)^T e_l],    e_l = z_l - p_l(z_{l-1}),    e_L = -dloss/df.

*Gradient descent* and *adam* take steps on the activities (`descent`), *exact* is the limit of these steps in linear
networks in closed form (`exact`), and *equilibrium* is the limit in other networks (`equilibrium`).
"""

from jax import Array
from jaxtyping import PyTree

from scaling_limits.algorithms.layerwise import weight_gradients
from scaling_limits.algorithms.predictive_coding import descent, equilibrium, exact
from scaling_limits.algorithms.predictive_coding.inferred import Inferred, energy_weight
from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.network import Stacks, Weights


def init(problem: Problem) -> tuple[()]:
    """Return the state, which is empty."""
    return ()


def update(problem: Problem, state: PyTree) -> tuple[Weights, PyTree, dict[str, Array]]:
    """Compute each node's weight gradients at the inferred activities, as batch means.

    `problem.numbers["activity_learning_rate"]` is the step beta on the gradient of the batch mean of F
    (`activity_gradient: batch_mean`, so beta/B per sample) or of each sample's F (`per_sample`).
    `problem.numbers["seed"]` is the seed of normal initial activities, which are the same at each training step.

    Metrics are means over the batch, and over the tokens of sequences: `train_loss` of the forward pass,
    `inferred_loss` of the output's prediction after inference, and `energy`, F after inference without the decay of the
    activities. With a tolerance also `inference_steps`, the number of inference steps taken. With `inference:
    equilibrium` also `inference_residual`, the largest entry of |dF/dz| over all samples, and `inference_unreached`,
    the fraction of samples whose residual stayed above the tolerance.
    """
    forward = problem.activities()
    inferred = _infer(problem, forward)
    gradients = weight_gradients(problem, inferred.inputs, inferred.errors)
    loss = problem.loss(inferred.output)
    energy = energy_weight(problem, "output") * loss
    for segment, error in zip(problem.network.segments[:-1], inferred.errors[:-1], strict=True):
        weight = energy_weight(problem, segment.role)
        energy = energy + 0.5 * weight * (error**2).sum() / problem.batch_tokens
    metrics = {"train_loss": problem.loss(forward[-1][0]), "inferred_loss": loss, "energy": energy}
    return Weights(gradients), state, metrics | inferred.metrics


def errors(problem: Problem) -> Stacks:
    """Compute e_l of each sample at the inferred activities."""
    return _infer(problem, problem.activities()).errors


def _infer(problem: Problem, forward: Stacks) -> Inferred:
    infer = {"exact": exact.infer, "equilibrium": equilibrium.infer}
    return infer.get(problem.options.inference, descent.infer)(problem, forward)
