"""What a parameterisation takes besides its name.

Symbols: `output_scale` gamma_0 (pcn-limits); `init_scale` sigma', `energy_weight` gamma_l, `output_energy_weight`
gamma', `energy_weight_exponent` of gamma_L (pc-tp); `branch_multiplier` a, `depth_lr_exponent` gamma (depth-mup);
`depth_exponent` alpha (pcn-limits, depth-mup); `output_init_exponent` b_L (second-order).
"""

from pydantic import Field

from scaling_limits.cells import CellSettings
from scaling_limits.errors import ConfigurationError
from scaling_limits.parameterisations.powers import FEEDBACK_ROLES
from scaling_limits.strict import Strict


class Settings(Strict):
    """Base sizes, factors and named exponents of a row, and changes of its exponents (controls)."""

    base_width: int = Field(default=1, ge=1, description="where powers of the width are 1")
    base_depth: int = Field(default=1, ge=1, description="where powers of the depth are 1")
    init_scale: float = Field(default=1.0, gt=0, description="multiplies all initial weights")
    input_init_scale: float = Field(
        default=1.0, gt=0, description="multiplies the input's initial weights further"
    )
    output_init_scale: float = Field(
        default=1.0, gt=0, description="multiplies the output's initial weights further"
    )
    output_scale: float = Field(default=1.0, gt=0, description="gamma_0, where the row has one")
    branch_multiplier: float = Field(
        default=1.0, gt=0, description="of hidden residual branches; needs skip: true"
    )
    depth_exponent: float | None = Field(
        default=None, description="of residual networks, where the row has one"
    )
    depth_lr_exponent: float | None = Field(
        default=None, description="of residual networks, where the row has one"
    )
    energy_weight_exponent: float | None = Field(default=None, description="where the row has one")
    output_init_exponent: float | None = Field(
        default=None, description="of the width in the output's initial weights; 1 if absent"
    )
    exponent_changes: dict[str, dict[str, dict[str, float]]] = Field(
        default_factory=dict,
        description="added to the row's exponents: role or layer -> quantity -> width or depth (controls)",
    )
    pivot_width: int | None = Field(
        default=None, ge=1, description="where width's changes are 1; the base width if absent"
    )
    pivot_depth: int | None = Field(
        default=None, ge=1, description="where depth's changes are 1; the base depth if absent"
    )


class EnergyWeights(Strict):
    """Weights of predictive coding's errors: what has an energy, or an equilibrium of it, declares these."""

    energy_weight: float = Field(default=1.0, gt=0, description="of all layers but the last")
    output_energy_weight: float = Field(default=1.0, gt=0, description="of the last layer")


def refuse(settings: CellSettings) -> None:
    """Refuse what scales residual branches or feedback weights where there are none, and powers of a ratio of one.

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
        given = {
            "depth_exponent": settings.depth_exponent is not None,
            "depth_lr_exponent": settings.depth_lr_exponent is not None,
            "branch_multiplier": settings.branch_multiplier != 1.0,
        }
        for key, is_given in given.items():
            if is_given:
                raise ConfigurationError(key, "scales residual branches; it needs skip: true")
    if settings.output_init_exponent not in (None, 1.0) and settings.width == settings.base_width:
        raise ConfigurationError(
            "output_init_exponent",
            f"{settings.output_init_exponent:g} acts on nothing at the base width "
            f"{settings.base_width}; take 1 there",
        )
    if not hasattr(settings, "feedback"):
        for role in FEEDBACK_ROLES:
            for quantity in settings.exponent_changes.get(role, {}):
                raise ConfigurationError(
                    f"exponent_changes.{role}.{quantity}",
                    "acts only with an algorithm that trains feedback weights; leave it out",
                )
