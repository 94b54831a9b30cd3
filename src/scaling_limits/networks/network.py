"""A network is a sequence of segments: runs of equal nodes whose weights are stacked.

`Stacks` is a tuple over segments of arrays `[count, batch, units]`. Runs are scanned in the forward pass and batched in
`predictions`, so compile time does not grow with depth.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import NamedTuple, cast

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, PyTree

from scaling_limits.networks.draws import scaled_draws, seed_key

Params = tuple[PyTree, ...]
Scaling = Mapping[str, Mapping[str, PyTree]]
Stacks = tuple[Array, ...]


class Weights(NamedTuple):
    """The two groups of weights, or one object for each group, such as gradients or optimiser states.

    `feedback` is empty in networks without feedback nodes.
    """

    forward: PyTree
    feedback: PyTree = ()


@dataclass(frozen=True)
class Segment:
    """`count` equal nodes of one role; `first` is the 1-based index of the first of them.

    `role` is the key of the numbers of a node and its weight in `scaling`. For nodes with several weights, `weights`
    gives the key for each weight by the name of its module, as pairs, so that segments can be compared. `residual`
    nodes are `x + b g(x)` with the role's branch multiplier b.
    """

    node: nn.Module
    role: str
    count: int
    first: int
    weights: tuple[tuple[str, str], ...] = ()
    residual: bool = False

    @property
    def roles(self) -> PyTree:
        """The keys of the weights' numbers: one name for all weights, or one for each, as a prefix of their tree."""
        return dict(self.weights) or self.role

    def by_weight(self, stack: Mapping[str, PyTree]) -> list[tuple[str, PyTree]]:
        """Return the entry of each weight in a tree like the nodes' weights, with the key of its numbers.

        The order is the order of the network's `layers`.
        """
        # trees are ordered alphabetically
        own = self.weights or tuple((name, self.role) for name in stack)
        return [(role, stack[name]) for name, role in own]

    def numbers(self, scaling: Scaling) -> PyTree:
        """Return the argument with which a node is called: its role's numbers, or those of each weight by name."""
        return jax.tree.map(lambda role: scaling[role], self.roles)

    def apply(self, params: PyTree, scaling: Scaling, x: Array, statistics: PyTree = ()) -> Array:
        """Apply one node of the segment.

        Args:
            params: the weights of the node, without the axis over nodes.
            scaling: the numbers of the parameterisation, role -> quantity -> number.
            x: the input of the node `[batch, in]`.
            statistics: means and variances with which the node normalises; if empty, it uses those of `x`.

        Returns:
            The output of the node `[batch, out]`.
        """
        collections = {"params": params, **({"statistics": statistics} if statistics else {})}
        y: PyTree = self.node.apply(collections, x, self.numbers(scaling))
        return cast(Array, y)

    def observe(
        self, params: PyTree, scaling: Scaling, x: Array, shift: PyTree
    ) -> tuple[Array, PyTree]:
        """Apply one node and return the input of each of its kernels.

        Args:
            params: the weights of the node, without the axis over nodes.
            scaling: the numbers of the parameterisation, role -> quantity -> number.
            x: the input of the node `[batch, in]`.
            shift: added to the output of every kernel, before its multiplier: a tree like `params` with leaves `[batch,
                ..., out]`.

        Returns:
            The output `[batch, units]`, and the input of every kernel, a tree like `params` with leaves `[batch, ...,
            in]`.
        """
        collections = {"params": params, "perturbations": _renamed(shift, "output")}
        y, sown = self._sown("intermediates", collections, scaling, x)
        return y, _renamed(sown, "kernel")

    def statistics(self, params: PyTree, scaling: Scaling, x: Array) -> tuple[Array, PyTree]:
        """Apply one node; return its output and the statistics with which it normalises.

        The statistics are empty if the node does not normalise.
        """
        return self._sown("statistics", {"params": params}, scaling, x)

    def _sown(
        self, collection: str, variables: PyTree, scaling: Scaling, x: Array
    ) -> tuple[Array, PyTree]:
        y, changed = self.node.apply(variables, x, self.numbers(scaling), mutable=[collection])
        sown = changed.get(collection, {})
        # flax returns a tuple over calls, and each module is called once
        values = jax.tree.map(lambda calls: calls[0], sown, is_leaf=lambda v: type(v) is tuple)
        return cast(Array, y), values

    def indices(self) -> Array:
        """Return the 1-based layer indices `[count]`."""
        return jnp.arange(self.first, self.first + self.count)


