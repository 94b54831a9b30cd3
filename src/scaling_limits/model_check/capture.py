"""Layers: the modules of a model in the order of its forward pass, with their own weights."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scaling_limits.errors import ConfigurationError
from scaling_limits.model_check.models import OUTPUT, Model

if TYPE_CHECKING:
    from jax import Array
    from jax.extend.core import JaxprEqn
    from jaxtyping import PyTree

WHOLE_MODEL = "output"
"""The name of the output layer of a model without a module of the output's shape."""
Shape = tuple[int, ...]


@dataclass(frozen=True)
class LayerShape:
    """A layer of a model of one size.

    Attributes:
        name: the path of its module.
        captured: names its features among those captured.
        shape: that of its features.
        weights: the shapes of its own parameters with two or more axes, by path.
        sources: the layers that its features are computed from without another layer between.
    """

    name: str
    captured: str
    shape: Shape
    weights: Mapping[str, Shape]
    sources: frozenset[str]


@dataclass(frozen=True)
class ModelShape:
    """The layers of a model in the order of its forward pass, the output layer last, and all parameters by path."""

    layers: tuple[LayerShape, ...]
    parameters: Mapping[str, Shape]

    @property
    def output(self) -> LayerShape:
        """The output layer."""
        return self.layers[-1]

    def reaching_output(self, without: Collection[str]) -> set[str]:
        """Return the layers that the output depends on by a path that avoids the layers `without`."""
        reached = {self.output.name}
        # in the order of the forward pass, sources come first
        for layer in reversed(self.layers):
            if layer.name in reached:
                reached |= layer.sources - set(without)
        return reached


def layer_of(path: str) -> str:
    """Return the name of the layer that owns the parameter at a path."""
    return path.rpartition("/")[0] or path


def shape_of(model: Model, x: Array) -> ModelShape:
    """Return the layers and parameters of a model by tracing it; nothing is computed."""
    import jax

    from scaling_limits.mup_rules.leaves import by_path

    params, state = jax.eval_shape(model.init, jax.random.key(0), x)
    names: list[str] = []

    def forward(params: PyTree, state: PyTree) -> list[Array]:
        captured = model.apply(params, state, x)
        features = {**captured.features, OUTPUT: captured.outputs}
        names[:] = features
        return list(features.values())

    traced, arrays = jax.make_jaxpr(forward, return_shape=True)(params, state)
    position = {
        id(variable): number
        for number, equation in enumerate(traced.jaxpr.eqns)
        for variable in equation.outvars
    }
    variables = dict(zip(names, traced.jaxpr.outvars, strict=True))
    order = {name: position.get(id(variable), -1) for name, variable in variables.items()}
    shapes = dict(zip(names, (tuple(array.shape) for array in arrays), strict=True))
    parameters = {path: tuple(leaf.shape) for path, leaf in by_path(params).items()}
    owners = {layer_of(path) for path in parameters}
    # of several names of one array, as a module's that returns what an inner one does, the last in this order is kept
    preferred = sorted(variables, key=lambda name: (name in owners, len(name)))
    distinct = {id(variables[name]): name for name in preferred}
    in_order = sorted(distinct.values(), key=order.__getitem__)
    sources = _sources(traced.jaxpr.eqns, distinct)
    return ModelShape(tuple(_layers(in_order, shapes, parameters, sources)), parameters)


def _sources(equations: Sequence[JaxprEqn], layers: Mapping[int, str]) -> dict[str, frozenset[str]]:
    """Return for each layer those that it is computed from without another one between.

    Args:
        equations: of the traced forward pass.
        layers: names by the identity of the variable.
    """
    latest: dict[int, frozenset[str]] = {}
    sources: dict[str, frozenset[str]] = {}
    for equation in equations:
        of_inputs = frozenset().union(*(latest.get(id(v), frozenset()) for v in equation.invars))
        for variable in equation.outvars:
            name = layers.get(id(variable))
            latest[id(variable)] = of_inputs if name is None else frozenset({name})
            if name is not None:
                sources[name] = of_inputs
    return sources


def _layers(
    names: list[str],
    shapes: Mapping[str, Shape],
    parameters: Mapping[str, Shape],
    sources: Mapping[str, frozenset[str]],
) -> Iterator[LayerShape]:
    """Yield distinct layers in order; the last one of the output's shape is the output layer."""
    same = [name for name in names if name != OUTPUT and shapes[name] == shapes[OUTPUT]]
    output = same[-1] if same else WHOLE_MODEL
    for name in (*(n for n in names if n not in (OUTPUT, output)), output):
        captured = OUTPUT if name == output else name
        weights = {p: s for p, s in parameters.items() if layer_of(p) == name and len(s) > 1}
        origins = sources.get(captured, frozenset()) | sources.get(name, frozenset())
        yield LayerShape(name, captured, shapes[captured], weights, origins - {name})


def fan_in(kernel: Shape, inputs: Shape) -> int:
    """Return the number of terms of each sum in a linear layer.

    Args:
        kernel: the shape of its weights, input axes first.
        inputs: the shape of its input. The axes of the kernel that match its last axes are summed over; if none do, as
            in a convolution, all axes but the last one are.
    """
    for axes in range(len(kernel) - 1, 0, -1):
        if kernel[:axes] == inputs[-axes:]:
            return math.prod(kernel[:axes])
    return math.prod(kernel[:-1])


def require_comparable(shapes: Mapping[int, ModelShape]) -> None:
    """Refuse models of several widths that cannot be compared.

    Args:
        shapes: the models of one depth by width.

    Raises:
        ConfigurationError: a layer or parameter appears at one width only, or no shape changes with the width; names
            the layer.
    """
    if len(shapes) < 2:
        return
    narrow, *wider = sorted(shapes)
    first = shapes[narrow]
    for width in wider:
        for a, b in ((narrow, width), (width, narrow)):
            _require_subset(shapes[a], shapes[b], a, b)
    if first == shapes[wider[-1]]:
        layer = first.layers[0]
        raise ConfigurationError(
            "build",
            f"layer '{layer.name}' has the same shape {layer.shape} at the widths {narrow} and {wider[-1]}, and so "
            "has every other layer; the sizes of hidden layers must follow the argument width",
        )


def _require_subset(shape: ModelShape, other: ModelShape, width: int, lacking: int) -> None:
    """Refuse layers and parameters of one width that another one lacks."""
    problem = f"at width {width} and not at width {lacking}; all widths must have the same"
    for path in shape.parameters:
        if path not in other.parameters:
            raise ConfigurationError(
                "build",
                f"layer '{layer_of(path)}': parameter '{path}' exists {problem} parameters",
            )
    known = {layer.name for layer in other.layers}
    for layer in shape.layers:
        if layer.name not in known:
            raise ConfigurationError("build", f"layer '{layer.name}' exists {problem} layers")
