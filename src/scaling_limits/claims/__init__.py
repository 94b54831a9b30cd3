"""Kinds of claims, one module each.

Each module defines a model `Claim`, derived from `base.ClaimBase`, which measures itself on records. Reading a
configuration imports all of these modules, so they import pandas and SciPy only inside the functions that use them.
"""

from collections.abc import Mapping
from functools import cache
from inspect import isabstract
from types import ModuleType
from typing import Protocol, cast

from scaling_limits.claims.base import ClaimBase
from scaling_limits.errors import ConfigurationError
from scaling_limits.registry import Registry

registry: Registry[ModuleType] = Registry(
    "kind of claim",
    {
        kind: f"scaling_limits.claims.{kind}"
        for kind in (
            "optimum_stays",
            "optimum_moves",
            "transfer_cost",
            "improves_with",
            "bound",
            "rank_correlation",
            "slope",
            "agrees_with",
            "gap",
            "no_gain",
            "flatter",
            "slope_difference",
            "level_set",
        )
    },
    "scaling_limits.claims",
    ("Claim",),
)


class Kind(Protocol):
    """Protocol of the module of a kind of claim."""

    Claim: type[ClaimBase]


@cache
def models() -> Mapping[str, type[ClaimBase]]:
    """Return the model of each kind of claim, the kinds of this package first.

    Raises:
        ConfigurationError: a package's kind cannot be imported, or its `Claim` is not a complete subclass of
            `ClaimBase`.
    """
    return {kind: _model(kind) for kind in registry.modules}


def _model(kind: str) -> type[ClaimBase]:
    model = cast(Kind, registry.part(kind)).Claim
    where = f"kind of claim '{kind}': {model.__module__}.Claim"
    if not issubclass(model, ClaimBase):
        raise ConfigurationError(
            None, f"{where} should be derived from {ClaimBase.__module__}.ClaimBase"
        )
    if isabstract(model):
        missing = ", ".join(sorted(model.__abstractmethods__))
        raise ConfigurationError(None, f"{where} does not define {missing}")
    return model
