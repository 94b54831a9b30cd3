"""The report of a check: verdicts, a table, the records, and the picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from scaling_limits.model_check.measure import Recorded
from scaling_limits.model_check.sweep import Size
from scaling_limits.model_check.verdicts import Layer, Verdict, culprit_of, verdict_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_HEADS = ("size", "change", "update", "alignment")


@dataclass(frozen=True)
class Report:
    """What a check of a model shows. Printed, it is the table of all layers and the verdict.

    Attributes:
        layers: the verdict on each layer over the width, then over the depth, in the order of the forward pass.
        recorded: the measurements of each (width, depth).
        steps: the number T of updates.
    """

    layers: tuple[Layer, ...]
    recorded: Mapping[Size, Recorded]
    steps: int

    @property
    def verdict(self) -> Verdict:
        """The verdict on the model: the worst of its layers."""
        return verdict_of(self.layers)

    @property
    def culprit(self) -> Layer | None:
        """The layer to look at first; None if the model is stable."""
        return culprit_of(self.layers, self.steps)

    @property
    def reason(self) -> str:
        """The exponent that decides, in words."""
        culprit = self.culprit
        return f"{culprit.name}: {culprit.reason}" if culprit else "all layers are stable"

    @property
    def cause(self) -> str:
        """What usually causes this; empty for a stable model."""
        return self.culprit.cause if self.culprit else ""

    @cached_property
    def records(self) -> pd.DataFrame:
        """The measurements: columns `width`, `depth`, `seed`, `step`, `layer`, `quantity`, `value`."""
        import numpy as np
        import pandas as pd

        parts = []
        for (width, depth), recorded in self.recorded.items():
            for quantity in _HEADS:
                for layer, values in getattr(recorded, quantity).items():
                    seeds, steps = np.indices(values.shape)
                    if values.shape[1] != self.steps + 1:
                        steps = np.where(steps == 0, 1, self.steps)
                    part = {
                        "width": width,
                        "depth": depth,
                        "seed": seeds.ravel(),
                        "step": steps.ravel(),
                        "layer": layer,
                        "quantity": quantity,
                        "value": values.ravel(),
                    }
                    parts.append(pd.DataFrame(part))
        return pd.concat(parts, ignore_index=True)

    def table(self) -> pd.DataFrame:
        """Return the exponents, one row for each layer, quantity and step.

        Returns:
            The columns `axis`, `layer`, `kind`, `verdict`, `quantity`, `step`, `slope`, `low`, `high` (its 95%
            interval), `least` and `most` (the accepted exponents).
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "axis": layer.axis,
                "layer": layer.name,
                "kind": layer.kind,
                "verdict": layer.verdict,
                "quantity": slope.quantity,
                "step": slope.step,
                "slope": slope.value,
                "low": slope.interval[0] if slope.interval else slope.value,
                "high": slope.interval[1] if slope.interval else slope.value,
                "least": slope.bounds.low if slope.bounds else None,
                "most": slope.bounds.high if slope.bounds else None,
            }
            for layer in self.layers
            for slope in layer.slopes
        )

    def plot(self) -> Figure:
        """Draw the coordinate check: size, change and update of all layers over the width or depth."""
        from scaling_limits.model_check.picture import draw

        return draw(self)

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        from tabulate import tabulate

        for axis in dict.fromkeys(layer.axis for layer in self.layers):
            yield f"Exponents of the {axis} after {self.steps} updates, with 95% intervals"
            rows = [list(_row(layer, self.steps)) for layer in self.layers if layer.axis == axis]
            # the head is a row, as tabulate widens the columns below a head of its own
            table = [["layer", "kind", "verdict", "size at 0", *_HEADS], *rows]
            yield tabulate(table, tablefmt="plain", disable_numparse=True)
            yield ""
        yield f"verdict: {self.verdict}"
        yield f"reason: {self.reason}"
        if self.cause:
            yield f"usual cause: {self.cause}"
        for layer in self.layers:
            if layer.verdict == "stable" and layer.cause:
                yield f"note on {layer.name}: {layer.cause}"


def _row(layer: Layer, steps: int) -> Iterator[str]:
    """Yield the cells of a layer: its name, kind and verdict, and the exponents of its quantities."""
    yield from (layer.name, layer.kind, layer.verdict)
    for quantity, step in (("size", 0), *((quantity, steps) for quantity in _HEADS)):
        slope = layer.slope(quantity, step)
        yield "" if slope is None else str(slope)
