"""Means over initialisations of the energy's rescaling s, or of the diagonal of S - I, exact at any width.

N is the width and L the number of weight layers. These are exact forms of the orders of magnitude in pcn-limits Eq. 16,
19, 47 and 107.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax import Array


def mean_field_mlp(width: float, num_weight_layers: int, output_scale: float = 1.0) -> float:
    """Return E[s] - 1 = (L - 1) / (gamma_0^2 N) of mean-field MLPs."""
    return (num_weight_layers - 1) / (output_scale**2 * width)


def mean_field_residual(
    width: float, num_weight_layers: int, output_scale: float = 1.0, depth_exponent: float = 0.5
) -> float:
    """Return E[s] - 1 = 1/(gamma_0^2 N) sum_{j=0}^{L-2} (1 + L^{-2 alpha})^j of mean-field residual networks and muPC.

    Args:
        width: N.
        num_weight_layers: L.
        output_scale: gamma_0.
        depth_exponent: alpha.

    Returns:
        E[s] - 1.
    """
    growth: float = 1.0 + num_weight_layers ** (-2.0 * depth_exponent)
    total = sum(growth**j for j in range(num_weight_layers - 1))
    return total / (output_scale**2 * width)


def standard_uniform_mlp(num_weight_layers: int) -> float:
    """Return E[s] - 1 = sum_{j=1}^{L-1} 3^{-j} of MLPs with PyTorch's uniform draws, at any width."""
    return sum(3.0**-j for j in range(1, num_weight_layers))


def mean_excess(
    *,
    width: int,
    num_weight_layers: int,
    skip: bool,
    hidden_scale: "Array | float",
    output_scale: "Array | float",
) -> "Array | float":
    """Return E[s] - 1 for any parameterisation: N o^2 sum_{j=0}^{L-2} g^j, with g = N h^2 [+ 1 with skips].

    The other functions of this module are its special cases.

    Args:
        width: N.
        num_weight_layers: L.
        skip: whether hidden layers add their input.
        hidden_scale: h, multiplier times standard deviation of the hidden weights, a number or an array.
        output_scale: o, the same product for the output weights.

    Returns:
        E[s] - 1, in the shape to which `hidden_scale` and `output_scale` broadcast.
    """
    gain = width * hidden_scale**2 + float(skip)
    # by Horner's rule, because the compiler turns powers into N^j (h^2)^j, which overflows times zero
    total: Array | float = 1.0
    for _ in range(num_weight_layers - 2):
        total = 1.0 + gain * total
    return width * output_scale**2 * total