@dataclass(frozen=True)
class Network:
    """Pure functions of `params` (a tuple over segments, each leaf stacked `[count, ...]`) and `scaling`.

    `scaling` maps a name in `Segment.roles` to its `init_std`, `multiplier` and `branch`. `linear` states that every
    node is a linear map. If there are feedback nodes, `feedback` has a segment for every segment above the first: its
    node g_l maps the outputs of node l to outputs of node l - 1 (pc-tp S.11).
    """

    segments: tuple[Segment, ...]
    input_dim: int
    linear: bool
    feedback: tuple[Segment, ...] = ()

    @property
    def num_weight_layers(self) -> int:
        """L, the number of nodes."""
        return sum(segment.count for segment in self.segments)

    def init(self, key: Array, scaling: Scaling, distribution: str, dtype: PyTree) -> Params:
        """Draw the weights: unit draws, which depend on (key, layer) only, times each role's `init_std`.

        Args:
            key: key of the seed (`draws.seed_key`).
            scaling: the numbers of the parameterisation, role -> quantity -> number.
            distribution: distribution of the unit draws: `normal`, `uniform` or `orthogonal`.
            dtype: floating-point type of the weights.

        Returns:
            The weights, for every segment a tree with leaves `[count, out, in]`.

        Raises:
            ConfigurationError: for an unknown distribution.
        """
        params, x = [], self._input(dtype)
        for segment in self.segments:
            x, segment_params = _draw(segment, "weights", x, key, scaling, distribution)
            params.append(segment_params)
        return tuple(params)

    def init_feedback(
        self, key: Array, scaling: Scaling, distribution: str, dtype: PyTree
    ) -> Params:
        """Draw the weights of the feedback nodes, as `init` draws the forward weights.

        Args:
            key: key of the seed (`draws.seed_key`); the draws differ from those of `init`.
            scaling: the numbers of the parameterisation, role -> quantity -> number, with those of feedback roles.
            distribution: distribution of the unit draws: `normal`, `uniform` or `orthogonal`.
            dtype: floating-point type of the weights.

        Returns:
            The weights, for every feedback segment a tree with leaves `[count, out, in]`; empty without feedback nodes.

        Raises:
            ConfigurationError: for an unknown distribution.
        """
        feedback, x = [], self._input(dtype)
        for segment, back in zip(self.segments, (None, *self.feedback), strict=False):
            x = _shapes(segment, x)[0]
            if back is not None:
                feedback.append(_draw(back, "feedback", x, key, scaling, distribution)[1])
        return tuple(feedback)

    def _input(self, dtype: PyTree) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((1, self.input_dim), dtype)

    def forward(
        self, params: Params, scaling: Scaling, x: Float[Array, "batch in"]
    ) -> Float[Array, "batch out"]:
        """Compute the output f(x)."""
        for segment, stacked in zip(self.segments, params, strict=True):
            x, _ = _run(segment, stacked, scaling, x, keep=False)
        return x

    def evaluate(
        self,
        params: Params,
        scaling: Scaling,
        x: Float[Array, "samples in"],
        reference: Float[Array, "some in"],
    ) -> Float[Array, "samples out"]:
        """Compute the output f(x), with batch norm by the statistics of reference samples.

        Each sample's output is therefore independent of the others. The number of samples computed at once is at most
        the number of samples in `reference`.

        Args:
            params: the weights, for every segment a tree with leaves `[count, out, in]`.
            scaling: the numbers of the parameterisation, role -> quantity -> number.
            x: inputs `[samples, in]`.
            reference: the samples whose means and variances normalise `[some, in]`.

        Returns:
            The outputs `[samples, out]`.
        """

        def normalising(segment: Segment, y: Array, stacked: PyTree) -> tuple[Array, PyTree]:
            return segment.statistics(stacked, scaling, y)

        def normalised(
            segment: Segment, y: Array, entry: tuple[PyTree, PyTree]
        ) -> tuple[Array, None]:
            return segment.apply(entry[0], scaling, y, entry[1]), None

        entries: list[tuple[PyTree, PyTree]] = []
        for segment, stacked in zip(self.segments, params, strict=True):
            step = partial(normalising, segment)
            reference, statistics = _through(segment, step, reference, stacked)
            entries.append((stacked, statistics))

        def output(y: Array) -> Array:
            for segment, entry in zip(self.segments, entries, strict=True):
                y, _ = _through(segment, partial(normalised, segment), y, entry)
            return y

        return _in_chunks(output, x, len(reference))

    def activities(self, params: Params, scaling: Scaling, x: Float[Array, "batch in"]) -> Stacks:
        """Compute the outputs of all nodes in the forward pass; the last is f(x)."""
        stacks = []
        for segment, stacked in zip(self.segments, params, strict=True):
            x, kept = _run(segment, stacked, scaling, x, keep=True)
            stacks.append(kept)
        return tuple(stacks)

    def predictions(self, params: Params, scaling: Scaling, inputs: Stacks) -> Stacks:
        """Compute the output of every node for its given input, batched over each run of equal nodes."""
        return _batched(self.segments, params, scaling, inputs)

    def reconstructions(self, feedback: Params, scaling: Scaling, outputs: Stacks) -> Stacks:
        """Compute the output of every feedback node g_l from the given outputs of node l = 2..L."""
        return _batched(self.feedback, feedback, scaling, outputs)

    def observed(
        self, params: Params, scaling: Scaling, x: Float[Array, "batch in"], shifts: Params
    ) -> tuple[Float[Array, "batch out"], Params]:
        """Compute the output f(x) and the input of every kernel.

        Derivatives with respect to `shifts`, at zero, are the cotangents of the kernels' outputs.

        Args:
            params: the weights, for every segment a tree with leaves `[count, out, in]`.
            scaling: the numbers of the parameterisation, role -> quantity -> number.
            x: inputs `[batch, in]`.
            shifts: added to the output of every kernel, before its multiplier: a tree like `params` with leaves
                `[count, batch, ..., out]`.

        Returns:
            The output `[batch, out]`, and the inputs of all kernels: a tree like `params` with leaves `[count, batch,
            ..., in]`, with the positions of convolutions in between.
        """

        def step(segment: Segment, y: Array, entry: tuple[PyTree, PyTree]) -> tuple[Array, PyTree]:
            return segment.observe(entry[0], scaling, y, entry[1])

        observed = []
        for segment, *entry in zip(self.segments, params, shifts, strict=True):
            x, inputs = _through(segment, partial(step, segment), x, tuple(entry))
            observed.append(inputs)
        return x, tuple(observed)

    def shifts(self, x: Float[Array, "batch in"]) -> Params:
        """Return zeros in the form that `observed` takes."""
        shape, zeros = jax.ShapeDtypeStruct(x.shape, x.dtype), []
        for segment in self.segments:
            shape, variables = _shapes(segment, shape)
            outputs = _renamed(variables.get("perturbations", {}), "kernel")
            zeros.append(
                jax.tree.map(lambda s, n=segment.count: jnp.zeros((n, *s.shape), s.dtype), outputs)
            )
        return tuple(zeros)

    def top(self, count: int) -> "Network":
        """Return the network of the last `count` nodes; `top_of` slices its parameters and stacks."""
        segments: list[Segment] = []
        for segment in reversed(self.segments):
            kept = min(count, segment.count)
            if kept:
                first = segment.first + segment.count - kept
                segments.insert(0, replace(segment, count=kept, first=first))
            count -= kept
        return Network(tuple(segments), self.input_dim, self.linear)


