"""Residual networks, VGG and Myrtle-5 written out with XLA's convolutions, in float64."""

import jax
import jax.numpy as jnp
from image_networks import cell

STAGES = {4: (1, 1, 1, 1), 8: (2, 2, 2, 2)}
VGG = {6: (1, 1, 1, 1, 1), 9: (1, 1, 2, 2, 2)}


def resnet(name="resnet_basic", depth=4, **changes):
    """A small one."""
    own = {"width": 1, "input_shape": [8, 8], "dtype": "float64", "parameterisation": "mup"}
    return cell(**{"network": name, "depth": depth, "depth_kind": "blocks"} | own | changes)


def vgg(depth=6, **changes):
    own = {"width": 1, "input_shape": [32, 32], "dtype": "float64", "parameterisation": "mup"}
    return cell(network="vgg", depth=depth, **own | changes)


def kernels(params):
    """[features, fan_in] of every node: a list by its names, stacked nodes one after the other."""
    found = []
    for stack in params:
        leaves = {name: part["kernel"] for name, part in stack.items()}
        count = len(next(iter(leaves.values())))
        found += [{name: leaf[i] for name, leaf in leaves.items()} for i in range(count)]
    return found


def convolved(x, kernel, size, stride=1):
    """With half the kernel's size of padding; rows of the kernel are windows by rows, columns and channels."""
    pad = size // 2
    weight = jnp.transpose(kernel.reshape(-1, size, size, x.shape[-1]), (1, 2, 3, 0))
    return jax.lax.conv_general_dilated(
        x,
        weight,
        (stride, stride),
        ((pad, pad), (pad, pad)),
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )


def normalised(x, known):
    """By mean and variance of the first `known` samples."""
    some = x[:known]
    mean, variance = some.mean((0, 1, 2), keepdims=True), some.var((0, 1, 2), keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5)


def plain_resnet(own, params, x, known, phi):
    """He et al. 2016: multipliers are one at width 1."""
    bottleneck = own.network.name == "resnet_bottleneck"
    stem, *blocks, output = kernels(params)
    u = normalised(convolved(x.reshape(-1, *own.network.input_shape, 1), stem["linear"], 3), known)
    for stage, count in enumerate(STAGES[len(blocks)]):
        for number in range(count):
            weights, stride = blocks.pop(0), 2 if stage and number == 0 else 1
            h = phi(u)
            sizes = [(1, 1), (3, stride), (1, 1)] if bottleneck else [(3, stride), (3, 1)]
            v = h
            for place, (size, step) in enumerate(sizes, start=1):
                v = normalised(convolved(v, weights[f"branch_{place}"], size, step), known)
                v = phi(v) if place < len(sizes) else v
            if "shortcut" in weights:
                h = normalised(convolved(h, weights["shortcut"], 1, stride), known)
            u = v + h
    assert not blocks
    return phi(u).mean((1, 2)) @ output["linear"].T


def pooled(x, reduce):
    batch, height, width, channels = x.shape
    x = x[:, : height // 2 * 2, : width // 2 * 2]
    return reduce(x.reshape(batch, height // 2, 2, width // 2, 2, channels), axis=(2, 4))


def plain_vgg(own, params, x, known, phi):
    *layers, output = (each["linear"] for each in kernels(params))
    u = x.reshape(-1, *own.network.input_shape, 1)
    for count in VGG[len(layers) + 1]:
        for _ in range(count):
            u = phi(normalised(convolved(u, layers.pop(0), 3), known))
        u = pooled(u, jnp.max)
    return u.reshape(len(u), -1) @ output.T


def plain_myrtle(own, params, x, phi):
    first, second, third, fourth, output = (each["linear"] for each in kernels(params))
    u = phi(convolved(x.reshape(-1, *own.network.input_shape, 1), first, 3))
    u = pooled(phi(convolved(u, second, 3)), jnp.mean)
    u = pooled(phi(convolved(u, third, 3)), jnp.mean)
    u = phi(convolved(u, fourth, 3))
    while u.shape[1] > 1:
        u = pooled(u, jnp.mean)
    return u.reshape(len(u), -1) @ output.T
