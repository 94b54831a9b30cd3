"""Roles of parameters, from the axes that grow with the width.

Kernels have Flax's order of axes, `(..., fan_in, fan_out)`. With r the ratio of target to base width, a parameter is

- `hidden` if its number of entries grows by r^2, so both fan-in and fan-out grow,
- `input` if it grows by r and its last axis grows (fan-out alone: embeddings, the first kernel), or if it is a vector
  (biases, scales of norms),
- `output` if it grows by r and its last axis does not (fan-in alone),
- `fixed` if no axis grows.

Axes of heads and head sizes count by their product. `tied`, an embedding that is the readout too, is only declared.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Literal, NamedTuple, get_args

from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.mup_rules.leaves import matching

Role = Literal["input", "hidden", "output", "tied", "fixed"]
ROLES: tuple[Role, ...] = get_args(Role)

_VECTORS = ("bias", "scale")
"""Flax's names of parameters that have no fan-in, whatever their number of axes."""

Growth = tuple[Fraction, ...]
"""Target size over base size of each axis."""


class Shapes(NamedTuple):
    """The shape of a parameter at the base and at the target width."""

    base: tuple[int, ...]
    target: tuple[int, ...]

    def growth(self, path: str) -> Growth:
        """Return target size over base size of each axis.

        Raises:
            ConfigurationError: the numbers of axes differ, or an axis is empty.
        """
        if len(self.base) != len(self.target) or 0 in (*self.base, *self.target):
            raise ConfigurationError(
                path,
                f"has shape {self.target} and base shape {self.base}; the two need the same number of axes, none empty",
            )
        return tuple(map(Fraction, self.target, self.base))


def assign_roles(
    shapes: Mapping[str, Shapes], declared: Mapping[str, str]
) -> tuple[dict[str, Role], Fraction]:
    """Return the role of each parameter and the ratio of target to base width.

    Args:
        shapes: path of a parameter -> its two shapes.
        declared: pattern of paths -> role, which replaces the role that follows from the axes.

    Raises:
        ConfigurationError: a pattern matches no parameter, or two patterns one parameter, a role is unknown or does not
            follow from the axes, axes grow by different ratios, or an embedding may be the readout too.
    """
    explicit = _declared_roles(shapes, declared)
    growths = {path: shape.growth(path) for path, shape in shapes.items()}
    derived = {path: growth for path, growth in growths.items() if path not in explicit}
    ratio, largest = _width_ratio(derived)
    if ratio == 1:
        # all that grows is declared
        ratio, largest = _width_ratio(growths)
    roles = {
        path: explicit.get(path) or _derived_role(path, growth, ratio, largest)
        for path, growth in growths.items()
    }
    if ratio != 1:
        _check_readout(roles, explicit)
    return roles, ratio


def head_growth(growths: Mapping[str, Growth]) -> Fraction:
    """Return the growth of the size of attention heads: of the last axis of Flax's query kernels, 1 without any.

    Raises:
        ConfigurationError: the sizes of heads grow by different ratios.
    """
    sizes = {
        path: growth[-1]
        for path, growth in growths.items()
        if path.split("/")[-2:] == ["query", "kernel"] and len(growth) > 2
    }
    first = next(iter(sizes), "")
    for path, size in sizes.items():
        if size != sizes[first]:
            raise ConfigurationError(
                path,
                f"the size of its heads grows by {size}, but that of {first} by {sizes[first]}; "
                "let the sizes of all heads grow by one ratio",
            )
    return sizes.get(first, Fraction(1))


def _declared_roles(shapes: Mapping[str, Shapes], declared: Mapping[str, str]) -> dict[str, Role]:
    roles: dict[str, Role] = {}
    for pattern, word in declared.items():
        if word not in ROLES:
            raise ConfigurationError(f"roles[{pattern!r}]", unknown("role", word, ROLES))
        for path in matching(pattern, shapes, "roles"):
            if path in roles:
                raise ConfigurationError(
                    f"roles[{pattern!r}]", f"{path} has a role by another pattern already; keep one"
                )
            roles[path] = word
    return roles


def _width_ratio(growths: Mapping[str, Growth]) -> tuple[Fraction, str]:
    """Return the growth of a single axis that is farthest from 1, and the path of its parameter."""
    axes = [(axis, path) for path, growth in growths.items() for axis in growth]
    return max(axes, key=lambda one: abs(math.log(one[0])), default=(Fraction(1), ""))


def _derived_role(path: str, growth: Growth, ratio: Fraction, largest: str) -> Role:
    total = math.prod(growth)
    grows = [axis != 1 for axis in growth]
    if not any(grows):
        return "fixed"
    if total == ratio**2:
        return "hidden"
    if total != ratio:
        raise ConfigurationError(
            path,
            f"its axes grow by {', '.join(map(str, growth))}, but the width of {largest} by {ratio}; let all widths "
            "grow by one ratio, or declare the parameter's role, as in roles={'"
            + path
            + "': 'input'}",
        )
    if grows[-1] or path.split("/")[-1] in _VECTORS:
        return "input"
    if grows == [False, True, False]:
        raise ConfigurationError(
            path,
            "only its middle axis grows, which may be its fan-in or its fan-out; declare its role, as in "
            "roles={'" + path + "': 'input'} (fan-out) or 'output' (fan-in)",
        )
    return "output"


def _check_readout(roles: Mapping[str, Role], declared: Mapping[str, Role]) -> None:
    """Refuse an embedding of a model without other readout, unless its role is declared."""
    if {"output", "tied"} & set(roles.values()):
        return
    for path, role in roles.items():
        if path.split("/")[-1] == "embedding" and role == "input" and path not in declared:
            raise ConfigurationError(
                path,
                "no parameter has the role 'output'; if this embedding is the readout too, declare "
                "roles={'" + path + "': 'tied'}, otherwise 'input'",
            )
