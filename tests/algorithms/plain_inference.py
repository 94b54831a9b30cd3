"""Predictive coding as the papers write it: Python loops over steps and layers, no displacements."""

import zlib

import jax
import jax.numpy as jnp
from toy_networks import per_layer


def nodes_of(network, params, scaling):
    """p_1..p_L as functions of their input."""
    nodes = []
    for segment, stacked in zip(network.segments, params, strict=True):
        for index in range(segment.count):
            node = jax.tree.map(lambda leaf, i=index: leaf[i], stacked)
            nodes.append(lambda z, s=segment, p=node: s.apply(p, scaling, z))
    return nodes


def initial_activities(network, params, scaling, x, kind, key=None):
    """z_1..z_{L-1}."""
    z, activities = x, []
    for number, node in enumerate(nodes_of(network, params, scaling)[:-1], start=1):
        z = node(z)
        if kind == "normal":
            purpose = jax.random.fold_in(key, zlib.crc32(b"activities"))
            activities.append(jax.random.normal(jax.random.fold_in(purpose, number), z.shape))
        else:
            activities.append(z if kind == "forward" else jnp.zeros_like(z))
    return activities


def infer(network, params, scaling, first, x, y, options, rate):
    """(errors e_1..e_L, activities z_1..z_{L-1}) after the last step, from the activities `first`."""
    nodes = nodes_of(network, params, scaling)
    weights = per_layer(network, scaling, "energy_weight")
    last = len(nodes) - 1
    softmax = options.loss == "cross_entropy"
    decay = options.activity_decay or 0.0
    share = 1 / len(x) if options.activity_gradient == "batch_mean" else 1.0

    def evaluated(z):
        return [x, *(first if options.fixed_predictions else z)]

    def error(index, z):
        out = nodes[index](evaluated(z)[index])
        if index < last:
            return z[index] - out
        return y - (jax.nn.softmax(out) if softmax else out)

    def slope(index, z, above):
        """Of z[index], with the error above it given."""
        _, pull = jax.vjp(nodes[index + 1], evaluated(z)[index + 1])
        own = weights[index] * error(index, z) + decay * z[index]
        return share * (own - weights[index + 1] * pull(above)[0])

    z = list(first)
    means = [(jnp.zeros_like(a), jnp.zeros_like(a)) for a in z]
    for step in range(1, options.num_inference_steps + 1):
        if options.inference_order == "sequential":
            for index in reversed(range(last)):
                # activities above are new by now, those from here down are not
                z[index] = z[index] - rate * slope(index, z, error(index + 1, z))
            continue
        slopes = [slope(index, z, error(index + 1, z)) for index in range(last)]
        if options.inference == "adam":
            means = [
                (0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2)
                for (m, v), g in zip(means, slopes, strict=True)
            ]
            slopes = [
                m / (1 - 0.9**step) / (jnp.sqrt(v / (1 - 0.999**step)) + 1e-8) for m, v in means
            ]
        z = [a - rate * g for a, g in zip(z, slopes, strict=True)]
    return [error(index, z) for index in range(last + 1)], z
