"""Training of residual networks with a smooth activation at infinite width, to first order in the block's scale.

Source: depth-mup App. E, Def. E.1, in a corrected form. The network is x^0 = U xi, x^l = x^{l-1} + c MS(phi(W^l
x^{l-1})), f = V^T x^L as in `depth_recursion`, with mean subtraction MS over units and c = a L^{-1/2} (Depth-muP). Each
block is expanded in the contribution of training to its preactivation,

    phi(h_t) = phi(z_t) + phi'(z_t) sum_{s<t} dh_s D_ts,   z_t = W_0 x_t,   D_ts = Gamma_{t,s,0,1} - eta C_{t,s,0},

up to O(1/L), and products over units are replaced by their means. x and dx remain linear combinations of the Gaussian
fields of MS(phi(z_s)) and W_0^T dh_s, with dh = phi'(h) dx. As its total remainder is O(L^{-1/2}), the recursion at L
blocks is a discretisation of the limit L -> infinity, with a discretisation error O(1/L), and not a limit of networks
with L blocks.

Def. E.1 as printed differs from networks. Corrected here: W_0^T dh has the covariance E[phi' phi'] C_{t,s,1}, not the
covariance of MS(phi) under C_1; dx^{l-1} also contains, with all expectations under C_0 of the block,

    x_s (s < t):  E[phi' phi'] Gamma_{t,s,1,0}, instead of Cov(phi', phi') Gamma, and E[phi'' phi''] C_{t,s,1} D_ts;
    x_t:          sum_{s<=t} E[phi''_t MS phi_s] Gamma_{t,s,1,0} + sum_{s<t} E[phi'''_t phi'_s] C_{t,s,1} D_ts
                  + E[phi'_t phi'_t] Gamma_{t,t,1,0}.

For activations with kinks, such as relu and abs, E[phi'' phi''] is infinite if two samples are equal, so there is no
such recursion.
"""

from functools import partial

from scaling_limits.cells import Cell
from scaling_limits.datasets.loading import Arrays
from scaling_limits.limits import depth_recursion
from scaling_limits.limits.gaussian_moments import SMOOTH, SPACING, moments, smooth
from scaling_limits.measured import Measured
from scaling_limits.networks.work import Count


def refuse(cell: Cell) -> None:
    """Reject cells without this limit.

    It describes residual networks of blocks of one layer, with a smooth activation after it and mean subtraction, and
    with frozen input and output weights. A single cell does not show whether branches and learning rates scale with
    depth as under Depth-muP.

    Raises:
        ConfigurationError: naming what is different.
    """
    depth_recursion.refuse(
        cell,
        activation=(cell.network.activation, sorted(SMOOTH)),
        activation_position=(cell.network.activation_position, ["after_weight"]),
        mean_subtraction=(cell.network.mean_subtraction, [True]),
    )


def compute(cell: Cell, arrays: Arrays) -> dict[str, Measured]:
    """Compute `train_loss` and the measurements `feature_sizes` and `feature_increments`; others are skipped."""
    hidden = cell.scaling["hidden"]
    size = hidden.multiplier * hidden.init_std * cell.network.width**0.5
    activation = smooth(cell.network.activation).scaled(size)
    return depth_recursion.measured(cell, arrays, hidden.branch, partial(moments, activation))


def work(cell: Cell, count: Count) -> None:
    """Add the work of the recursion, and of the activation at all nodes for each block and pair of tokens."""
    depth_recursion.work(cell, count)
    blocks, tokens = cell.network.num_hidden_layers - 1, depth_recursion.num_tokens(cell)
    # for a typical variance of one or two; an activation and two derivatives take as long as about 60 products
    nodes = 2 * SPACING**-2 * 18.0**2
    count.multiply_adds(60 * nodes * blocks * tokens**2 / 2)


memory = depth_recursion.memory
