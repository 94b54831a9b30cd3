"""The Gauss-Newton target of every layer (pc-tp Prop. 3.3)."""

from pydantic import Field

from scaling_limits.cells import AlgorithmSpec, TracedOrNone
from scaling_limits.strict import Strict


class Settings(Strict):
    """e_B of pc-tp Prop. 3.3."""

    preconditioner_exponent: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="power of the preconditioner: 0 is backpropagation; 1, the target, if absent",
    )


class Options(AlgorithmSpec):
    """e_B, None for the target itself."""

    preconditioner_exponent: TracedOrNone = None
