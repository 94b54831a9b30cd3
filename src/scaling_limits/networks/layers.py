"""The layers of a network as plain data, from which fan-ins, groups of weights, costs and memory are computed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Layer:
    """`count` equal weights `[outputs, inputs]`, each applied at `positions` positions of its input.

    `name` is the key of its numbers in a cell's `scaling`: its `role`, or an individual name if the role has several
    layers of different fan-in. `fan_in` overrides `inputs` as the fan-in. At each position, a convolution is applied to
    a `window` of input positions.
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
        """The fan-in used by parameterisations."""
        return self.inputs if self.fan_in is None else self.fan_in

    @property
    def weights(self) -> int:
        """The number of entries of all `count` weights."""
        return self.inputs * self.outputs * self.count

    @property
    def is_convolution(self) -> bool:
        """Whether windows are copied out of the input.

        A window that covers the whole input, or a single position, needs no copy.
        """
        return self.positions > 1 and self.window > 1

    @property
    def units(self) -> int:
        """The number of output entries of all `count` weights, for one sample."""
        return self.outputs * self.positions * self.count
