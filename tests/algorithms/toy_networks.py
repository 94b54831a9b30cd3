"""Small networks, scalings and data for the tests of algorithms."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from scaling_limits import networks
from scaling_limits.algorithms.predictive_coding import Options as PredictiveCoding
from scaling_limits.cells import NetworkSpec
from scaling_limits.limits import linear_equilibrium

EXACT = PredictiveCoding(name="predictive_coding", inference="exact")
UNIT = {"input": 1.0, "hidden": 1.0, "output": 1.0}
UNEQUAL = {"input": 0.6, "hidden": 0.8, "output": 2.5}


def numbers_of(scheme, *, width, input_dim, depth, skip, output_scale, energy_weights):
    """The scaling of `mean_field` (pcn-limits Table 2, residual alpha 1/2), `sp_gaussian` or
    `sp_uniform` (variances 1/fan_in and 1/(3 fan_in)), by hand.
    """
    fan_ins = {"input": input_dim, "hidden": width, "output": width}
    scaling = {}
    for role, fan_in in fan_ins.items():
        if scheme == "mean_field":
            multiplier = 1 / (output_scale * width) if role == "output" else fan_in**-0.5
            std, rate = 1.0, output_scale**2 * width
        else:
            multiplier, rate = 1.0, 1.0
            std = (fan_in if scheme == "sp_gaussian" else 3 * fan_in) ** -0.5
        branch = depth**-0.5 if scheme == "mean_field" and skip and role == "hidden" else 1.0
        scaling[role] = {
            "init_std": std,
            "multiplier": multiplier,
            "branch": branch,
            "learning_rate": rate,
            "energy_weight": energy_weights[role],
        }
    return scaling


def build(
    *,
    scheme="mean_field",
    activation="linear",
    skip=False,
    width=8,
    num_hidden_layers=4,
    input_dim=5,
    output_dim=1,
    output_scale=1.0,
    position="before_weight",
    energy_weights=UNIT,
    block_depth=1,
    layer_norm=False,
):
    """(network, params, scaling)."""
    network = networks.build(
        NetworkSpec(
            name="mlp",
            input_dim=input_dim,
            output_dim=output_dim,
            width=width,
            num_hidden_layers=num_hidden_layers,
            activation=activation,
            activation_position=position,
            skip=skip,
            mean_subtraction=False,
            block_depth=block_depth,
            layer_norm=layer_norm,
        )
    )
    scaling = numbers_of(
        scheme,
        width=width,
        input_dim=input_dim,
        depth=num_hidden_layers + 1,
        skip=skip,
        output_scale=output_scale,
        energy_weights=energy_weights,
    )
    scaling |= {f"hidden_{number}": scaling["hidden"] for number in range(1, block_depth + 1)}
    return network, drawn(network, scaling), scaling


def drawn(network, scaling, seed=0):
    """Normal weights, by numpy: nothing to compile."""
    rng = np.random.default_rng(seed)
    shapes = jax.eval_shape(lambda: network.init(jax.random.key(0), scaling, "normal", jnp.float64))
    return tuple(
        jax.tree.map(
            lambda leaf, role=segment.role: jnp.asarray(
                scaling[role]["init_std"] * rng.normal(size=leaf.shape)
            ),
            stacked,
        )
        for segment, stacked in zip(network.segments, shapes, strict=True)
    )


@functools.cache
def data(*, batch=6, input_dim=5, output_dim=1, one_hot=False):
    """Normal inputs and targets, or the targets' largest entries as classes."""
    rng = np.random.default_rng(1)
    x = jnp.asarray(rng.normal(size=(batch, input_dim)))
    y = jnp.asarray(rng.normal(size=(batch, output_dim)))
    return x, jax.nn.one_hot(y.argmax(axis=1), output_dim, dtype=y.dtype) if one_hot else y


def descent(steps, activity_gradient="per_sample", **changes):
    """Options of inference by gradient descent, synchronous and from the forward pass."""
    fields = {
        "name": "predictive_coding",
        "inference": "gradient_descent",
        "num_inference_steps": steps,
        "activity_gradient": activity_gradient,
        "activity_initialisation": "forward",
        "inference_order": "synchronous",
        "fixed_predictions": False,
    }
    return PredictiveCoding(**(fields | changes))


def matrices(network, params, scaling, skip):
    """(weights, multipliers, effective matrices) for the closed forms."""
    roles = [segment.role for segment in network.segments]
    weights, multipliers = linear_equilibrium.layer_matrices(params, scaling, roles, skip=skip)
    effective = linear_equilibrium.effective_matrices(weights, multipliers, skip=skip)
    return weights, multipliers, effective


def per_layer(network, scaling, name):
    """A number of every layer's role, input first."""
    return [scaling[s.role][name] for s in network.segments for _ in range(s.count)]


def kernels(stacked):
    """The matrices of all layers, input first."""
    return [w for segment in stacked for w in segment["linear"]["kernel"]]


def unstacked(stacks):
    """The entries of all nodes, input first."""
    return [entry for stack in stacks for entry in stack]
