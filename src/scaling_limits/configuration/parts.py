"""The parts that settings choose by name, and what these declare together.

Nothing here knows a part: registries find them, and each declares its own settings in a class `Settings`, what does
not go together in `refuse`, and in `READS` which of a row's numbers it reads that others have no use for.
"""

import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from pydantic import Field, ValidationError, create_model
from pydantic.fields import FieldInfo

from scaling_limits import algorithms, limits, losses, measurements, networks, optimisers
from scaling_limits.cells import CellSettings
from scaling_limits.configuration.files import dotted, explain, told
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
"""What all cells declare, room by room: each has `Settings`, and may have `refuse`."""
_REGISTRIES: Mapping[str, Registry[object]] = {
    "network": networks.registry,
    "algorithm": algorithms.registry,
    "limit": limits.registry,
    "loss": losses.registry,
    "optimiser": optimisers.registry,
}


class Names(Strict):
    """The parts of a cell by name."""

    dataset: str = Field(description="or one of your own, by `data.datasets`")
    network: str = Field(
        default=networks.DEFAULT, description="fully connected if absent, or one for images"
    )
    parameterisation: str = Field(description="a scheme of the table, or of your own rows")
    algorithm: str = Field(description="or one of your own, by `algorithms`")
    limit: str | None = Field(
        default=None, description="computed by this limit of the training instead of by training"
    )
    loss: str = Field(
        default=losses.DEFAULT,
        description="half the squared distance if absent, or of one-hot targets the cross-entropy",
    )
    optimiser: str = Field(description="the row is that of the scheme and this")


@dataclass(frozen=True)
class Parts:
    """The modules of the chosen parts; `file` is the file of a user's own algorithm, whose module there is only if
    it declares something.
    """

    network: ModuleType
    algorithm: ModuleType | None
    limit: ModuleType | None
    loss: ModuleType
    optimiser: ModuleType
    measurements: tuple[ModuleType, ...]
    file: str | None = None

    @property
    def computed(self) -> tuple[ModuleType, ...]:
        """The parts that may refuse resolved cells: measurements and limit."""
        return self.measurements if self.limit is None else (*self.measurements, self.limit)

    def __iter__(self) -> Iterator[ModuleType]:
        named = (self.network, self.algorithm, self.limit, self.loss, self.optimiser)
        return (part for part in (*named, *self.measurements) if part is not None)


def choose(
    values: Mapping[str, object], measured: Iterable[str], user_algorithms: Mapping[str, Path]
) -> Parts:
    """The parts that these settings name.

    Raises:
        ConfigurationError: there is no such part; says the nearest one.
    """
    names = {"network": networks.DEFAULT, "loss": losses.DEFAULT, **values}
    for key in ("algorithm", "optimiser"):
        if key not in names:
            valid = ", ".join(_REGISTRIES[key].modules)
            raise ConfigurationError(key, f"is needed. Valid: {valid}")
    file = _own_file(str(names["algorithm"]), user_algorithms)
    found = {
        key: _part(key, registry, str(names[key]))
        for key, registry in _REGISTRIES.items()
        if key in names and not (key == "algorithm" and file)
    }
    if hasattr(found["loss"], "Settings"):
        # none would reach the loss: its functions take outputs and targets alone
        raise ConfigurationError(
            "loss", f"'{names['loss']}' declares Settings, and a loss has none"
        )
    algorithm = found["algorithm"] if file is None else algorithms.own.declaration(file)
    return Parts(
        found["network"],
        algorithm,
        found.get("limit"),
        found["loss"],
        found["optimiser"],
        tuple(_part(name, measurements.registry, name) for name in sorted(measured)),
        file,
    )


def _part(key: str, registry: Registry[object], name: str) -> ModuleType:
    """The part of a registry that a setting or a measurement names."""
    if name not in registry.modules:
        raise ConfigurationError(key, unknown(registry.kind, name, registry.modules))
    return registry.part(name)


def _own_file(algorithm: str, user: Mapping[str, Path]) -> str | None:
    """The file of a user's own algorithm; None for one of the project."""
    known = algorithms.registry.modules
    if algorithm in user:
        file = user[algorithm].as_posix()
        algorithms.own.check(algorithm, file)
        return file
    if algorithm not in known:
        raise ConfigurationError("algorithm", unknown("algorithm", algorithm, [*known, *user]))
    return None


