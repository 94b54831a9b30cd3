"""Resolution of the user's settings to the cells that are computed."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from scaling_limits.algorithms import registry
from scaling_limits.cells import (
    AlgorithmSpec,
    Cell,
    CellSettings,
    DatasetSpec,
    Fields,
    MeasurementSpec,
    NetworkSpec,
    OptimiserSpec,
    RoleScaling,
)
from scaling_limits.configuration import representable
from scaling_limits.configuration.models import MeasurementPlan, Resources
from scaling_limits.configuration.parts import Parts, choose, compose
from scaling_limits.costs.compiling import compiled
from scaling_limits.costs.memory import batch_size
from scaling_limits.datasets import catalogue
from scaling_limits.datasets import settings as dataset_settings
from scaling_limits.errors import ConfigurationError
from scaling_limits.networks.layers import Layer
from scaling_limits.parameterisations import settings as parameterisation_settings
from scaling_limits.parameterisations import table
from scaling_limits.parameterisations.powers import EXPONENTS
from scaling_limits.registry import Registry
from scaling_limits.strict import Strict
from scaling_limits.training import settings as training_settings


class Resolved(NamedTuple):
    """Validated settings, an instance of the combined declarations of their parts, and the resulting cell."""

    settings: CellSettings
    cell: Cell

    def reseeded(self, seed: int) -> "Resolved":
        """Return the same with another seed; nothing else depends on the seed."""
        change = {"seed": seed}
        return Resolved(
            self.settings.model_copy(update=change), self.cell.model_copy(update=change)
        )


@dataclass(frozen=True)
class Resolver:
    """Resolves settings to cells, with the resources of a job and the user's datasets, rows and algorithms.

    The numbers of a row are computed once for each network and not for each cell.
    """

    resources: Resources
    user_datasets: Mapping[str, Path]
    rows: Sequence[table.Row] = ()
    algorithms: Registry[object] = registry
    _known: dict[str, table.Parameterisation] = field(default_factory=dict)

    def resolve(
        self, values: Mapping[str, object], plans: Mapping[str, MeasurementPlan]
    ) -> Resolved:
        """Return the validated settings and their cell; settings that are None count as absent.

        Args:
            values: the settings.
            plans: the steps of each measurement.

        Raises:
            ConfigurationError: a name is unknown, or settings are incompatible or would have no effect. The error
                carries the key of the setting at fault, if there is one.
        """
        specified = {key: value for key, value in values.items() if value is not None}
        parts = choose(specified, plans, self.algorithms)
        settings = compose(specified, parts)
        # limits compute in float64
        dtype = settings.dtype if settings.limit is None else "float64"
        representable.refuse_settings(settings, dtype)
        dataset = dataset_settings.spec(
            settings, catalogue.info(settings.dataset, self.user_datasets)
        )
        # tables of settings show the number of steps even if epochs are given
        num_steps = training_settings.num_steps(settings, dataset.num_train)
        settings = settings.model_copy(update={"num_steps": num_steps})
        cell = self._cell(settings, plans, parts, dataset, dtype)
        for computed in parts.computed:
            if hasattr(computed, "refuse"):
                computed.refuse(cell)
        count = batch_size(cell, self.resources.cells_per_batch, **self.resources.memory)
        return Resolved(
            settings,
            cell.model_copy(update={"cells_per_batch": count, "compiled": compiled(cell)}),
        )

    def _cell(
        self,
        settings: CellSettings,
        plans: Mapping[str, MeasurementPlan],
        parts: Parts,
        dataset: DatasetSpec,
        dtype: str,
    ) -> Cell:
        """Return the cell of valid settings, before its cells per batch are chosen.

        Raises:
            ConfigurationError: nothing would be computed, or `dtype` cannot represent a number.
        """
        num_steps = settings.num_steps
        schedule = settings.learning_rate_schedule
        network: NetworkSpec = parts.network.spec(settings, dataset)
        layers = _layers(network, parts)
        parameterisation = self._parameterisation(settings, network, layers, parts.optimiser, dtype)
        frozen = tuple(sorted({layer.name for layer in layers if layer.role in settings.frozen}))
        rates = _rate_keys(settings, layers, frozen)
        cell = Cell(
            limit=settings.limit,
            dataset=dataset,
            network=network,
            init_distribution=parameterisation.init_distribution,
            scaling=_at_rates(parameterisation.scaling, settings, rates),
            algorithm=_algorithm(settings, parts, parameterisation.inference_step),
            optimiser=_optimiser(settings, parts.optimiser),
            frozen=frozen,
            seed=settings.seed,
            label_smoothing=settings.label_smoothing or None,
            augmentation=_augmentation(settings, dataset),
            learning_rate_schedule=None if schedule == "constant" else schedule,
            warmup_steps=training_settings.warmup_steps(settings, num_steps),
            averaged_records=training_settings.averaged_records(settings, num_steps),
            num_feedback_steps=getattr(settings, "num_feedback_steps", None),
            num_steps=num_steps,
            batch_size=min(settings.batch_size, dataset.num_train),
            measurements=_measurements(plans, num_steps),
            dtype=settings.dtype,
            cells_per_batch=1,
            device=self.resources.device,
        )
        if not (num_steps or cell.measurements):
            raise ConfigurationError(
                "num_steps",
                "with 0 nothing is trained, and nothing is measured at step 0: name a measurement",
            )
        representable.refuse_numbers(cell, settings, parameterisation.scaling, rates, dtype)
        return cell

    def _parameterisation(
        self,
        settings: CellSettings,
        network: NetworkSpec,
        layers: Iterable[Layer],
        optimiser: ModuleType,
        dtype: str,
    ) -> table.Parameterisation:
        """Return the numbers of a row, cached by everything on which they depend."""
        inputs = {
            "scheme": settings.parameterisation,
            "optimiser": settings.optimiser,
            "width": settings.width,
            "depth": settings.scaled_depth,
            "input_dim": network.input_dim,
            "feedback_dim": None if network.feedback is None else network.output_dim,
            "base_width": settings.base_width,
            "base_depth": settings.base_depth,
            "skip": network.skip,
            "exponent_changes": settings.exponent_changes,
            "weights": {layer.name: (layer.role, layer.scaled_by) for layer in layers},
            "pivot_width": settings.pivot_width,
            "pivot_depth": settings.pivot_depth,
        }
        factors = _declared(settings, table.Factors.__dataclass_fields__)
        exponents = _exponents(settings, optimiser)
        key = json.dumps([inputs, factors, exponents, dtype], sort_keys=True)
        if key not in self._known:
            rows = [*self.rows, *table.TABLE]
            row = table.find_row(settings.parameterisation, settings.optimiser, rows)
            # a row need not use exponents of the algorithm, such as e_B of the Gauss-Newton target
            used = {
                *row.exponents(skip=network.skip),
                *parameterisation_settings.Settings.model_fields,
            }
            parameterisation = table.resolve(
                **inputs,
                factors=table.Factors(**factors),
                exponents=table.Exponents(**{k: v for k, v in exponents.items() if k in used}),
                rows=rows,
            )
            representable.refuse_scaling(parameterisation.scaling, settings, dtype)
            self._known[key] = parameterisation
        return self._known[key]


def _declared(settings: Strict, names: Iterable[str]) -> Fields:
    """Return the named settings, restricted to those that the selected parts declare."""
    return {name: getattr(settings, name) for name in _known(type(settings), tuple(names))}


@cache
def _known(declared: type[Strict], names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name in declared.model_fields)


def _exponents(settings: CellSettings, optimiser: ModuleType) -> dict[str, float | None]:
    """Return the exponents in the settings and those that the optimiser supplies; e_B is 0 without preconditioning."""
    supplied = optimiser.exponents(settings) if hasattr(optimiser, "exponents") else {}
    return {"preconditioner_exponent": 0.0, **_declared(settings, EXPONENTS), **supplied}


def _augmentation(settings: CellSettings, dataset: DatasetSpec) -> tuple[str, ...] | None:
    """Return the changes applied to training images, each once.

    Raises:
        ConfigurationError: the data are not images.
    """
    if settings.augmentation and len(dataset.input_shape) < 2:
        raise ConfigurationError(
            "augmentation",
            f"is of images, the data have {dataset.input_shape[0]} inputs; leave it out",
        )
    return tuple(sorted(set(settings.augmentation))) or None


def _algorithm(settings: CellSettings, parts: Parts, inference_step: float) -> AlgorithmSpec:
    part = parts.algorithm
    model: type[AlgorithmSpec] = getattr(part, "Options", AlgorithmSpec)
    options = _declared(settings, model.model_fields)
    if hasattr(part, "options"):
        options |= part.options(settings, inference_step)
    return model(name=settings.algorithm, file=parts.file, **options)


def _optimiser(settings: CellSettings, part: ModuleType) -> OptimiserSpec:
    model: type[OptimiserSpec] = getattr(part, "Spec", OptimiserSpec)
    options = _declared(settings, model.model_fields)
    if hasattr(part, "options"):
        options |= part.options(settings)
    return model(name=settings.optimiser, **options)


def _layers(network: NetworkSpec, parts: Parts) -> tuple[Layer, ...]:
    """Return the layers of forward and feedback weights."""
    feedback = () if network.feedback is None else parts.network.feedback_layers(network)
    return (*parts.network.layers(network), *feedback)


def _rate_keys(
    settings: CellSettings, layers: Iterable[Layer], frozen: Collection[str]
) -> dict[str, str]:
    """Return the setting of the learning rate of each trained layer."""
    return {
        layer.name: training_settings.rate_key(settings, layer.role)
        for layer in layers
        if layer.name not in frozen
    }


def _at_rates(
    scaling: Mapping[str, RoleScaling], settings: CellSettings, rates: Mapping[str, str]
) -> dict[str, RoleScaling]:
    """Replace each role's learning-rate factor by its learning rate; `rates` names the settings of trained roles."""

    def rate(role: str) -> float:
        # weights that are not trained have no learning rate
        return (getattr(settings, rates[role]) or 0.0) if role in rates else 0.0

    return {
        role: numbers.model_copy(update={"learning_rate": rate(role) * numbers.learning_rate})
        for role, numbers in scaling.items()
    }


def _measurements(
    plans: Mapping[str, MeasurementPlan], num_steps: int
) -> tuple[MeasurementSpec, ...]:
    specs = []
    for name, plan in sorted(plans.items()):
        chosen = {num_steps if step == "end" else step for step in plan.steps}
        steps = tuple(sorted(step for step in chosen if step <= num_steps))
        if steps:
            specs.append(MeasurementSpec(name=name, steps=steps))
    return tuple(specs)
