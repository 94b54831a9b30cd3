"""Small networks, scalings and data for the tests of algorithms."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from scaling_limits import networks
from scaling_limits.cells import AlgorithmSpec, NetworkSpec
from scaling_limits.limits import linear_equilibrium
from scaling_limits.parameterisations.table import resolve


@functools.cache
def build(
    *,
    scheme="mean_field",
    optimiser="sgd",
    activation="linear",
    skip=False,
    width=8,
    num_hidden_layers=4,
    input_dim=5,
    output_dim=1,
    output_scale=1.0,
    position="before_weight",
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
        )
    )
    resolved = resolve(
        scheme,
        optimiser,
        width=width,
        num_weight_layers=num_hidden_layers + 1,
        input_dim=input_dim,
        output_dim=output_dim,
        base_width=1,
        base_depth=1,
        output_scale=output_scale,
        depth_exponent=0.5 if skip and scheme == "mean_field" else None,
        exponent_changes={},
    )
    scaling = {role: numbers.model_dump() for role, numbers in resolved.scaling.items()}
    return network, drawn(network, scaling), scaling


def drawn(network, scaling):
    """Normal weights, by numpy: nothing to compile."""
    rng = np.random.default_rng(0)
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
def data(*, batch=6, input_dim=5, output_dim=1):
    """Normal inputs and targets."""
    rng = np.random.default_rng(1)
    x = jnp.asarray(rng.normal(size=(batch, input_dim)))
    y = jnp.asarray(rng.normal(size=(batch, output_dim)))
    return x, y


def descent(steps, activity_gradient="per_sample"):
    """Options of inference by gradient descent."""
    return AlgorithmSpec(
        name="predictive_coding",
        inference="gradient_descent",
        num_inference_steps=steps,
        activity_gradient=activity_gradient,
    )


EXACT = AlgorithmSpec(name="predictive_coding", inference="exact")


def matrices(network, params, scaling, skip):
    """(weights, multipliers, effective matrices) for the closed forms."""
    roles = [segment.role for segment in network.segments]
    weights, multipliers = linear_equilibrium.layer_matrices(params, scaling, roles)
    effective = linear_equilibrium.effective_matrices(weights, multipliers, skip=skip)
    return weights, multipliers, effective


def kernels(stacked):
    """The matrices of all layers, input first."""
    return [w for segment in stacked for w in segment["linear"]["kernel"]]
