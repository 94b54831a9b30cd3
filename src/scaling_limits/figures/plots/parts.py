"""What several kinds of plot have in common."""

from typing import Annotated, Literal

from pydantic import AfterValidator

from scaling_limits.strict import Strict

Scale = Literal["linear", "log"]
Best = Literal["min", "max"]


def _increasing(limits: tuple[float, float]) -> tuple[float, float]:
    if not limits[0] < limits[1]:
        raise ValueError(f"limits must increase, not {list(limits)}")
    return limits


Limits = Annotated[tuple[float, float], AfterValidator(_increasing)]


class GridPanel(Strict):
    """A panel of one grid."""

    grid: str
    title: str | None = None

    @property
    def grids(self) -> list[str]:
        """The grids that the panel shows."""
        return [self.grid]
