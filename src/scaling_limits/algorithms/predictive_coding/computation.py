"""Predictive coding with supervised targets.

Energy of a sample, with z_0 = x and p_l the network's nodes,

    F = sum_{l<L} gamma_l/2 ||z_l - p_l(z_{l-1})||^2 + gamma_L loss(p_L(z_{L-1}), y)

(pc-tp Eq. 2; mupc Eq. 1 and pcn-limits Eq. 2 have unit weights gamma and the mean squared error). Activities are
inferred, then each node's weights follow its own error. Their gradient is `-e_l dp_l/dW_l`, which is dF/dW_l without
gamma_l, as in pc-tp S.33; with plain SGD the update is

    dW_l = eta mean_batch[(dp_l/dW_l)^T e_l],    e_l = z_l - p_l(z_{l-1}),    e_L = -dloss/df.

*Gradient descent* and *adam* are steps on the activities (`descent`), *exact* is where they end in linear networks
(`exact`), *equilibrium* where they would end in others (`equilibrium`).
"""

from jax import Array
from jaxtyping import PyTree

from scaling_limits.algorithms.layerwise import weight_gradients
from scaling_limits.algorithms.predictive_coding import descent, equilibrium, exact
from scaling_limits.algorithms.predictive_coding.inferred import Inferred, energy_weight
from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.network import Stacks, Weights


def init(problem: Problem) -> tuple[()]:
    """No state."""
    return ()


def update(problem: Problem, state: PyTree) -> tuple[Weights, PyTree, dict[str, Array]]:
    """Each node's own rule at the inferred activities, a batch mean.

    `problem.numbers["activity_learning_rate"]` is the step beta on the gradient of the batch mean of F
    (`activity_gradient: batch_mean`, so beta/B per sample) or of each sample's own F (`per_sample`);
    `problem.numbers["seed"]` that of normal initial activities, which are the same at each training step.

    Metrics, means over the batch and of sequences over tokens: `train_loss` of the forward pass, `inferred_loss` of the
    output's prediction after inference, and `energy`, F there, a decay of the activities not counted; with a tolerance
    `inference_steps`, the steps of inference that were taken. With `inference: equilibrium` also `inference_residual`,
    the largest entry of |dF/dz| of all samples, and `inference_unreached`, the share of samples whose residual stayed
    above the tolerance.
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
    """e_l of each sample at the inferred activities."""
    return _infer(problem, problem.activities()).errors


def _infer(problem: Problem, forward: Stacks) -> Inferred:
    infer = {"exact": exact.infer, "equilibrium": equilibrium.infer}
    return infer.get(problem.options.inference, descent.infer)(problem, forward)
