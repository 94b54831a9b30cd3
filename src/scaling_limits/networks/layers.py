"""The layers of a network as plain data: what fan-ins, groups of weights, costs and memory are taken from."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Layer:
    """`count` equal weights `[outputs, inputs]`, each applied at as many `positions` of what enters.

    `name` says whose numbers in a cell's `scaling` they have: those of their `role`, or their own if the role has
    several layers of different fan-in. That is `inputs`, if no other `fan_in` is said. At each position a convolution
    is applied to a `window` of so many others.
    """

    name: str
    role: str
    inputs: int
    outputs: int
    count: int = 1
    positions: int = 1
    window: int = 1
    fan_in: int | None = None

    @property
    def scaled_by(self) -> int:
        """Its fan-in, as parameterisations see it."""
        return self.inputs if self.fan_in is None else self.fan_in

    @property
    def weights(self) -> int:
        """Entries of all of them."""
        return self.inputs * self.outputs * self.count

    @property
    def is_convolution(self) -> bool:
        """Whether its windows are copied out of what enters; one that covers all of it, or one position, is no copy."""
        return self.positions > 1 and self.window > 1

    @property
    def units(self) -> int:
        """Numbers that leave all of them, for one sample."""
        return self.outputs * self.positions * self.count
