"""Layers that correspond to each other at several widths or depths."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from scaling_limits.errors import ConfigurationError
from scaling_limits.model_check.capture import LayerShape, ModelShape

Signature = tuple[object, ...]


@dataclass(frozen=True)
class Match:
    """A layer at several sizes.

    Attributes:
        name: that of the layer at the largest size.
        names: those at all sizes, increasing.
        repeated: the number of the relative position for layers whose number grows with the depth, else None.
        is_output: whether it is the output layer.
        fixed: whether its shape is the same at all sizes.
        indirect: whether it reaches the output only through layers of fixed shape.
    """

    name: str
    names: tuple[str, ...]
    repeated: int | None
    is_output: bool
    fixed: bool
    indirect: bool = False


def over_width(shapes: Mapping[int, ModelShape]) -> list[Match]:
    """Match layers of all widths by name, in the order of the forward pass."""
    widest = shapes[max(shapes)]
    fixed = {
        layer.name
        for layer in widest.layers
        if len({_named(shape, layer.name).shape for shape in shapes.values()}) == 1
    }
    direct = widest.reaching_output(without=fixed - {widest.output.name})
    return [
        Match(
            layer.name,
            (layer.name,) * len(shapes),
            None,
            layer is widest.output,
            layer.name in fixed,
            layer.name not in direct,
        )
        for layer in widest.layers
    ]


def over_depth(shapes: Mapping[int, ModelShape]) -> list[Match]:
    """Match layers of all depths.

    Layers have the same role if their shapes agree, and their names agree except for numbers. If each depth has equally
    many of them, they are matched in order. Otherwise they are matched by their relative position among each other:
    layer i of L at the smallest depth with layer i L' / L of L'.

    Raises:
        ConfigurationError: a layer has no counterpart at another depth.
    """
    depths = sorted(shapes)
    groups = [_groups(shapes[depth]) for depth in depths]
    for here, depth in zip(groups, depths, strict=True):
        for other, lacking in zip(groups, depths, strict=True):
            missing = [members for signature, members in here.items() if signature not in other]
            if missing:
                raise ConfigurationError(
                    "build",
                    f"layer '{missing[0][0]}' exists at depth {depth}, and depth {lacking} has no layer of the same "
                    "name and shape; depth must be the number of equal blocks",
                )
    output = _signature(shapes[depths[-1]].output, True)
    matches = []
    for signature, smallest in groups[0].items():
        counts = [len(group[signature]) for group in groups]
        for position in range(len(smallest)):
            names = tuple(
                group[signature][(position + 1) * count // counts[0] - 1]
                for group, count in zip(groups, counts, strict=True)
            )
            repeated = position if len(set(counts)) > 1 else None
            matches.append(Match(names[-1], names, repeated, signature == output, False))
    order = {layer.name: number for number, layer in enumerate(shapes[depths[-1]].layers)}
    return sorted(matches, key=lambda match: order[match.name])


def _named(shape: ModelShape, name: str) -> LayerShape:
    return next(layer for layer in shape.layers if layer.name == name)


def _signature(layer: LayerShape, is_output: bool) -> Signature:
    """Return what layers of the same role have in common."""
    if is_output:
        return ("output",)
    return re.sub(r"\d+", "*", layer.name), layer.shape, tuple(sorted(layer.weights.values()))


def _groups(shape: ModelShape) -> dict[Signature, list[str]]:
    """Return the names of the layers of each role, in order."""
    groups: dict[Signature, list[str]] = {}
    for layer in shape.layers:
        groups.setdefault(_signature(layer, layer is shape.output), []).append(layer.name)
    return groups
