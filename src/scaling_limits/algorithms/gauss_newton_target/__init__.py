"""The Gauss-Newton target of every layer (pc-tp Prop. 3.3)."""

from pydantic import Field

from scaling_limits.cells import AlgorithmSpec, Cell, TracedOrNone
from scaling_limits.networks.work import Count
from scaling_limits.strict import Strict


class Settings(Strict):
    """The exponent e_B of pc-tp Prop. 3.3."""

    preconditioner_exponent: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="exponent e_B of the preconditioner: 0 is backpropagation and 1, the default, the "
        "Gauss-Newton target",
    )


class Options(AlgorithmSpec):
    """The exponent e_B; None for the target itself (e_B = 1)."""

    preconditioner_exponent: TracedOrNone = None


def work(cell: Cell, count: Count) -> None:
    """Add the work of a singular value decomposition of each node's Jacobian for each sample."""
    count.forward()
    count.jacobians()
    count.decompositions()
    count.weight_gradients()


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory of each sample's derivatives of the outputs with respect to all nodes."""
    return {"units": 2 + 2 * cell.network.output_dim}
