"""Settings of optimisers that precondition gradients by the curvature, and the numbers in their cells.

Symbols (second-order): `damping` rho', `averaging_weight` tau = 1 - xi; for Kronecker factors `input_damping_exponent`
d_A, `output_damping` rho_B', `output_damping_exponent` d_B.
"""

from typing import Literal

from pydantic import Field

from scaling_limits.cells import CellSettings, Fields, OptimiserSpec, Traced, TracedOrNone
from scaling_limits.errors import ConfigurationError
from scaling_limits.strict import Strict


class Settings(Strict):
    """Damping, momentum, and the batches that enter both factors of every layer."""

    momentum: float = Field(
        default=0.0, ge=0, lt=1, description="decay of the sum of past directions"
    )
    damping: float = Field(
        gt=0, description="damping constant; the optimiser scales it to the size of the factors"
    )
    accumulation: Literal["none", "averaged", "summed"] = Field(
        default="none",
        description="factors of the current batch (`none`), their moving average (`averaged`), or their sum "
        "(`summed`, Shampoo only)",
    )
    averaging_weight: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="weight of the current batch in the moving average; required with accumulation: averaged",
    )
    preconditioner_interval: int = Field(
        default=1,
        ge=1,
        description="number of training steps between two decompositions of the factors; "
        "the steps in between apply the stored preconditioner",
    )


class Spec(OptimiserSpec):
    """Numbers of a preconditioning optimiser.

    `accumulated` factors are `factor_decay` times the old factor plus `factor_weight` times the batch's. Without these
    numbers, factors are those of one batch. `preconditioner_interval` is None if the factors are decomposed at every
    step.
    """

    momentum: Traced
    accumulated: bool
    preconditioner_interval: int | None = None
    factor_decay: TracedOrNone = None
    factor_weight: TracedOrNone = None


class KroneckerSettings(Settings):
    """The rule by which the factors are damped.

    `rescaled`: damping times the trace, divided by the factor's size at the base width (second-order 15, normalised at
    the base width). `heuristic`: the square root of damping, times the square root of the ratio of the two factors'
    mean eigenvalues, for each factor with the other in the denominator (14, the pi-rule). `fixed`: damping times the
    width relative to its base to the power -d_A or -d_B (7).
    """

    damping_rule: Literal["rescaled", "heuristic", "fixed"] = Field(
        default="rescaled",
        description="scaling of the damping: by the trace of the factor (`rescaled`), by the mean eigenvalues of both "
        "factors (`heuristic`), or by a power of the width (`fixed`)",
    )
    input_damping_exponent: float | None = Field(
        default=None,
        description="d_A, minus the exponent of width in the damping of the input factor; only with "
        "damping_rule: fixed; -1 if absent",
    )
    smallest_damping: float = Field(
        default=0.0, ge=0, description="lower bound of the damping of both factors"
    )


class KroneckerSpec(Spec):
    """Numbers of an optimiser with Kronecker factors.

    A factor's damping is its number times `m^own_power n^other_power`, with m and n the mean eigenvalues of this and
    the other factor, and at least `smallest_damping`. With only one factor, `output_damping` is not used.
    """

    input_damping: Traced
    output_damping: Traced = 0.0
    own_power: Traced
    other_power: Traced = 0.0
    smallest_damping: Traced = 0.0


def refuse(settings: CellSettings) -> None:
    """Reject an averaging weight without averages, and averages without an averaging weight.

    Raises:
        ConfigurationError: naming the key.
    """
    averaged = settings.accumulation == "averaged"
    if averaged and settings.averaging_weight is None:
        raise ConfigurationError(
            "averaging_weight",
            "is required with accumulation: averaged; valid: a number above 0, at most 1",
        )
    if not averaged and settings.averaging_weight is not None:
        raise ConfigurationError(
            "averaging_weight",
            "has no effect without accumulation: averaged; leave it out",
        )


def refuse_kronecker(settings: CellSettings) -> None:
    """Reject sums, and exponents and dampings that the rule does not use; raises as `refuse`."""
    refuse(settings)
    if settings.accumulation == "summed":
        raise ConfigurationError(
            "accumulation",
            f"'summed' is not valid with optimiser: {settings.optimiser}; valid: none, averaged",
        )
    if settings.damping_rule != "fixed":
        for key in ("input_damping_exponent", "output_damping", "output_damping_exponent"):
            if getattr(settings, key, None) is not None:
                raise ConfigurationError(
                    key, "has no effect without damping_rule: fixed; leave it out"
                )


def accumulation(settings: CellSettings) -> Fields:
    """Return the fields of `Spec` that define how factors accumulate (second-order S.75, S.79) and are decomposed."""
    interval = settings.preconditioner_interval
    result: Fields = {"preconditioner_interval": None if interval == 1 else interval}
    if settings.accumulation == "none":
        return {**result, "accumulated": False}
    tau = settings.averaging_weight
    decay, weight = (1.0, 1.0) if settings.accumulation == "summed" else (1.0 - tau, tau)
    return {**result, "accumulated": True, "factor_decay": decay, "factor_weight": weight}


def kronecker_damping(settings: CellSettings) -> dict[str, float]:
    """Return the damping rule as numbers of `KroneckerSpec`, so that all rules share a program."""
    rho = settings.damping
    if settings.damping_rule == "heuristic":
        rho, own, other = rho**0.5, 0.5, -0.5
    else:
        own, other = (1.0 if settings.damping_rule == "rescaled" else 0.0), 0.0
    return {"input_damping": rho, "own_power": own, "output_damping": rho, "other_power": other}


def kronecker_exponents(settings: CellSettings, e_a: float, e_b: float) -> dict[str, float]:
    """Return the row's e_A and e_B, and the d_A and d_B of the damping rule; -1 and 1 are those of (8).

    With the rescaled rule, the damping relative to a mean eigenvalue grows like the size of the factor.
    """
    defaults = {"rescaled": (-1.0, -1.0), "heuristic": (0.0, 0.0), "fixed": (-1.0, 1.0)}
    names = ("input_damping_exponent", "output_damping_exponent")
    powers = {"input_preconditioner_exponent": e_a, "preconditioner_exponent": e_b}
    exponents = powers | dict(zip(names, defaults[settings.damping_rule], strict=True))
    own = {name: getattr(settings, name, None) for name in names}
    return exponents | {name: value for name, value in own.items() if value is not None}
