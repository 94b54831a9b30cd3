"""The cells of a grid, and the values of their settings."""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from scaling_limits.cells import Cell, CellSettings
from scaling_limits.configuration.axes import is_axis
from scaling_limits.configuration.grids import Node
from scaling_limits.configuration.trees import Origin, Tree
from scaling_limits.figures import placeholders
from scaling_limits.figures.needs import value_of


@dataclass(frozen=True, eq=False)
class GridCells:
    """A grid: the settings of its cells and the cells, as configured, and the grid as `written` in its file.

    `settings` are the settings of the grid, with lists for axes, and `plans` the steps of its measurements.
    """

    points: Sequence[tuple[CellSettings, Cell]]
    settings: Mapping[str, object]
    plans: Mapping[str, Sequence[int | str]]
    written: Node | None
    _values: dict[str, set[Hashable]] = field(default_factory=dict)

    @cached_property
    def columns(self) -> frozenset[str]:
        """The settings that at least one of the cells has."""
        models = {type(settings) for settings, _ in self.points}
        return frozenset(placeholders.COUNTS).union(*(model.model_fields for model in models))

    @cached_property
    def axes(self) -> frozenset[str]:
        """The settings with several values."""
        return frozenset(k for k, v in self.settings.items() if is_axis(v, k) and len(v) > 1)

    @cached_property
    def last_step(self) -> float:
        """The largest number of updates of a cell, as configured or as written.

        It is infinite if the file leaves the number to the data.
        """
        written = Tree(Origin("")) if self.written is None else self.written.settings
        largest: float = max((cell.num_steps for _, cell in self.points), default=0)
        if written.value("num_epochs") not in (None, self.settings.get("num_epochs")):
            return math.inf
        num_steps = written.value("num_steps")
        numbers = num_steps if isinstance(num_steps, list) else [num_steps]
        return max(largest, *(n for n in numbers if isinstance(n, int | float)), 0)

    def recorded(self, measurement: str | None) -> range | frozenset[int]:
        """Return the training steps at which a measurement or the algorithm records, as configured and as written.

        Args:
            measurement: the name of the measurement; None for the algorithm.
        """
        last = self.last_step
        if math.isinf(last):
            return range(2**62)
        if measurement is None:
            return range(int(last))
        written = None if self.written is None else self.written.measurements.value(measurement)
        planned = [
            *self.plans.get(measurement, ()),
            *(written if isinstance(written, list) else [written]),
        ]
        ends = {cell.num_steps for _, cell in self.points} | {int(last)}
        steps = {step for step in planned if isinstance(step, int) and step <= last}
        return frozenset(steps | ends if "end" in planned else steps)

    @property
    def warnings(self) -> Iterator[tuple[str, str]]:
        """Yield settings and measurements that have less effect than written, each with the reason."""
        for settings, cell in self.points:
            samples, batch_size = cell.dataset.num_train, settings.batch_size
            written = None if self.written is None else self.written.settings.value("dataset")
            if batch_size > samples and written in (None, settings.dataset):
                yield (
                    "batch_size",
                    f"{batch_size} is more than the {samples} training samples: all are one batch",
                )
                break
        for name, steps in self.plans.items():
            late = [step for step in steps if isinstance(step, int) and step > self.last_step]
            if late:
                late_steps = ", ".join(map(str, late))
                problem = (
                    f"steps {late_steps} never come, as training ends after {self.last_step:g}"
                )
                yield name, f"{problem}: nothing is measured there"

    def configured(self, column: str, only: Mapping[str, Hashable]) -> set[Hashable]:
        """Return the values of a column as configured, in the cells with the values `only` of other columns."""
        matching = (
            settings
            for settings, _ in self.points
            if all(value_of(settings, c) == value for c, value in only.items())
        )
        return {value_of(settings, column) for settings in matching}

    def written_values(self, column: str) -> set[Hashable] | None:
        """Return the values that the file lists for a column, or None if it lists none."""
        written = None if self.written is None else self.written.settings.value(column)
        return set(written) if isinstance(written, list) else None

    def values(self, column: str) -> set[Hashable]:
        """Return all values of a column, both as configured and as written in the file."""
        if column not in self._values:
            # a setting of the grid that is not an axis has the same value in all cells
            single = column in self.settings and column not in self.axes
            points = self.points[:1] if single else self.points
            values = {value_of(settings, column) for settings, _ in points}
            written = None if self.written is None else self.written.settings.value(column)
            for value in written if isinstance(written, list) else [written]:
                if isinstance(value, Hashable):
                    values.add(value)
            self._values[column] = values - {None}
        return self._values[column]
