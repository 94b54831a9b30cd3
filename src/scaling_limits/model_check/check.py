"""The coordinate check of a user's own model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from scaling_limits.errors import ConfigurationError
from scaling_limits.model_check import matching
from scaling_limits.model_check.capture import ModelShape
from scaling_limits.model_check.matching import Match
from scaling_limits.model_check.measure import Recorded, record
from scaling_limits.model_check.report import Report
from scaling_limits.model_check.scaling import Slope, slope_of
from scaling_limits.model_check.sweep import (
    Size,
    Sweep,
    losses_of,
    models_of,
    optimiser_at,
    sweep_of,
)
from scaling_limits.model_check.verdicts import AT_MOST, Axis, Kind, Layer, bounds_of, judge

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from scaling_limits.model_check.training import Loss, OptimiserBySize


def check(
    build: Callable[..., object],
    optimiser: OptimiserBySize,
    *,
    data: tuple[ArrayLike, ArrayLike],
    loss: Loss,
    widths: Sequence[int],
    depths: Sequence[int],
    seeds: int,
    steps: int,
) -> Report:
    """Check a model; see `scaling_limits.check`."""
    sweep = sweep_of(data, widths, depths, seeds, steps)
    return report_of(sweep, *measured(build, optimiser, loss, sweep))


def measured(
    build: Callable[..., object], optimiser: OptimiserBySize, loss: Loss, sweep: Sweep
) -> tuple[dict[Size, ModelShape], dict[Size, Recorded]]:
    """Train the models of all sizes and measure their layers.

    Args:
        build: see `scaling_limits.check`.
        optimiser: see `scaling_limits.check`.
        loss: see `scaling_limits.check`.
        sweep: the sizes, seeds, steps and data.

    Raises:
        ConfigurationError: the models cannot be built or compared, or a loss is not finite at initialisation.
    """
    models = models_of(build, sweep)
    recorded: dict[Size, Recorded] = {}
    for size, model, shape, function in losses_of(loss, sweep, models):
        transformation = optimiser_at(optimiser, size)
        recorded[size] = record(
            model, shape, function, transformation, sweep.data, sweep.keys(size), sweep.steps
        )
        _require_finite(recorded[size], size)
    return {size: shape for size, (_, shape) in models.items()}, recorded


def report_of(
    sweep: Sweep, shapes: Mapping[Size, ModelShape], recorded: Mapping[Size, Recorded]
) -> Report:
    """Judge what was measured; see `measured`."""
    return Report(tuple(_layers(sweep, shapes, recorded)), recorded, sweep.steps)


def _require_finite(recorded: Recorded, size: Size) -> None:
    """Refuse a model whose loss is not finite at initialisation; names the first layer that is not."""
    if np.isfinite(recorded.loss[:, 0]).all():
        return
    where = f"at width {size[0]} and depth {size[1]}"
    for name, values in recorded.size.items():
        if not np.isfinite(values[:, 0]).all():
            raise ConfigurationError(
                "build",
                f"layer '{name}' is not finite at initialisation {where}; scale its initial weights",
            )
    *_, output = recorded.size
    raise ConfigurationError(
        "loss",
        f"it is not finite at initialisation {where}, though the outputs of the layer '{output}' are; valid is a loss "
        "that is finite for all outputs",
    )


def _layers(
    sweep: Sweep, shapes: Mapping[Size, ModelShape], recorded: Mapping[Size, Recorded]
) -> list[Layer]:
    """Judge all layers over the width, then over the depth."""
    layers: list[Layer] = []
    if sweep.over_width:
        matches = matching.over_width({size[0]: shapes[size] for size in sweep.over_width})
        layers += _judged(matches, "width", [recorded[size] for size in sweep.over_width], sweep)
    if sweep.over_depth:
        matches = matching.over_depth({size[1]: shapes[size] for size in sweep.over_depth})
        layers += _judged(matches, "depth", [recorded[size] for size in sweep.over_depth], sweep)
    return layers


def _judged(
    matches: Sequence[Match], axis: Axis, recorded: Sequence[Recorded], sweep: Sweep
) -> list[Layer]:
    """Judge layers over one size."""
    sizes = sweep.widths if axis == "width" else sweep.depths
    slopes = {m: _slopes(m, recorded, sizes, sweep.steps) for m in matches}
    moves = {
        match.repeated
        for match in matches
        for slope in slopes[match]
        if (slope.quantity, slope.step) == ("change", sweep.steps) and not slope.falls
    }
    output_moves = any(
        (slope.quantity, slope.step) == ("change", sweep.steps) and not slope.falls
        for match in matches
        if match.is_output
        for slope in slopes[match]
    )
    layers = []
    for match in matches:
        layer_slopes = slopes[match]
        if match.repeated is not None and match.repeated in moves:
            # a branch may fade with depth as long as the stream does not
            layer_slopes = [replace(s, bounds=AT_MOST) if s.judged else s for s in layer_slopes]
        layers.append(judge(match.name, axis, _kind(match), layer_slopes, output_moves))
    return layers


def _kind(match: Match) -> Kind:
    if match.is_output:
        return "output"
    return "inner product" if match.fixed else "hidden"


def _slopes(
    match: Match, recorded: Sequence[Recorded], sizes: Sequence[int], steps: int
) -> list[Slope]:
    """Fit the exponents of all quantities that a layer has."""
    slopes = []
    for quantity in ("size", "change", "update", "alignment"):
        first = 0 if quantity == "size" else 1
        for step in (first, steps):
            values = _values(match, recorded, quantity, step, steps)
            if values is None:
                continue
            # within repeated blocks sizes may fall, and changes are reconsidered with those of the stream
            bounds = bounds_of(
                quantity,
                _kind(match),
                last=step == steps,
                repeated=match.repeated is not None and quantity != "change",
                indirect=match.indirect,
            )
            slope = slope_of(quantity, step, values, sizes, bounds)
            if slope is not None:
                slopes.append(slope)
    return slopes


def _values(
    match: Match, recorded: Sequence[Recorded], quantity: str, step: int, steps: int
) -> list[np.ndarray] | None:
    """Return the values [seeds] of a quantity at each size; None if the layer does not have it."""
    values = []
    for name, at_size in zip(match.names, recorded, strict=True):
        by_layer = getattr(at_size, quantity)
        if name not in by_layer:
            return None
        # updates and alignments are measured after the first and the last step only
        index = step if quantity in ("size", "change") else (0 if step == 1 else -1)
        values.append(by_layer[name][:, index])
    return values
