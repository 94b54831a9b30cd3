"""Nodes of fully connected networks, all built from one linear operation."""

from collections.abc import Callable, Mapping

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, PyTree

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "linear": lambda x: x,
    "tanh": jnp.tanh,
    "relu": jax.nn.relu,
    "abs": jnp.abs,
    "gelu": lambda x: jax.nn.gelu(x, approximate=False),
    "erf": jax.scipy.special.erf,
}

RoleNumbers = Mapping[str, PyTree]

VARIANCE_ADDED = 1e-5
"""Constant added to variances, PyTorch's default; a channel or layer with equal entries is normalised to zero."""


@jax.custom_jvp
def _times_transpose(
    x: Float[Array, "*batch in"], kernel: Float[Array, "features in"]
) -> Float[Array, "*batch features"]:
    """Compute `x @ kernel.T` as the transpose of `kernel @ x.T`.

    On a CPU, a product takes up to three times as long if its right factor has to be transposed and is the larger one.
    The barrier prevents the compiler from exchanging the factors.
    """
    product = jnp.tensordot(kernel, x, (1, -1))
    return jnp.moveaxis(jax.lax.optimization_barrier(product), 0, -1)


@_times_transpose.defjvp
def _(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    (x, kernel), (dx, dkernel) = primals, tangents
    # not `dx @ kernel.T`, because a transposed copy of the kernel would be kept for the backward pass
    dy = jnp.tensordot(dx, kernel, (-1, 1)) + jnp.tensordot(x, dkernel, (-1, 1))
    return _times_transpose(x, kernel), dy


class Linear(nn.Module):
    """`y = multiplier * x @ kernel.T`, without bias; `kernel` is `[features, in]` and drawn elsewhere.

    Its input is sown as `intermediates/input`. The cotangent of the kernel's output, before the multiplier, is the
    gradient with respect to `perturbations/output`. Both cost nothing unless the collection is requested.
    """

    features: int

    @nn.compact
    def __call__(
        self, x: Float[Array, "*batch in"], multiplier: Array | float
    ) -> Float[Array, "*batch features"]:
        """Apply the weight to the last axis."""
        kernel = self.param("kernel", nn.initializers.zeros, (self.features, x.shape[-1]), x.dtype)
        self.sow("intermediates", "input", x)
        product = _times_transpose(x, kernel) if kernel.size > x.size else x @ kernel.T
        product = self.perturb("output", product)
        return jnp.asarray(multiplier, x.dtype) * product


class BatchNorm(nn.Module):
    """Batch norm without gain and shift.

    Each channel is normalised by its mean and standard deviation over all samples and positions of the batch, or by the
    given `statistics`. Mean and variance are sown as `statistics`, which costs nothing unless they are requested.
    """

    @nn.compact
    def __call__(self, x: Float[Array, "*batch channels"]) -> Float[Array, "*batch channels"]:
        """Normalise the last axis; the variance is the population variance of the batch."""
        if self.has_variable("statistics", "mean"):
            centred = x - self.get_variable("statistics", "mean")
            variance: Array = self.get_variable("statistics", "variance")
        else:
            axes = tuple(range(x.ndim - 1))
            mean = x.mean(axes, keepdims=True)
            centred = x - mean
            variance = (centred**2).mean(axes, keepdims=True)
            self.sow("statistics", "mean", mean)
            self.sow("statistics", "variance", variance)
        normalised: Array = centred * jax.lax.rsqrt(variance + VARIANCE_ADDED)
        return normalised


def layer_normalised(x: Float[Array, "*batch units"]) -> Float[Array, "*batch units"]:
    """Normalise the last axis to mean 0 and variance 1, without gain and shift (layer norm)."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(axis=-1, keepdims=True) + VARIANCE_ADDED)


class Layer(nn.Module):
    """One node of an MLP.

    A layer computes `f(x) = after(a W before(x))`. With a skip, it is a residual block `x + b MS(f_k(... f_1(LN(x))))`
    of one or several layers (depth-mup Sec. 6.3 and 9). `a` is the multiplier of a layer's role and `b` the branch
    multiplier. `mean_subtraction` subtracts the mean over units at the end of the branch (MS), and `layer_norm`
    normalises the input of the branch (LN).

    Args:
        layers: names of the layers of a block with several layers.
    """

    features: int
    before: str
    after: str
    skip: bool = False
    mean_subtraction: bool = False
    layer_norm: bool = False
    layers: tuple[str, ...] = ()

    @nn.compact
    def __call__(
        self, x: Float[Array, "*batch in"], numbers: RoleNumbers
    ) -> Float[Array, "*batch features"]:
        """Apply the node; `numbers` is the scaling of its role, or of each of its `layers` by name."""
        own = [(name, numbers[name]) for name in self.layers] or [("linear", numbers)]
        y = layer_normalised(x) if self.layer_norm else x
        for name, each in own:
            linear = Linear(self.features, name=name)
            y = ACTIVATIONS[self.after](linear(ACTIVATIONS[self.before](y), each["multiplier"]))
        if self.mean_subtraction:
            y = y - y.mean(axis=-1, keepdims=True)
        return x + jnp.asarray(own[-1][1]["branch"], x.dtype) * y if self.skip else y
