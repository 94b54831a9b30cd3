"""Settings of a parameterisation besides its name.

Symbols: `output_scale` gamma_0 (pcn-limits); `init_scale` sigma', `energy_weight` gamma_l, `output_energy_weight`
gamma', `energy_weight_exponent` the exponent of gamma_L (pc-tp); `branch_multiplier` a, `depth_lr_exponent` gamma
(depth-mup); `depth_exponent` alpha (pcn-limits, depth-mup); `output_init_exponent` b_L (second-order).
"""

from pydantic import Field

from scaling_limits.cells import CellSettings
from scaling_limits.errors import ConfigurationError
from scaling_limits.parameterisations.powers import FEEDBACK_ROLES
from scaling_limits.strict import Strict


class Settings(Strict):
    """Base sizes, factors and named exponents of a row, and changes of its exponents (controls)."""

    base_width: int = Field(default=1, ge=1, description="width at which powers of the width are 1")
    base_depth: int = Field(default=1, ge=1, description="depth at which powers of the depth are 1")
    init_scale: float = Field(default=1.0, gt=0, description="factor of all initial weights")
    input_init_scale: float = Field(
        default=1.0, gt=0, description="additional factor of the initial input weights"
    )
    output_init_scale: float = Field(
        default=1.0, gt=0, description="additional factor of the initial output weights"
    )
    output_scale: float = Field(
        default=1.0, gt=0, description="gamma_0, for parameterisations that use it"
    )
    branch_multiplier: float = Field(
        default=1.0,
        gt=0,
        description="factor of the hidden residual branches; requires a network with residual "
        "branches, such as an mlp with skip: true",
    )
    depth_exponent: float | None = Field(
        default=None,
        description="alpha: residual branches scale like depth^-alpha; for parameterisations that use it",
    )
    depth_lr_exponent: float | None = Field(
        default=None,
        description="gamma: the learning rate of residual branches contains depth^-gamma (depth-mup Eq. 4); for "
        "parameterisations that use it",
    )
    energy_weight_exponent: float | None = Field(
        default=None,
        description="exponent of the width in the output "
        "layer's energy weight (pc-tp "
        "gamma_L), for parameterisations that "
        "use it",
    )
    output_init_exponent: float | None = Field(
        default=None,
        description="b_L, exponent of the width in the initial output weights; 1 if absent",
    )
    exponent_changes: dict[str, dict[str, dict[str, float]]] = Field(
        default_factory=dict,
        description="numbers added to the row's exponents in controls: role or layer -> quantity -> width or "
        "depth -> number",
    )
    pivot_width: int | None = Field(
        default=None,
        ge=1,
        description="width at which exponent_changes of the width change nothing; base_width "
        "if absent",
    )
    pivot_depth: int | None = Field(
        default=None,
        ge=1,
        description="depth at which exponent_changes of the depth change nothing; base_depth "
        "if absent",
    )


class EnergyWeights(Strict):
    """Weights of predictive coding's errors, declared by parts that use an energy or its equilibrium."""

    energy_weight: float = Field(
        default=1.0,
        gt=0,
        description="weight of predictive coding's errors in all layers except the last",
    )
    output_energy_weight: float = Field(
        default=1.0, gt=0, description="weight of predictive coding's error in the last layer"
    )


def refuse(settings: CellSettings) -> None:
    """Reject scales of residual branches or feedback weights without such weights, and powers of a ratio of one.

    Raises:
        ConfigurationError: naming the key.
    """
    residual = getattr(settings, "residual", False)
    for role, changes in settings.exponent_changes.items():
        if "branch" in changes and not (residual and role == "hidden"):
            raise ConfigurationError(
                f"exponent_changes.{role}.branch",
                "acts only on the role hidden with skip: true; leave it out",
            )
    if not residual:
        used = {
            "depth_exponent": settings.depth_exponent is not None,
            "depth_lr_exponent": settings.depth_lr_exponent is not None,
            "branch_multiplier": settings.branch_multiplier != 1.0,
        }
        for key, is_used in used.items():
            if is_used:
                raise ConfigurationError(
                    key, "has no effect without residual branches; requires skip: true"
                )
    if settings.output_init_exponent not in (None, 1.0) and settings.width == settings.base_width:
        raise ConfigurationError(
            "output_init_exponent",
            f"{settings.output_init_exponent:g} has no effect at the base width {settings.base_width}; use 1",
        )
    if not hasattr(settings, "feedback"):
        for role in FEEDBACK_ROLES:
            for quantity in settings.exponent_changes.get(role, {}):
                raise ConfigurationError(
                    f"exponent_changes.{role}.{quantity}",
                    "acts only with an algorithm that trains feedback weights; leave it out",
                )
