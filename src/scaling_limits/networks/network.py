"""A network is a sequence of segments: runs of equal nodes whose weights are stacked.

`Stacks` is a tuple over segments of arrays `[count, batch, units]`. Runs are scanned in the forward
pass and batched in `predictions`, so compile time does not grow with depth.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, cast

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from scaling_limits.networks.draws import scaled_draws

Params = tuple[Any, ...]
Scaling = Mapping[str, Mapping[str, Any]]
Stacks = tuple[Array, ...]


class Weights(NamedTuple):
    """The two groups of weights, or something for each: gradients, states of the optimiser.

    `feedback` is empty in networks without feedback nodes.
    """

    forward: Any
    feedback: Any = ()


@dataclass(frozen=True)
class Segment:
    """`count` equal nodes of one role; `first` is the 1-based index of the first of them."""

    node: nn.Module
    role: str
    count: int
    first: int

    def apply(self, params: Any, scaling: Scaling, x: Array) -> Array:
        """One node of the segment: `params` without the stacking axis, `x` and the result `[batch,
        units]`.
        """
        y: Any = self.node.apply({"params": params}, x, scaling[self.role])
        return cast(Array, y)

    def observe(self, params: Any, scaling: Scaling, x: Array, shift: Any) -> tuple[Array, Any]:
        """As `apply`, with `shift` added to what comes out of every kernel, and what enters each."""
        collections = {"params": params, "perturbations": _renamed(shift, "output")}
        numbers = scaling[self.role]
        y, sown = self.node.apply(collections, x, numbers, mutable=["intermediates"])
        entering = _renamed(sown["intermediates"], "kernel")
        # flax keeps a tuple of all calls, and each is called once
        inputs = jax.tree.map(lambda calls: calls[0], entering, is_leaf=lambda v: type(v) is tuple)
        return cast(Array, y), inputs

    def indices(self) -> Array:
        """The 1-based layer indices `[count]`."""
        return jnp.arange(self.first, self.first + self.count)


@dataclass(frozen=True)
class Network:
    """Pure functions of `params` (a tuple over segments, each leaf stacked `[count, ...]`) and
    `scaling`.

    `scaling` maps a role to its `init_std`, `multiplier` and `branch`. `linear` says that every node is a
    linear map. `feedback`, if there are feedback nodes, has a segment for every segment above the
    first: its node g_l maps the outputs of node l to outputs of node l - 1 (pc-tp S.11).
    """

    segments: tuple[Segment, ...]
    input_dim: int
    linear: bool
    feedback: tuple[Segment, ...] = ()

    @property
    def num_weight_layers(self) -> int:
        """L, the number of nodes."""
        return sum(segment.count for segment in self.segments)

    def init(self, key: Array, scaling: Scaling, distribution: str, dtype: Any) -> Params:
        """Unit draws, which depend on (key, layer) only, times each role's `init_std`.

        Raises:
            ConfigurationError: for an unknown distribution.
        """
        params, x = [], self._input(dtype)
        for segment in self.segments:
            x, drawn = _draw(segment, "weights", x, key, scaling, distribution)
            params.append(drawn)
        return tuple(params)

    def init_feedback(self, key: Array, scaling: Scaling, distribution: str, dtype: Any) -> Params:
        """The weights of the feedback nodes, as `init` draws the others; raises as it does."""
        feedback, x = [], self._input(dtype)
        for segment, back in zip(self.segments, (None, *self.feedback), strict=False):
            x = _shapes(segment, x)[0]
            if back is not None:
                feedback.append(_draw(back, "feedback", x, key, scaling, distribution)[1])
        return tuple(feedback)

    def _input(self, dtype: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((1, self.input_dim), dtype)

    def forward(
        self, params: Params, scaling: Scaling, x: Float[Array, "batch in"]
    ) -> Float[Array, "batch out"]:
        """The output f(x)."""
        for segment, stacked in zip(self.segments, params, strict=True):
            x, _ = _run(segment, stacked, scaling, x, keep=False)
        return x

    def activities(self, params: Params, scaling: Scaling, x: Float[Array, "batch in"]) -> Stacks:
        """The outputs of all nodes in the forward pass; the last is f(x)."""
        stacks = []
        for segment, stacked in zip(self.segments, params, strict=True):
            x, kept = _run(segment, stacked, scaling, x, keep=True)
            stacks.append(kept)
        return tuple(stacks)

    def predictions(self, params: Params, scaling: Scaling, inputs: Stacks) -> Stacks:
        """The output of every node for its own input, batched over each run of equal nodes."""
        return _batched(self.segments, params, scaling, inputs)

    def reconstructions(self, feedback: Params, scaling: Scaling, outputs: Stacks) -> Stacks:
        """The output of every feedback node g_l at its own argument, outputs of node l = 2..L."""
        return _batched(self.feedback, feedback, scaling, outputs)

    def observed(
        self, params: Params, scaling: Scaling, x: Float[Array, "batch in"], shifts: Params
    ) -> tuple[Float[Array, "batch out"], Params]:
        """The output, and what every kernel is applied to: trees like `params` whose leaves are
        `[count, batch, ..., in]`, with the positions of convolutions in between.

        `shifts`, like them with `[..., out]`, are added to what comes out of the kernels, before their
        multipliers: derivatives by them, at zero, are the cotangents there.
        """
        observed = []
        for segment, stacked, shift in zip(self.segments, params, shifts, strict=True):
            x, inputs = _run_observed(segment, stacked, scaling, x, shift)
            observed.append(inputs)
        return x, tuple(observed)

    def shifts(self, x: Float[Array, "batch in"]) -> Params:
        """The zeros that `observed` takes."""
        shape, zeros = jax.ShapeDtypeStruct(x.shape, x.dtype), []
        for segment in self.segments:
            shape, variables = _shapes(segment, shape)
            outputs = _renamed(variables["perturbations"], "kernel")
            zeros.append(
                jax.tree.map(lambda s, n=segment.count: jnp.zeros((n, *s.shape), s.dtype), outputs)
            )
        return tuple(zeros)

    def top(self, count: int) -> "Network":
        """The network of the last `count` nodes; `top_of` slices its parameters and stacks."""
        segments: list[Segment] = []
        for segment in reversed(self.segments):
            kept = min(count, segment.count)
            if kept:
                first = segment.first + segment.count - kept
                segments.insert(0, Segment(segment.node, segment.role, kept, first))
            count -= kept
        return Network(tuple(segments), self.input_dim, self.linear)


def top_of(stacks: tuple[Any, ...], network: Network) -> tuple[Any, ...]:
    """Those slices of a full network's stacks (or parameters) that belong to `network =
    full.top(count)`.
    """
    chosen = stacks[len(stacks) - len(network.segments) :]
    return tuple(
        jax.tree.map(lambda leaf, n=segment.count: leaf[leaf.shape[0] - n :], stack)
        for segment, stack in zip(network.segments, chosen, strict=True)
    )


def shift_down(first: Array, stacks: Stacks) -> Stacks:
    """Move every entry to the next node above: `first [batch, units]` enters, the last entry
    leaves.

    From the outputs of all nodes and the network's input, this makes the inputs of all nodes.
    """
    shifted = []
    for stack in stacks:
        # a single entry may change its number of units
        kept = [stack[:-1]] if stack.shape[0] > 1 else []
        shifted.append(jnp.concatenate([first[None], *kept]))
        first = stack[-1]
    return tuple(shifted)


def add_shifted_down(onto: Stacks, first: Array, stacks: Stacks) -> Stacks:
    """`onto + shift_down(first, stacks)`, added in place: on a CPU, loops over a concatenation are
    several times as slow.
    """
    sums = []
    for total, stack in zip(onto, stacks, strict=True):
        total = jax.lax.dynamic_update_slice_in_dim(total, total[:1] + first[None], 0, axis=0)
        if stack.shape[0] > 1:
            raised = total[1:] + stack[:-1]
            total = jax.lax.dynamic_update_slice_in_dim(total, raised, 1, axis=0)
        sums.append(total)
        first = stack[-1]
    return tuple(sums)


def add_shifted_up(onto: Stacks, stacks: Stacks, last: Array) -> Stacks:
    """`onto + shift_up(stacks, last)`, added in place as in `add_shifted_down`.

    The sum is stored before it is used, where loops over a concatenation are repeated by each user.
    """
    sums: list[Array] = []
    for total, stack in reversed(list(zip(onto, stacks, strict=True))):
        top = stack.shape[0] - 1
        total = jax.lax.dynamic_update_slice_in_dim(total, total[-1:] + last[None], top, axis=0)
        if top > 0:
            lowered = total[:-1] + stack[1:]
            total = jax.lax.dynamic_update_slice_in_dim(total, lowered, 0, axis=0)
        sums.insert(0, total)
        last = stack[0]
    return tuple(sums)


def shift_up(stacks: Stacks, last: Array) -> Stacks:
    """Move every entry to the node below: `last [batch, units]` enters at the top, the first entry
    leaves.
    """
    shifted: list[Array] = []
    for stack in reversed(stacks):
        kept = [stack[1:]] if stack.shape[0] > 1 else []
        shifted.insert(0, jnp.concatenate([*kept, last[None]]))
        last = stack[0]
    return tuple(shifted)


@cache
def _shapes(segment: Segment, x: jax.ShapeDtypeStruct) -> tuple[Any, Any]:
    """Shapes of a node's output and of its variables, from that of its input; its numbers do not matter."""
    numbers = {"multiplier": 1.0, "branch": 1.0}
    key = jax.eval_shape(lambda: jax.random.key(0))
    shapes: tuple[Any, Any] = jax.eval_shape(segment.node.init_with_output, key, x, numbers)
    return shapes


def _draw(
    segment: Segment, purpose: str, x: Any, key: Array, scaling: Scaling, distribution: str
) -> tuple[Any, Any]:
    """The shape of a segment's output and its stacked weights, from the shape of its input."""
    y, variables = _shapes(segment, x)
    layers, std = (segment.first, segment.count), scaling[segment.role]["init_std"]

    def draw(path: Any, leaf: Any) -> Array:
        name = purpose + jax.tree_util.keystr(path)
        return scaled_draws(key, name, layers, std, leaf, distribution)

    return y, jax.tree_util.tree_map_with_path(draw, variables["params"])


def _batched(
    segments: tuple[Segment, ...], params: Params, scaling: Scaling, inputs: Stacks
) -> Stacks:
    return tuple(
        jax.vmap(lambda p, x, segment=segment: segment.apply(p, scaling, x))(stacked, x)
        for segment, stacked, x in zip(segments, params, inputs, strict=True)
    )


def _run(
    segment: Segment, stacked: Any, scaling: Scaling, x: Array, *, keep: bool
) -> tuple[Array, Any]:
    if segment.count == 1:
        y = segment.apply(jax.tree.map(lambda leaf: leaf[0], stacked), scaling, x)
        return y, y[None] if keep else None

    def step(x: Array, params: Any) -> tuple[Array, Array | None]:
        y = segment.apply(params, scaling, x)
        return y, y if keep else None

    return jax.lax.scan(step, x, stacked)


def _run_observed(
    segment: Segment, stacked: Any, scaling: Scaling, x: Array, shifts: Any
) -> tuple[Array, Any]:
    if segment.count == 1:
        params, shift = jax.tree.map(lambda leaf: leaf[0], (stacked, shifts))
        y, inputs = segment.observe(params, scaling, x, shift)
        return y, jax.tree.map(lambda leaf: leaf[None], inputs)
    return jax.lax.scan(
        lambda x, node: segment.observe(node[0], scaling, x, node[1]), x, (stacked, shifts)
    )


def _renamed(operations: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What belongs to each of a node's linear operations (its kernel, input or output) under `name`."""
    renamed: dict[str, Any] = {}
    for key, part in operations.items():
        if isinstance(part, Mapping):
            renamed[key] = _renamed(part, name)
        else:
            renamed[name] = part
    return renamed
