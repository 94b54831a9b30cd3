r"""Target propagation and difference target propagation (pc-tp Sec. 3.1.2, 5).

With h_l the outputs of the nodes and g_l the feedback nodes, which map outputs of node l to outputs of
node l - 1, the output's target is `hhat_L = h_L - etahat dloss/dh_L` of each sample and the others are
`hhat_{l-1} = g_l(hhat_l)`, with the difference correction `g_l(hhat_l) - (g_l(h_l) - h_{l-1})`
(pc-tp S.11, S.13; the paper's index of g is that of the layer it maps to). Each node's weights follow
its own error `e_l = hhat_l - h_l`.

Feedback weights minimise the reconstruction of each node's input from its output (pc-tp S.12, S.164),
or the difference reconstruction of each hidden activity from the network's output. pc-tp names the
latter without its formula: it is that of Meulemans et al. 2020, from memory.
"""

from dataclasses import replace
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float
from pydantic import Field

from scaling_limits.algorithms import feedback
from scaling_limits.algorithms.feedback import FeedbackWeights
from scaling_limits.algorithms.layerwise import downwards, upwards, weight_gradients
from scaling_limits.algorithms.problem import Problem
from scaling_limits.cells import AlgorithmSpec, Traced
from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.networks.draws import layer_key
from scaling_limits.networks.network import Params, Segment, Stacks


def gradients(problem: Problem) -> tuple[Params, dict[str, Array]]:
    """Each node's own rule with the errors of its targets, a batch mean.

    It needs `problem.feedback` and `problem.numbers["target_step"]`, etahat.

    Metrics: `train_loss` of the forward pass, a batch mean.
    """
    forward = problem.activities()
    grads = weight_gradients(problem, problem.inputs(forward), _errors(problem, forward))
    return grads, {"train_loss": problem.loss(forward[-1][0])}


def errors(problem: Problem) -> Stacks:
    """e_l = hhat_l - h_l of each sample; needs what `gradients` does."""
    return _errors(problem, problem.activities())


def feedback_gradients(problem: Problem) -> Params:
    """Gradient of the sum of the losses of `options.feedback_loss` by the feedback weights.

    Raises:
        ConfigurationError: for an unknown loss, or no noise for the difference reconstruction.
    """
    losses = {
        "reconstruction": reconstruction_losses,
        "difference_reconstruction": difference_reconstruction_losses,
    }
    name = str(problem.options.feedback_loss)
    if name not in losses:
        raise ConfigurationError(unknown("feedback loss", name, losses))

    def total(feedback: Params) -> Array:
        return losses[name](replace(problem, feedback=feedback)).sum()

    gradient: Params = jax.grad(total)(problem.feedback)
    return gradient


def reconstruction_losses(problem: Problem) -> Float[Array, " layer"]:
    """`||g_l(f_l(h_{l-1} + eps)) - (h_{l-1} + eps)||^2 / (2 M_{l-1})` of l = 2..L, batch means.

    eps has the standard deviation `options.feedback_noise` and is left out without that.
    """
    forward = problem.activities()
    inputs, outputs = problem.inputs(forward), forward
    if problem.options.feedback_noise is not None:
        noise = _noise(problem, inputs[1:])
        inputs = (inputs[0], *(h + eps for h, eps in zip(inputs[1:], noise, strict=True)))
        outputs = problem.predictions(inputs)
    back = problem.network.reconstructions(problem.feedback, problem.scaling, outputs[1:])
    return jnp.concatenate(
        [_half_mean_square(g - h) for g, h in zip(back, inputs[1:], strict=True)]
    )


