"""From the settings that a user writes to the cells that are computed."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from .. import algorithms, measurements, networks
from ..cells import AlgorithmSpec, Cell, DatasetSpec, MeasurementSpec, NetworkSpec, OptimiserSpec
from ..datasets import catalogue
from ..errors import ConfigurationError
from ..parameterisations import table
from .models import MeasurementPlan, Resources, Settings


def resolve(
    settings: Settings,
    plans: Mapping[str, MeasurementPlan],
    *,
    resources: Resources,
    user_datasets: Mapping[str, Path],
    rows: Sequence[table.Row],
) -> Cell:
    """Resolve settings into a cell.

    Raises:
        ConfigurationError: an unknown name, or settings that do not go together.
    """
    _refuse_impossible(settings)
    networks.registry.module(settings.network)
    algorithms.registry.module(settings.algorithm)
    dataset = _dataset(settings, user_datasets)
    output_dim = dataset.num_classes if settings.targets == "one_hot" else 1
    input_dim = math.prod(dataset.input_shape)
    parameterisation = table.resolve(
        settings.parameterisation,
        settings.optimiser,
        width=settings.width,
        num_weight_layers=settings.num_weight_layers,
        input_dim=input_dim,
        output_dim=output_dim,
        base_width=settings.base_width,
        base_depth=settings.base_depth,
        output_scale=settings.output_scale,
        depth_exponent=settings.depth_exponent,
        exponent_changes=settings.exponent_changes,
        pivot_width=settings.pivot_width,
        pivot_depth=settings.pivot_depth,
        rows=[*rows, *table.TABLE],
    )
    steps = settings.num_inference_steps
    return Cell(
        dataset=dataset,
        network=NetworkSpec(
            name=settings.network,
            input_dim=input_dim,
            output_dim=output_dim,
            width=settings.width,
            num_hidden_layers=settings.num_hidden_layers,
            activation=settings.activation,
            activation_position=settings.activation_position,
            skip=settings.skip,
            mean_subtraction=settings.mean_subtraction,
        ),
        init_distribution=parameterisation.init_distribution,
        scaling=parameterisation.scaling,
        algorithm=AlgorithmSpec(
            name=settings.algorithm,
            inference=settings.inference,
            num_inference_steps=settings.num_hidden_layers
            if steps == "num_hidden_layers"
            else steps,
            activity_gradient=settings.activity_gradient,
            activity_learning_rate=(
                None
                if settings.activity_learning_rate is None
                else settings.activity_learning_rate * parameterisation.inference_step
            ),
        ),
        optimiser=OptimiserSpec(
            name=settings.optimiser,
            learning_rate=settings.learning_rate,
            momentum=settings.momentum,
            beta1=settings.beta1,
            beta2=settings.beta2,
            epsilon=settings.epsilon,
        ),
        seed=settings.seed,
        num_steps=settings.num_steps,
        batch_size=min(settings.batch_size, dataset.num_train),
        measurements=_measurements(plans, settings.num_steps),
        dtype=settings.dtype,
        cells_per_batch=resources.cells_per_batch,
        device=resources.device,
    )


def _dataset(settings: Settings, user_datasets: Mapping[str, Path]) -> DatasetSpec:
    info = catalogue.info(settings.dataset, user_datasets)
    if settings.targets == "scalar" and info.num_classes != 2:
        raise ConfigurationError(
            f"targets: 'scalar' needs two classes, dataset '{settings.dataset}' has {info.num_classes}; use 'one_hot'"
        )
    sizes = {}
    for part, available in (("num_train", info.num_train), ("num_test", info.num_test)):
        wanted = getattr(settings, part)
        if wanted is not None and wanted > available:
            raise ConfigurationError(
                f"{part}: {wanted} is more than the {available} of dataset '{settings.dataset}'"
            )
        sizes[part] = available if wanted is None else wanted
    return DatasetSpec(
        name=settings.dataset,
        checksum=info.checksum,
        input_shape=info.shape if settings.input_shape is None else settings.input_shape,
        num_classes=info.num_classes,
        normalisation=settings.normalisation,
        targets=settings.targets,
        **sizes,
    )


def _measurements(
    plans: Mapping[str, MeasurementPlan], num_steps: int
) -> tuple[MeasurementSpec, ...]:
    specs = []
    for name, plan in sorted(plans.items()):
        measurements.registry.module(name)
        steps = tuple(sorted({step for step in plan.steps if step < num_steps}))
        if steps:
            specs.append(MeasurementSpec(name=name, steps=steps))
    return tuple(specs)


def _refuse_impossible(settings: Settings) -> None:
    if settings.num_hidden_layers < 1:
        raise ConfigurationError(
            f"depth: {settings.depth} {settings.depth_kind} leave no hidden layer"
        )
    if settings.depth_exponent is not None and not settings.skip:
        raise ConfigurationError("depth_exponent: scales residual branches; it needs skip: true")
    if settings.mean_subtraction and not settings.skip:
        raise ConfigurationError("mean_subtraction: acts on residual branches; it needs skip: true")
    inference = {
        "num_inference_steps": settings.num_inference_steps,
        "activity_gradient": settings.activity_gradient,
        "activity_learning_rate": settings.activity_learning_rate,
    }
    if settings.algorithm == "backpropagation":
        given = [
            key
            for key, value in {"inference": settings.inference, **inference}.items()
            if value is not None
        ]
        if given:
            raise ConfigurationError(
                f"{given[0]}: backpropagation has no inference phase; leave it out"
            )
    elif settings.algorithm == "predictive_coding":
        if settings.inference is None:
            raise ConfigurationError(
                "inference: predictive_coding needs one of gradient_descent, exact"
            )
        if settings.inference == "exact":
            if settings.activation != "linear":
                raise ConfigurationError(
                    f"inference: 'exact' is a closed form of linear networks, activation is '{settings.activation}'; "
                    "use inference 'gradient_descent' or activation 'linear'"
                )
            given = [key for key, value in inference.items() if value is not None]
            if given:
                raise ConfigurationError(
                    f"{given[0]}: exact inference takes no steps; leave it out"
                )
        else:
            missing = [key for key, value in inference.items() if value is None]
            if missing:
                raise ConfigurationError(f"{missing[0]}: gradient_descent inference needs it")
