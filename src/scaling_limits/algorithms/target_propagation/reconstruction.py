"""The losses of the feedback weights of target propagation.

With h_l the outputs of the nodes f_l and g_l the feedback nodes, these are the reconstruction of each node's input from
its output (pc-tp S.12, S.164), and the difference reconstruction of each hidden activity from the network's output.
pc-tp names the latter without its formula; it is implemented from memory after Meulemans et al. 2020.
"""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, PyTree

from scaling_limits.algorithms.layerwise import downwards, upwards
from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.draws import layer_key, seed_key
from scaling_limits.networks.network import Segment, Stacks


def reconstruction_losses(problem: Problem, noise_std: float | None) -> Float[Array, " layer"]:
    """Compute `||g_l(f_l(h_{l-1} + eps)) - (h_{l-1} + eps)||^2 / (2 M_{l-1})` for l = 2..L, as batch means.

    eps has the standard deviation `noise_std`; with None there is no noise.
    """
    forward = problem.activities()
    inputs, outputs = problem.inputs(forward), forward
    if noise_std is not None:
        noise = _noise(problem, noise_std, inputs[1:])
        inputs = (inputs[0], *(h + eps for h, eps in zip(inputs[1:], noise, strict=True)))
        outputs = problem.predictions(inputs)
    back = problem.network.reconstructions(problem.feedback, problem.scaling, outputs[1:])
    return jnp.concatenate(
        [_half_mean_square(g - h) for g, h in zip(back, inputs[1:], strict=True)]
    )


def difference_reconstruction_losses(problem: Problem, noise_std: float) -> Float[Array, " layer"]:
    """Compute `||g_i(f_i(h_i + eps)) - (h_i + eps)||^2 / (2 M_i sigma^2)` for i = 1..L-1, as batch means.

    f_i is the network above node i, g_i the path back with the difference correction, and sigma the standard deviation
    of eps, `noise_std`. All i are computed at once: the i-th copy of the activities is perturbed at node i and compared
    there on its path back.
    """
    network, scaling = problem.network, problem.scaling
    forward = problem.activities()
    inputs = problem.inputs(forward)
    noise = _noise(problem, noise_std, inputs[1:])
    count = network.num_weight_layers - 1
    where = tuple(segment.indices() - 2 for segment in network.feedback)

    def up(segment: Segment, copies: Array, entry: PyTree) -> tuple[Array, None]:
        params, index, eps = entry
        perturbed = copies.at[index].add(eps)
        return jax.vmap(lambda x: segment.apply(params, scaling, x))(perturbed), None

    def down(segment: Segment, copies: Array, entry: PyTree) -> tuple[Array, Array]:
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
    return losses / noise_std**2


def _noise(problem: Problem, std: float, like: Stacks) -> Stacks:
    """Draw normal noise for the inputs of nodes 2..L, different at every step."""
    key = seed_key(problem.numbers["seed"])

    def draw(layer: Array, h: Array) -> Array:
        own = layer_key(key, "feedback noise", layer)
        own = jax.random.fold_in(own, problem.numbers["step"])
        return std * jax.random.normal(own, h.shape, h.dtype)

    segments = problem.network.feedback
    return tuple(jax.vmap(draw)(s.indices(), h) for s, h in zip(segments, like, strict=True))


def _half_mean_square(distances: Array) -> Float[Array, " count"]:
    """Return half the mean over batch and units: the sum over units is divided by their number (pc-tp S.164)."""
    return 0.5 * (distances**2).mean(axis=(1, 2))
