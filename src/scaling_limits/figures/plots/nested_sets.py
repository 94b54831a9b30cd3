"""Schematics of which sets contain which."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from scaling_limits.strict import Strict


class NestedSet(Strict):
    """A set with what it `contains`, side by side; a `dashed` one is not known to have members."""

    label: str = Field(min_length=1)
    dashed: bool = False
    contains: tuple[NestedSet, ...] = ()


class NestedSetsPlot(Strict):
    """Sets within sets, as rounded boxes with their labels on top."""

    kind: Literal["nested_sets"] = "nested_sets"
    outermost: NestedSet

    @property
    def grids(self) -> list[str]:
        """None: a schematic shows no cells."""
        return []
