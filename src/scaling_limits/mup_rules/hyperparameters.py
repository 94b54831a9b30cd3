"""Hyperparameters of optax's constructors, multiplied by the factors of a group of parameters."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import optax

from scaling_limits.errors import ConfigurationError
from scaling_limits.mup_rules.rules import Optimiser, Ratios, Rule

_EMPTY = inspect.Parameter.empty
_RESCALED = ("learning_rate", "eps", "eps_root", "weight_decay")


def complete(
    inner: Callable[..., object], hyperparameters: Mapping[str, object], optimiser: Optimiser
) -> dict[str, object]:
    """Return the hyperparameters of a constructor, with the defaults of those that are rescaled.

    Args:
        inner: a constructor such as `optax.adamw`.
        hyperparameters: its keyword arguments.
        optimiser: the update rule that the powers are for.

    Raises:
        ConfigurationError: `inner` is no constructor, does not take these arguments, or is another update rule.
    """
    if isinstance(inner, optax.GradientTransformation) or not callable(inner):
        raise ConfigurationError(
            "inner",
            f"is a {type(inner).__name__}; give a constructor and its hyperparameters, as in "
            "optimiser(optax.adamw, learning_rate=1e-3), as each group of parameters has its own",
        )
    name = getattr(inner, "__name__", "inner")
    signature = inspect.signature(inner)
    try:
        signature.bind(**hyperparameters)
    except TypeError as error:
        raise ConfigurationError(
            "hyperparameters", f"{name}: {error}; valid: {', '.join(signature.parameters)}"
        ) from None
    _check_update_rule(inner, name, "eps" in signature.parameters, optimiser)
    defaults = {
        key: signature.parameters[key].default
        for key in _RESCALED
        if key in signature.parameters and signature.parameters[key].default is not _EMPTY
    }
    return defaults | dict(hyperparameters)


def _check_update_rule(
    inner: Callable[..., object], name: str, has_epsilon: bool, optimiser: Optimiser
) -> None:
    if optimiser == "sgd" and has_epsilon:
        raise ConfigurationError(
            "inner",
            f"{name} takes eps, so its steps do not scale with the gradient as those of SGD; "
            "call mup with optimiser='adam'",
        )
    if optimiser != "sgd" and inner is optax.sgd:
        raise ConfigurationError(
            "inner", f"sgd has other powers than {optimiser}; call mup with optimiser='sgd'"
        )


def rescaled(values: Mapping[str, object], rule: Rule, ratios: Ratios) -> dict[str, object]:
    """Return the hyperparameters of the parameters of a rule."""
    epsilon = rule.epsilon.at(ratios)
    factors = {
        "learning_rate": rule.learning_rate.at(ratios),
        "eps": epsilon,
        # is added under the root
        "eps_root": epsilon**2,
        "weight_decay": rule.weight_decay.at(ratios),
    }
    return {key: _times(factors.get(key, 1.0), value) for key, value in values.items()}


def _times(factor: float, value: Any) -> object:
    """Multiply a number or a schedule; anything else has the factor 1."""
    if factor == 1.0:
        return value
    if callable(value):
        return lambda step: factor * value(step)
    return factor * value