def top_of(stacks: tuple[PyTree, ...], network: Network) -> tuple[PyTree, ...]:
    """Return the slices of a full network's stacks (or parameters) that belong to `network = full.top(count)`."""
    chosen = stacks[len(stacks) - len(network.segments) :]
    return tuple(
        jax.tree.map(lambda leaf, n=segment.count: leaf[leaf.shape[0] - n :], stack)
        for segment, stack in zip(network.segments, chosen, strict=True)
    )


def shift_down(first: Array, stacks: Stacks) -> Stacks:
    """Move every entry to the next node above: `first [batch, units]` enters, and the last entry leaves.

    This turns the outputs of all nodes and the network's input into the inputs of all nodes.
    """
    shifted = []
    for stack in stacks:
        # a segment with a single entry may change its number of units
        kept = [stack[:-1]] if stack.shape[0] > 1 else []
        shifted.append(jnp.concatenate([first[None], *kept]))
        first = stack[-1]
    return tuple(shifted)


def add_shifted_down(onto: Stacks, first: Array, stacks: Stacks) -> Stacks:
    """Compute `onto + shift_down(first, stacks)` in place.

    On a CPU, loops over a concatenation are several times slower.
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
    """Compute `onto + shift_up(stacks, last)` in place, as in `add_shifted_down`.

    The sum is stored before it is used, whereas loops over a concatenation are repeated by each user.
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
    """Move every entry to the node below: `last [batch, units]` enters at the top, and the first entry leaves."""
    shifted: list[Array] = []
    for stack in reversed(stacks):
        kept = [stack[1:]] if stack.shape[0] > 1 else []
        shifted.insert(0, jnp.concatenate([*kept, last[None]]))
        last = stack[0]
    return tuple(shifted)


