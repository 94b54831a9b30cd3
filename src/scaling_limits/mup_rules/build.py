"""From two trees of parameters to the scaler between them."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from jaxtyping import PyTree

from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.mup_rules.leaves import Leaf, leaves_of, matching
from scaling_limits.mup_rules.roles import Role, Shapes, assign_roles, head_growth
from scaling_limits.mup_rules.rules import OPTIMISERS, Optimiser, Ratios, multipliers, rule
from scaling_limits.mup_rules.scaler import Parameter, Scaler


def build(
    params: PyTree,
    base_params: PyTree,
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
    base = leaves_of(base_params, "base_params")
    shapes = _paired(leaves_of(params, "params"), base)
    if depth is None:
        _check_growth(shapes)
    in_branch = _in_branch(shapes, depth, branches, depth_exponent)
    assigned, width = assign_roles(shapes, roles)

    def parameter(path: str, role: Role) -> Parameter:
        inside = path in in_branch
        powers = rule(role, optimiser, in_branch=inside, depth_exponent=depth_exponent)
        return Parameter(shapes[path].target, role, inside, powers)

    ratios = Ratios(
        width=width,
        depth=Fraction(1) if depth is None else Fraction(depth[1], depth[0]),
        head=head_growth({path: pair.growth(path) for path, pair in shapes.items()}),
    )
    forward = multipliers(
        optimiser,
        tied="tied" in assigned.values(),
        branches=depth is not None,
        heads=ratios.head != 1,
        depth_exponent=depth_exponent,
    )
    parameters = {path: parameter(path, role) for path, role in assigned.items()}
    return Scaler(parameters, forward, ratios, optimiser, base)


def _check_growth(shapes: Mapping[str, Shapes]) -> None:
    """Refuse two trees of the same shapes."""
    if all(pair.base == pair.target for pair in shapes.values()):
        path, pair = next(iter(shapes.items()))
        raise ConfigurationError(
            "base_params",
            f"all shapes are those of params ({path}: {pair.base}), so no width can be seen to grow; "
            "give the parameters of a model of another width",
        )


def _paired(target: Mapping[str, Leaf], base: Mapping[str, Leaf]) -> dict[str, Shapes]:
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
    _check_depth(depth, depth_exponent)
    patterns = [branches] if isinstance(branches, str) else branches
    selected = {path for pattern in patterns for path in matching(pattern, shapes, "branches")}
    for path in sorted(selected):
        base, target = shapes[path]
        if depth[0] != depth[1] and len(base) > 1 and (base[0], target[0]) == tuple(depth):
            raise ConfigurationError(
                path,
                f"has shape {target} and base shape {base}, a stack of {depth[1]} and of {depth[0]} blocks; "
                "give base_params the depth of the target",
            )
    return selected


def _check_depth(depth: tuple[int, int], depth_exponent: float) -> None:
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
