"""From two trees of parameters to the scaler between them."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.mup_rules.leaves import leaves_of, matching
from scaling_limits.mup_rules.roles import Shapes, assign_roles, head_growth
from scaling_limits.mup_rules.rules import OPTIMISERS, Optimiser, Ratios, multipliers, rule
from scaling_limits.mup_rules.scaler import Parameter, Scaler


def build(
    params: Any,
    base_params: Any,
    optimiser: Optimiser,
    *,
    depth: tuple[int, int] | None,
    branches: str | Sequence[str] | None,
    depth_exponent: float,
    roles: Mapping[str, str],
) -> Scaler:
    """Return the scaler of `scaling_limits.mup`, which describes arguments and errors."""
    if optimiser not in OPTIMISERS:
        raise ConfigurationError("optimiser", unknown("optimiser", optimiser, OPTIMISERS))
    target, base = leaves_of(params, "params"), leaves_of(base_params, "base_params")
    shapes = _paired(target, base)
    if depth is None and all(pair.base == pair.target for pair in shapes.values()):
        path, pair = next(iter(shapes.items()))
        raise ConfigurationError(
            "base_params",
            f"all shapes are those of params ({path}: {pair.base}), so no width can be seen to grow; "
            "give the parameters of a model of another width",
        )
    in_branch = _in_branch(shapes, depth, branches, depth_exponent)
    assigned, width = assign_roles(shapes, roles)
    growths = {path: pair.growth(path) for path, pair in shapes.items()}
    depth_ratio = Fraction(1) if depth is None else Fraction(depth[1], depth[0])
    ratios = Ratios(width, depth_ratio, head_growth(growths))
    return Scaler(
        parameters={
            path: Parameter(
                shape=pair.target,
                role=assigned[path],
                in_branch=path in in_branch,
                rule=rule(
                    assigned[path],
                    optimiser,
                    in_branch=path in in_branch,
                    depth_exponent=depth_exponent,
                ),
            )
            for path, pair in shapes.items()
        },
        forward=multipliers(
            optimiser,
            tied="tied" in assigned.values(),
            branches=depth is not None,
            heads=ratios.head != 1,
            depth_exponent=depth_exponent,
        ),
        ratios=ratios,
        update_rule=optimiser,
        base_params=base,
    )


def _paired(target: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Shapes]:
    """Return both shapes of each parameter."""
    for here, there, name, other in (
        (target, base, "params", "base_params"),
        (base, target, "base_params", "params"),
    ):
        for path in here:
            if path not in there:
                raise ConfigurationError(
                    path,
                    f"is in {name}, but not in {other}; give both the layers of the target model "
                    "(with depth=(base, target) if depths differ)",
                )
    return {
        path: Shapes(tuple(base[path].shape), tuple(leaf.shape)) for path, leaf in target.items()
    }


def _in_branch(
    shapes: Mapping[str, Shapes],
    depth: tuple[int, int] | None,
    branches: str | Sequence[str] | None,
    depth_exponent: float,
) -> set[str]:
    """Return the parameters in residual branches."""
    if (depth is None) != (branches is None):
        lacking = "branches" if branches is None else "depth"
        raise ConfigurationError(
            lacking,
            "is missing; scaling with the depth needs depth=(base, target) and branches, a pattern of the parameters "
            "in residual branches, such as '*/block_*'",
        )
    if depth is None or branches is None:
        return set()
    valid = isinstance(depth, tuple | list) and len(depth) == 2
    if not valid or not all(isinstance(size, int) and size > 0 for size in depth):
        raise ConfigurationError(
            "depth", f"is {depth!r}; give two positive integers, (base, target)"
        )
    if not 0.5 <= depth_exponent <= 1.0:
        raise ConfigurationError(
            "depth_exponent",
            f"is {depth_exponent:g}; valid are 1/2 (Depth-µP) to 1 (CompleteP): features grow with the depth below "
            "1/2, and updates of a branch above 1",
        )
    patterns = [branches] if isinstance(branches, str) else branches
    return {path for pattern in patterns for path in matching(pattern, shapes, "branches")}
