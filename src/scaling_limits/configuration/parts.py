"""The parts that settings select by name, and the settings that these parts declare together.

This module knows no part by name: registries find the parts. Each part declares its settings in a class `Settings`,
rejects invalid combinations in `refuse`, and lists in `READS` the numbers of a parameterisation's row that only some
parts read.
"""

import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import cast

from pydantic import Field, ValidationError, create_model
from pydantic.fields import FieldInfo

from scaling_limits import algorithms, limits, losses, measurements, networks, optimisers
from scaling_limits.cells import CellSettings
from scaling_limits.configuration.validation import dotted, explain, reported_errors
from scaling_limits.datasets import settings as dataset_settings
from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.networks import settings as network_settings
from scaling_limits.parameterisations import settings as parameterisation_settings
from scaling_limits.registry import Registry
from scaling_limits.strict import Strict
from scaling_limits.training import settings as training_settings

COMMON: tuple[ModuleType, ...] = (
    dataset_settings,
    network_settings,
    parameterisation_settings,
    training_settings,
)
"""The declarations that apply to all cells, by subpackage: each module has `Settings` and may have `refuse`."""
_REGISTRIES: Mapping[str, Registry[object]] = {
    "network": networks.registry,
    "algorithm": algorithms.registry,
    "limit": limits.registry,
    "loss": losses.registry,
    "optimiser": optimisers.registry,
}


class Names(Strict):
    """The names of a cell's parts."""

    dataset: str = Field(description="name of the dataset; `data.datasets` adds your own")
    network: str = Field(
        default=networks.DEFAULT,
        description="architecture: fully connected (mlp), convolutional or transformer",
    )
    parameterisation: str = Field(
        description="scheme: a row of the table of parameterisations, or your own"
    )
    algorithm: str = Field(description="learning algorithm; `algorithms` adds your own")
    limit: str | None = Field(
        default=None, description="infinite-size limit that is computed instead of training"
    )
    loss: str = Field(
        default=losses.DEFAULT,
        description="half the squared distance to the targets, or the cross-entropy of one-hot targets",
    )
    optimiser: str = Field(
        description="optimiser of the weights; selects, with the scheme, the row of exponents"
    )


@dataclass(frozen=True)
class Parts:
    """The modules of the selected parts.

    `file` is the file of a user-defined algorithm.
    """

    network: ModuleType
    algorithm: ModuleType
    limit: ModuleType | None
    loss: ModuleType
    optimiser: ModuleType
    measurements: tuple[ModuleType, ...]
    file: str | None = None

    @property
    def computed(self) -> tuple[ModuleType, ...]:
        """The parts whose `refuse` checks the resolved cell instead of the settings: measurements and limit."""
        return self.measurements if self.limit is None else (*self.measurements, self.limit)

    def __iter__(self) -> Iterator[ModuleType]:
        named = (self.network, self.algorithm, self.limit, self.loss, self.optimiser)
        return (part for part in (*named, *self.measurements) if part is not None)


def choose(
    values: Mapping[str, object], measured: Iterable[str], known_algorithms: Registry[object]
) -> Parts:
    """Return the parts that the settings name.

    Args:
        values: the settings.
        measured: the names of the measurements.
        known_algorithms: the registry of algorithms, which includes the user's.

    Raises:
        ConfigurationError: a part does not exist; the message suggests the nearest name.
    """
    names = {"network": networks.DEFAULT, "loss": losses.DEFAULT, **values}
    registries = {**_REGISTRIES, "algorithm": known_algorithms}
    for key in ("algorithm", "optimiser"):
        if key not in names:
            valid = ", ".join(registries[key].modules)
            raise ConfigurationError(key, f"is needed. Valid: {valid}")
    modules = {
        key: _part(key, registry, str(names[key]))
        for key, registry in registries.items()
        if key in names
    }
    if hasattr(modules["loss"], "Settings"):
        # a loss cannot have settings, since its functions only receive outputs and targets
        raise ConfigurationError(
            "loss", f"'{names['loss']}' declares Settings, and a loss has none"
        )
    return Parts(
        modules["network"],
        modules["algorithm"],
        modules.get("limit"),
        modules["loss"],
        modules["optimiser"],
        tuple(_part(name, measurements.registry, name) for name in sorted(measured)),
        known_algorithms.files.get(str(names["algorithm"])),
    )


def _part(key: str, registry: Registry[object], name: str) -> ModuleType:
    """Return the part of a registry that a setting or a measurement names."""
    if name not in registry.modules:
        raise ConfigurationError(key, unknown(registry.kind, name, registry.modules))
    return registry.part(name)


