"""An optimiser with a state that sees no gradients: momentum of products of cotangents and inputs."""

import jax
import jax.numpy as jnp
import optax

NEEDS = ("inputs", "cotangents")


def build(numbers, factors):
    def update(updates, state, params=None, *, inputs, cotangents):
        state = jax.tree.map(
            lambda s, g: numbers["momentum"] * s + g, state, products(inputs, cotangents)
        )
        return state, state

    return optax.GradientTransformationExtraArgs(
        lambda params: jax.tree.map(jnp.zeros_like, params), update
    )


def products(inputs, cotangents):
    """Cotangents times inputs, summed over samples and positions."""

    def product(x, g):
        x, g = (v.reshape(len(v), -1, v.shape[-1]) for v in (x, g))
        return jnp.einsum("lpo,lpi->loi", g, x)

    return jax.tree.map(product, inputs, cotangents)