@cache
def _shapes(segment: Segment, x: jax.ShapeDtypeStruct) -> tuple[PyTree, PyTree]:
    """Return the shapes of a node's output and variables, given the shape of its input; its numbers do not matter."""
    numbers = jax.tree.map(lambda _: {"multiplier": 1.0, "branch": 1.0}, segment.roles)
    key = jax.eval_shape(lambda: seed_key(0))
    shapes: tuple[PyTree, PyTree] = jax.eval_shape(segment.node.init_with_output, key, x, numbers)
    return shapes


def _draw(
    segment: Segment, purpose: str, x: PyTree, key: Array, scaling: Scaling, distribution: str
) -> tuple[PyTree, PyTree]:
    """Return the shape of a segment's output and its stacked weights, given the shape of its input."""
    y, variables = _shapes(segment, x)
    layers, own = (segment.first, segment.count), dict(segment.weights)

    def draw(path: PyTree, leaf: PyTree) -> Array:
        name, role = purpose + jax.tree_util.keystr(path), own.get(path[0].key, segment.role)
        return scaled_draws(key, name, layers, scaling[role]["init_std"], leaf, distribution)

    return y, jax.tree_util.tree_map_with_path(draw, variables.get("params", {}))


def _batched(
    segments: tuple[Segment, ...], params: Params, scaling: Scaling, inputs: Stacks
) -> Stacks:
    return tuple(
        jax.vmap(lambda p, x, segment=segment: segment.apply(p, scaling, x))(stacked, x)
        for segment, stacked, x in zip(segments, params, inputs, strict=True)
    )


def _run(
    segment: Segment, stacked: PyTree, scaling: Scaling, x: Array, *, keep: bool
) -> tuple[Array, PyTree]:
    def step(x: Array, params: PyTree) -> tuple[Array, Array | None]:
        y = segment.apply(params, scaling, x)
        return y, y if keep else None

    return _through(segment, step, x, stacked)


def _through(
    segment: Segment,
    step: Callable[[Array, PyTree], tuple[Array, PyTree]],
    x: Array,
    entries: PyTree,
) -> tuple[Array, PyTree]:
    """Apply `step(x, entry) -> (y, kept)` to all nodes of a segment; entries and results are stacked `[count, ...]`."""
    if segment.count == 1:
        y, kept = step(x, jax.tree.map(lambda leaf: leaf[0], entries))
        return y, jax.tree.map(lambda leaf: leaf[None], kept)
    through: tuple[Array, PyTree] = jax.lax.scan(step, x, entries)
    return through


def _in_chunks(run: Callable[[Array], Array], x: Float[Array, "samples in"], most: int) -> Array:
    """Compute `run(x)` for at most `most` samples at once."""
    count = -(-len(x) // most)
    if count == 1:
        return run(x)
    size = -(-len(x) // count)
    padded = jnp.pad(x, ((0, count * size - len(x)), (0, 0)))
    y: Array = jax.lax.map(run, padded.reshape(count, size, -1))
    return y.reshape(count * size, -1)[: len(x)]


def _renamed(operations: Mapping[str, PyTree], name: str) -> dict[str, PyTree]:
    """Return the arrays of each of a node's linear operations (its kernel, input or output), each under `name`."""
    renamed: dict[str, PyTree] = {}
    for key, part in operations.items():
        if isinstance(part, Mapping):
            renamed[key] = _renamed(part, name)
        else:
            renamed[name] = part
    return renamed