def compose(values: Mapping[str, object], parts: Parts) -> CellSettings:
    """The settings that the chosen parts declare together, validated: an instance of a class derived from theirs.

    Raises:
        ConfigurationError: starts with the key of a setting that is unknown, that no chosen part declares, or whose
            value is not valid.
    """
    model = _composed(tuple(_declared(parts)))
    for key in values:
        if key not in model.model_fields:
            raise ConfigurationError(key, _idle(key, values[key]))
    whole = _whole_numbers(model)
    try:
        settings = model.model_validate(
            {key: _written_out(value) if key in whole else value for key, value in values.items()}
        )
    except ValidationError as error:
        entry = told(error)[0]
        key = dotted(entry["loc"])
        problem = explain(entry, "setting", model.model_fields)
        if entry["type"] == "missing":
            problem = f"is needed{_where_declared(key)}"
        raise ConfigurationError(key, problem) from None
    for key, value in values.items():
        # a number may be written as text, but `true` would be 1
        if isinstance(value, bool) and not isinstance(getattr(settings, key), bool):
            raise ConfigurationError(key, f"should be a number, not {str(value).lower()}")
    for declaring in (*COMMON, *(part for part in parts if part not in parts.computed)):
        if hasattr(declaring, "refuse"):
            declaring.refuse(settings)
    _refuse_unread(settings, parts)
    _refuse_unobserved(parts, settings)
    return settings


@cache
def _whole_numbers(model: type[Strict]) -> frozenset[str]:
    """The settings that may be whole numbers."""

    def has(kind: object) -> bool:
        return kind is int or any(map(has, typing.get_args(kind)))

    return frozenset(name for name, field in model.model_fields.items() if has(field.annotation))


def _written_out(value: object) -> object:
    """A whole number for text as `1e5`: on the command line numbers arrive as text."""
    if not isinstance(value, str):
        return value
    try:
        number = float(value)
    except ValueError:
        return value
    return int(number) if number.is_integer() else value


def _declared(parts: Iterable[ModuleType]) -> list[type[Strict]]:
    """The classes that these parts declare, without those that another one is derived from."""
    found = dict.fromkeys(p.Settings for p in (*COMMON, *parts) if hasattr(p, "Settings"))
    return [each for each in found if not any(o is not each and issubclass(o, each) for o in found)]


@cache
def _composed(classes: tuple[type[Strict], ...]) -> type[CellSettings]:
    bases: tuple[type[Strict], ...] = (Names, *classes, CellSettings)
    return cast(type[CellSettings], create_model("Settings", __base__=bases))


@cache
def every_part() -> tuple[tuple[str, str, ModuleType], ...]:
    """(what chooses it, name, module) of every part of the project."""
    registries = {**_REGISTRIES, "measurements": measurements.registry}
    return tuple(
        (key, name, registry.part(name))
        for key, registry in registries.items()
        for name in registry.modules
    )


def every_setting() -> type[Strict]:
    """The model that all parts of the project declare together."""
    return _composed(tuple(_declared(part for _, _, part in every_part())))


@cache
def fields() -> dict[str, FieldInfo]:
    """All settings that there are, by name."""
    return dict(every_setting().model_fields)


def _where_declared(key: str) -> str:
    """With which parts a setting goes; nothing for one of all cells."""
    owners = _owners(lambda part: key in getattr(part, "Settings", Strict).model_fields)
    return f" with {owners}" if owners else ""


def _idle(key: str, value: object) -> str:
    if key not in fields():
        return unknown("setting", key, fields())
    return f"{value} acts only{_where_declared(key)}; leave it out"


def _owners(wanted: Any) -> str:
    """The parts for which `wanted` holds, as 'algorithm: a or b'."""
    found: dict[str, list[str]] = {}
    for key, name, part in every_part():
        if wanted(part):
            found.setdefault(key, []).append(name)
    return ", or ".join(f"{key}: {' or '.join(names)}" for key, names in found.items())


def _refuse_unobserved(parts: Parts, settings: CellSettings) -> None:
    """Refuse an optimiser that needs more in addition to gradients than the algorithm gives."""
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
    """Refuse changes of a row's numbers that no chosen part reads; a user's own algorithm may read all."""
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
