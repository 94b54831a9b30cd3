"""Networks with feedback nodes, and target propagation in plain Python loops."""

import jax
import jax.numpy as jnp
import numpy as np

from scaling_limits import networks
from scaling_limits.algorithms.problem import Problem
from scaling_limits.algorithms.target_propagation import Options as TargetPropagation
from scaling_limits.cells import NetworkSpec
from scaling_limits.networks.draws import layer_key
from scaling_limits.networks.nodes import ACTIVATIONS

ROLES = ("input", "hidden", "output", "feedback_hidden", "feedback_output")
MULTIPLIERS = dict(zip(ROLES, (1.1, 0.9, 1.3, 0.8, 1.2), strict=True))
UNIT = dict.fromkeys(ROLES, 1.0)
BATCH = 6


def build(
    *,
    activation="tanh",
    feedback="tanh",
    width=7,
    num_hidden_layers=3,
    input_dim=5,
    output_dim=4,
    multipliers=MULTIPLIERS,
    loss="mean_squared_error",
    **options,
):
    """A `Problem` of normal weights of variance 1/fan_in and normal data, by numpy."""
    network = networks.build(
        NetworkSpec(
            name="mlp",
            input_dim=input_dim,
            output_dim=output_dim,
            width=width,
            num_hidden_layers=num_hidden_layers,
            activation=activation,
            activation_position="after_weight",
            skip=False,
            mean_subtraction=False,
            feedback=feedback,
        )
    )
    scaling = {
        role: {"init_std": 1.0, "multiplier": number, "branch": 1.0}
        for role, number in multipliers.items()
    }
    rng = np.random.default_rng(0)

    def drawn(init):
        shapes = jax.eval_shape(lambda: init(jax.random.key(0), scaling, "normal", jnp.float64))
        return jax.tree.map(
            lambda s: jnp.asarray(rng.normal(size=s.shape) / s.shape[-1] ** 0.5), shapes
        )

    x = jnp.asarray(rng.normal(size=(BATCH, input_dim)))
    y = jnp.asarray(rng.normal(size=(BATCH, output_dim)))
    if loss == "cross_entropy":
        y = jax.nn.one_hot(y.argmax(axis=1), output_dim, dtype=y.dtype)
    numbers = {"target_step": 0.3, "seed": 3, "step": jnp.int32(-2)}
    fields = {"difference_correction": False, "feedback_loss": "reconstruction"}
    spec = TargetPropagation(
        name="target_propagation", target_step=0.3, loss=loss, **(fields | options)
    )
    params, feedback = drawn(network.init), drawn(network.init_feedback)
    return Problem(network, params, scaling, x, y, spec, numbers, feedback)


def matrices(problem, weights, segments):
    """Multiplier times weight of every node, from below."""
    return [
        problem.scaling[segment.role]["multiplier"] * kernel
        for segment, stacked in zip(segments, weights, strict=True)
        for kernel in stacked["linear"]["kernel"]
    ]


def maps(problem, feedback, *, activation="tanh", psi="tanh"):
    """f_1..f_L and g_2..g_L, the latter with the weights `feedback`."""
    network, phi, psi = problem.network, ACTIVATIONS[activation], ACTIVATIONS[psi]
    forward = matrices(problem, problem.params, network.segments)
    last = len(forward) - 1
    f = [lambda h, w=w, i=i: h @ w.T if i == last else phi(h @ w.T) for i, w in enumerate(forward)]
    back = matrices(problem, feedback, network.feedback)
    return f, [lambda h, q=q: psi(h @ q.T) for q in back]


def activities(problem, f):
    """h_0 = x, h_1..h_L."""
    h = [problem.x]
    for node in f:
        h.append(node(h[-1]))
    return h


def target_errors(problem, f, g):
    """e_1..e_L as the paper writes targets (S.11, S.13)."""
    h = activities(problem, f)
    output = jax.nn.softmax(h[-1]) if problem.options.loss == "cross_entropy" else h[-1]
    targets = {len(f): h[-1] - problem.numbers["target_step"] * (output - problem.y)}
    for layer in range(len(f), 1, -1):
        node = g[layer - 2]
        targets[layer - 1] = node(targets[layer])
        if problem.options.difference_correction:
            targets[layer - 1] -= node(h[layer]) - h[layer - 1]
    return [targets[layer] - h[layer] for layer in range(1, len(f) + 1)]


def noise(problem, h):
    """eps added to h_1..h_{L-1}; drawn for the nodes 2..L that they enter."""
    key, std = jax.random.key(problem.numbers["seed"]), problem.options.feedback_noise
    draws = []
    for layer in range(2, len(h)):
        own = layer_key(key, "feedback noise", layer)
        own = jax.random.fold_in(own, problem.numbers["step"])
        draws.append(std * jax.random.normal(own, h[layer - 1].shape))
    return draws


def reconstruction_loss(problem, f, g):
    """(S.164) summed over layers; with the noise of (S.12) if there is any."""
    h = activities(problem, f)
    noisy = problem.options.feedback_noise is not None
    eps = noise(problem, h) if noisy else [0.0] * (len(f) - 1)
    total = 0.0
    for layer in range(2, len(f) + 1):
        entering = h[layer - 1] + eps[layer - 2]
        distance = g[layer - 2](f[layer - 1](entering)) - entering
        total += (distance**2).sum() / (2 * entering.shape[1]) / BATCH
    return total


def difference_reconstruction_loss(problem, f, g):
    """Of every hidden layer, through the output and back with the difference correction."""
    h = activities(problem, f)
    eps, sigma = noise(problem, h), problem.options.feedback_noise
    total = 0.0
    for start in range(1, len(f)):
        perturbed = z = h[start] + eps[start - 1]
        for node in f[start:]:
            z = node(z)
        for layer in range(len(f), start, -1):
            z = g[layer - 2](z) - g[layer - 2](h[layer]) + h[layer - 1]
        total += ((z - perturbed) ** 2).sum() / (2 * z.shape[1] * sigma**2) / BATCH
    return total
