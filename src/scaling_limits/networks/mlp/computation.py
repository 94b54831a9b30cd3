"""Fully connected networks of H hidden layers without biases, with or without skips."""

from scaling_limits.cells import NetworkSpec
from scaling_limits.networks.blocks import layer_names
from scaling_limits.networks.network import Network, Segment
from scaling_limits.networks.nodes import Layer


def build(spec: NetworkSpec) -> Network:
    """Build the input layer, H - 1 equal hidden layers (which may have skips), and the output layer (mupc Eq. 1).

    `before_weight`: layer l computes `a_l W_l phi(z_{l-1}) [+ z_{l-1}]`, with phi the identity on the network's input.
    `after_weight`: layer l computes `phi(a_l W_l z_{l-1}) [+ z_{l-1}]`, with a linear output layer and, with skips,
    also a linear input layer (depth-mup Sec. 6.3). Residual blocks may have several layers and layer norm
    (`nodes.Layer`); a block is one node. With `feedback` psi, there are feedback nodes `psi(a Q_l z_l)` from each layer
    l > 1 (pc-tp S.11).
    """
    first = spec.activation_position == "before_weight"
    before, after = (spec.activation, "linear") if first else ("linear", spec.activation)
    entry = Layer(spec.width, "linear", "linear" if spec.skip else after)
    segments = [Segment(node=entry, role="input", count=1, first=1)]
    if spec.num_hidden_layers > 1:
        names = layer_names(spec.block_depth)
        several = names if len(names) > 1 else ()
        branch = (spec.skip, spec.mean_subtraction, spec.layer_norm, several)
        segments.append(
            Segment(
                node=Layer(spec.width, before, after, *branch),
                role=names[0],
                count=spec.num_hidden_layers - 1,
                first=2,
                weights=tuple((name, name) for name in several),
                residual=spec.skip,
            )
        )
    output = Layer(spec.output_dim, before, "linear")
    segments.append(Segment(node=output, role="output", count=1, first=spec.num_hidden_layers + 1))
    linear = spec.activation == "linear" and not spec.layer_norm
    return Network(tuple(segments), spec.input_dim, linear, _feedback(spec))


def _feedback(spec: NetworkSpec) -> tuple[Segment, ...]:
    """Return the segments of g_l(x) = psi(a Q_l x) for l = 2..L."""
    if spec.feedback is None:
        return ()
    node = Layer(spec.width, "linear", spec.feedback)
    last = spec.num_hidden_layers + 1
    hidden = [Segment(node, "feedback_hidden", last - 2, 2)] if last > 2 else []
    return (*hidden, Segment(node, "feedback_output", 1, last))