def difference_reconstruction_losses(problem: Problem) -> Float[Array, " layer"]:
    """`||g_i(f_i(h_i + eps)) - (h_i + eps)||^2 / (2 M_i sigma^2)` of i = 1..L-1, batch means.

    f_i is the network above node i, g_i the way back with the difference correction, and sigma the
    standard deviation of eps, `options.feedback_noise`. All i are followed at once: the i-th copy of
    the activities is perturbed at node i, and compared there on its way back.
    """
    network, scaling = problem.network, problem.scaling
    forward = problem.activities()
    inputs = problem.inputs(forward)
    noise = _noise(problem, inputs[1:])
    count = network.num_weight_layers - 1
    where = tuple(segment.indices() - 2 for segment in network.feedback)

    def up(segment: Segment, copies: Array, entry: Any) -> tuple[Array, None]:
        params, index, eps = entry
        perturbed = copies.at[index].add(eps)
        return jax.vmap(lambda x: segment.apply(params, scaling, x))(perturbed), None

    def down(segment: Segment, copies: Array, entry: Any) -> tuple[Array, Array]:
        params, index, eps, above, below = entry
        correction = segment.apply(params, scaling, above) - below
        copies = jax.vmap(lambda x: segment.apply(params, scaling, x) - correction)(copies)
        return copies, copies[index] - (below + eps)

    copies = jnp.broadcast_to(inputs[1][0], (count, *inputs[1][0].shape))
    entries = zip(problem.params[1:], where, noise, strict=True)
    copies, _ = upwards(network.segments[1:], up, copies, entries)
    back = zip(problem.feedback, where, noise, forward[1:], inputs[1:], strict=True)
    _, distances = downwards(network.feedback, down, copies, back)
    losses = jnp.concatenate([_half_mean_square(distance) for distance in distances])
    return losses / _noise_std(problem) ** 2


def _errors(problem: Problem, forward: Stacks) -> Stacks:
    """From the output down, `e_{l-1} = g_l(h_l + e_l) - h_{l-1}`, or `- g_l(h_l)` where corrected."""

    def step(segment: Segment, error: Array, entry: Any) -> tuple[Array, Array]:
        params, above, below = entry
        if problem.options.difference_correction:
            below = segment.apply(params, problem.scaling, above)
        return segment.apply(params, problem.scaling, above + error) - below, error

    output = problem.numbers["target_step"] * problem.output_error(forward[-1][0])
    inputs = problem.inputs(forward)
    entries = zip(problem.feedback, forward[1:], inputs[1:], strict=True)
    first, above = downwards(problem.network.feedback, step, output, entries)
    return (first[None], *above)


def _noise(problem: Problem, like: Stacks) -> Stacks:
    """Normal draws for the inputs of nodes 2..L, others at every step."""
    key = jax.random.key(problem.numbers["seed"])
    std = _noise_std(problem)

    def draw(layer: Array, h: Array) -> Array:
        own = layer_key(key, "feedback noise", layer)
        own = jax.random.fold_in(own, problem.numbers["step"])
        return std * jax.random.normal(own, h.shape, h.dtype)

    segments = problem.network.feedback
    return tuple(jax.vmap(draw)(s.indices(), h) for s, h in zip(segments, like, strict=True))


def _noise_std(problem: Problem) -> float:
    if problem.options.feedback_noise is None:
        raise ConfigurationError("feedback_noise: difference_reconstruction needs it")
    return problem.options.feedback_noise


def _half_mean_square(distances: Array) -> Float[Array, " count"]:
    """Over batch and units: the sum over units is divided by their number (pc-tp S.164)."""
    return 0.5 * (distances**2).mean(axis=(1, 2))


class Settings(FeedbackWeights):
    """How targets are propagated, and feedback weights trained; defaults as in pc-tp App. E."""

    difference_correction: bool = Field(
        default=False, description="difference target propagation (pc-tp S.13)"
    )
    target_step: float = Field(
        default=0.01, gt=0, description="etahat: how far the output's target lies down the gradient"
    )
    feedback_loss: Literal["reconstruction", "difference_reconstruction"] = "reconstruction"
    feedback_noise: float | None = Field(
        default=None, gt=0, description="standard deviation; no noise if absent"
    )


class Options(AlgorithmSpec):
    """Whether targets have the difference correction (pc-tp S.13), what feedback weights minimise, the step of the
    output's target (etahat), and the standard deviation of noise added to activities when feedback weights are
    trained, None without noise (pc-tp S.12).
    """

    difference_correction: bool
    feedback_loss: Literal["reconstruction", "difference_reconstruction"] = "reconstruction"
    target_step: Traced
    feedback_noise: float | None = None


def refuse(settings: Any) -> None:
    """Refuse a loss of feedback weights without the noise that it needs.

    Raises:
        ConfigurationError: naming the key.
    """
    feedback.refuse(settings)
    if settings.feedback_loss == "difference_reconstruction" and settings.feedback_noise is None:
        raise ConfigurationError("feedback_noise: difference_reconstruction needs it")