def compose(values: Mapping[str, object], parts: Parts) -> CellSettings:
    """Validate the settings that the selected parts declare together.

    Returns:
        An instance of a class derived from the `Settings` of all selected parts.

    Raises:
        ConfigurationError: a setting is unknown, is not declared by a selected part, or has an invalid value; the error
            carries its key.
    """
    model = _composed(tuple(_declared(parts)))
    for key in values:
        if key not in model.model_fields:
            raise ConfigurationError(key, _idle(key, values[key]))
    integers = _integer_settings(model)
    try:
        settings = model.model_validate(
            {key: _as_integer(value) if key in integers else value for key, value in values.items()}
        )
    except ValidationError as error:
        entry = reported_errors(error)[0]
        key = dotted(entry["loc"])
        problem = explain(entry, "setting", model.model_fields)
        if entry["type"] == "missing":
            problem = f"is needed{_where_declared(key)}"
        raise ConfigurationError(key, problem) from None
    for key, value in values.items():
        # numbers may be given as text, but `true` must not become 1
        if isinstance(value, bool) and not isinstance(getattr(settings, key), bool):
            raise ConfigurationError(key, f"should be a number, not {str(value).lower()}")
    for declaring in (*COMMON, *(part for part in parts if part not in parts.computed)):
        if hasattr(declaring, "refuse"):
            declaring.refuse(settings)
    _refuse_unread(settings, parts)
    _refuse_unobserved(parts, settings)
    return settings


@cache
def _integer_settings(model: type[Strict]) -> frozenset[str]:
    """Return the settings that accept whole numbers."""

    def has(kind: object) -> bool:
        return kind is int or any(map(has, typing.get_args(kind)))

    return frozenset(name for name, field in model.model_fields.items() if has(field.annotation))


def _as_integer(value: object) -> object:
    """Return a text such as `1e5` as a whole number; numbers arrive as text on the command line."""
    if not isinstance(value, str):
        return value
    try:
        number = float(value)
    except ValueError:
        return value
    return int(number) if number.is_integer() else value


def _declared(parts: Iterable[ModuleType]) -> list[type[Strict]]:
    """Return the `Settings` of these parts, without classes from which another one is derived."""
    classes = dict.fromkeys(p.Settings for p in (*COMMON, *parts) if hasattr(p, "Settings"))
    return [
        declared
        for declared in classes
        if not any(other is not declared and issubclass(other, declared) for other in classes)
    ]


@cache
def _composed(classes: tuple[type[Strict], ...]) -> type[CellSettings]:
    bases: tuple[type[Strict], ...] = (Names, *classes, CellSettings)
    return cast(type[CellSettings], create_model("Settings", __base__=bases))


@cache
def every_part() -> tuple[tuple[str, str, ModuleType], ...]:
    """Return (setting that selects it, name, module) of every part of the project."""
    registries = {**_REGISTRIES, "measurements": measurements.registry}
    return tuple(
        (key, name, registry.part(name))
        for key, registry in registries.items()
        for name in registry.modules
    )


def every_setting() -> type[Strict]:
    """Return the model with the settings of all parts of the project."""
    return _composed(tuple(_declared(part for _, _, part in every_part())))


@cache
def fields() -> dict[str, FieldInfo]:
    """Return the fields of all settings by name."""
    return dict(every_setting().model_fields)


def _where_declared(key: str) -> str:
    """Return the parts with which a setting can be used, as text; empty for settings of all cells."""
    owners = _owners(lambda part: key in getattr(part, "Settings", Strict).model_fields)
    return f" with {owners}" if owners else ""


def _idle(key: str, value: object) -> str:
    if key not in fields():
        return unknown("setting", key, fields())
    return f"{value} acts only{_where_declared(key)}; leave it out"


def _owners(wanted: Callable[..., bool]) -> str:
    """Return the parts for which `wanted` holds, as 'algorithm: a or b'."""
    names_by_key: dict[str, list[str]] = {}
    for key, name, part in every_part():
        if wanted(part):
            names_by_key.setdefault(key, []).append(name)
    return ", or ".join(f"{key}: {' or '.join(names)}" for key, names in names_by_key.items())


def _refuse_unobserved(parts: Parts, settings: CellSettings) -> None:
    """Reject an optimiser that needs more than gradients, if the algorithm or the loss does not provide it."""
    missing = set(getattr(parts.optimiser, "NEEDS", ())) - set(
        getattr(parts.algorithm, "OBSERVES", ())
    )
    if missing:
        owners = _owners(lambda part: missing <= set(getattr(part, "OBSERVES", ())))
        raise ConfigurationError(
            "optimiser",
            f"'{settings.optimiser}' needs the {' and '.join(sorted(missing))} of every linear operation, "
            f"which it has only with {owners}",
        )
    if "fisher" in getattr(parts.optimiser, "NEEDS", ()) and not hasattr(parts.loss, "directions"):
        raise ConfigurationError(
            "optimiser",
            f"'{settings.optimiser}' needs the Fisher information of a likelihood, "
            f"which the loss '{settings.loss}' does not say",
        )


def _refuse_unread(settings: CellSettings, parts: Parts) -> None:
    """Reject changes of a row's numbers that no selected part reads; user-defined algorithms may read all numbers."""
    if parts.file is not None or not settings.exponent_changes:
        return
    reads: frozenset[str] = frozenset().union(*(getattr(part, "READS", ()) for part in parts))
    special = frozenset().union(*(getattr(part, "READS", ()) for _, _, part in every_part()))
    for role, changes in settings.exponent_changes.items():
        for quantity in changes:
            if quantity in special - reads:
                owners = _owners(lambda part, q=quantity: q in getattr(part, "READS", ()))
                raise ConfigurationError(
                    f"exponent_changes.{role}.{quantity}", f"acts only with {owners}; leave it out"
                )
