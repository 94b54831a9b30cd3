"""From the settings that a user writes to the cells that are computed."""

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from scaling_limits import algorithms, limits, measurements, networks
from scaling_limits.cells import (
    AlgorithmSpec,
    Cell,
    DatasetSpec,
    MeasurementSpec,
    NetworkSpec,
    OptimiserSpec,
)
from scaling_limits.configuration.models import MeasurementPlan, Resources, Settings
from scaling_limits.datasets import catalogue
from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.measurements import requirements
from scaling_limits.networks import image_layers
from scaling_limits.parameterisations import table
from scaling_limits.pipeline.memory import batch_size

STEPWISE = ("gradient_descent", "adam")
INFERENCE_DEFAULTS = {
    "activity_initialisation": "forward",
    "inference_order": "synchronous",
    "fixed_predictions": False,
}
# pc-tp App. E
FEEDBACK_DEFAULTS = {
    "difference_correction": False,
    "target_step": 0.01,
    "feedback_loss": "reconstruction",
    "feedback_weight_decay": 1e-4,
    "num_feedback_steps": 0,
}


def resolve(
    settings: Settings,
    plans: Mapping[str, MeasurementPlan],
    *,
    resources: Resources,
    user_datasets: Mapping[str, Path],
    user_algorithms: Mapping[str, Path],
    rows: Sequence[table.Row],
) -> Cell:
    """Resolve settings into a cell.

    Raises:
        ConfigurationError: an unknown name, or settings that do not go together or would change nothing.
    """
    networks.registry.module(settings.network)
    file = _own_file(settings.algorithm, user_algorithms)
    _refuse_impossible(settings)
    if file is None:
        _refuse_inference(settings)
    settings = _feedback(settings, file)
    if settings.inference in STEPWISE:
        settings = _filled(settings, INFERENCE_DEFAULTS)
    dataset = _dataset(settings, user_datasets)
    network = _network(settings, dataset)
    weights = _weights(network)
    rows = [*rows, *table.TABLE]
    parameterisation = table.resolve(
        settings.parameterisation,
        settings.optimiser,
        width=settings.width,
        depth=settings.scaled_depth,
        input_dim=network.input_dim,
        base_width=settings.base_width,
        base_depth=settings.base_depth,
        skip=settings.skip,
        factors=table.Factors(
            init_scale=settings.init_scale,
            output_scale=settings.output_scale,
            branch_multiplier=settings.branch_multiplier,
            energy_weight=settings.energy_weight,
            output_energy_weight=settings.output_energy_weight,
        ),
        exponents=_exponents(settings, rows),
        exponent_changes=settings.exponent_changes,
        weights=weights,
        feedback_dim=None if settings.feedback is None else dataset.target_dim,
        pivot_width=settings.pivot_width,
        pivot_depth=settings.pivot_depth,
        rows=rows,
    )
    _refuse_idle(settings, file, plans)
    cell = Cell(
        limit=settings.limit,
        dataset=dataset,
        network=network,
        init_distribution=parameterisation.init_distribution,
        scaling=parameterisation.scaling,
        algorithm=_algorithm(settings, file, parameterisation.inference_step),
        optimiser=OptimiserSpec(
            name=settings.optimiser,
            learning_rate=settings.learning_rate,
            momentum=settings.momentum,
            beta1=settings.beta1,
            beta2=settings.beta2,
            epsilon=settings.epsilon,
            feedback_learning_rate=settings.feedback_learning_rate,
            feedback_weight_decay=settings.feedback_weight_decay,
        ),
        frozen=_frozen(settings, weights),
        seed=settings.seed,
        num_feedback_steps=settings.num_feedback_steps,
        num_steps=settings.num_steps,
        batch_size=min(settings.batch_size, dataset.num_train),
        measurements=_measurements(plans, settings.num_steps),
        dtype=settings.dtype,
        cells_per_batch=1,
        device=resources.device,
    )
    requirements.refuse(cell)
    if cell.limit is not None:
        limits.registry.get(cell.limit).refuse(cell)
    cells_per_batch = batch_size(cell, resources.cells_per_batch, resources.mem_mb)
    return cell.model_copy(update={"cells_per_batch": cells_per_batch})


def _exponents(settings: Settings, rows: Sequence[table.Row]) -> table.Exponents:
    """The named exponents. That of the preconditioner is the algorithm's, so a row need not use it."""
    row = table.find_row(settings.parameterisation, settings.optimiser, rows)
    preconditioner = settings.preconditioner_exponent
    if "preconditioner_exponent" not in row.exponents(skip=settings.skip):
        preconditioner = None
    return table.Exponents(
        depth_exponent=settings.depth_exponent,
        depth_lr_exponent=settings.depth_lr_exponent,
        energy_weight_exponent=settings.energy_weight_exponent,
        preconditioner_exponent=preconditioner,
    )


def _own_file(algorithm: str, user: Mapping[str, Path]) -> str | None:
    """The file of an algorithm of the user's own; None for one of the project."""
    known = algorithms.registry.modules
    taken = sorted(set(user) & set(known))
    if taken:
        raise ConfigurationError(
            f"algorithms: '{taken[0]}' is an algorithm of the project; choose another name"
        )
    if algorithm in user:
        file = user[algorithm].as_posix()
        algorithms.own.check(algorithm, file)
        return file
    if algorithm not in known:
        raise ConfigurationError(unknown("algorithm", algorithm, [*known, *user]))
    return None


def _algorithm(settings: Settings, file: str | None, inference_step: float) -> AlgorithmSpec:
    steps, rate = settings.num_inference_steps, settings.activity_learning_rate
    return AlgorithmSpec(
        name=settings.algorithm,
        file=file,
        loss=settings.loss,
        inference=settings.inference,
        num_inference_steps=settings.num_hidden_layers if isinstance(steps, str) else steps,
        activity_gradient=settings.activity_gradient,
        activity_initialisation=settings.activity_initialisation,
        inference_order=settings.inference_order,
        fixed_predictions=settings.fixed_predictions,
        activity_learning_rate=None if rate is None else rate * inference_step,
        difference_correction=settings.difference_correction,
        feedback_loss=settings.feedback_loss,
        target_step=settings.target_step,
        feedback_noise=settings.feedback_noise,
        preconditioner_exponent=settings.preconditioner_exponent,
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
    dims = {"one_hot": info.num_classes, "scalar": 1, "gaussian": settings.target_dim}
    target_dim = dims[settings.targets]
    if target_dim is None:
        raise ConfigurationError("target_dim: gaussian targets need it")
    if settings.target_dim not in (None, target_dim):
        raise ConfigurationError(
            f"target_dim: targets: '{settings.targets}' have {target_dim} here; leave it out"
        )
    return DatasetSpec(
        name=settings.dataset,
        checksum=info.checksum,
        input_shape=info.shape if settings.input_shape is None else settings.input_shape,
        num_classes=info.num_classes,
        normalisation=settings.normalisation,
        targets=settings.targets,
        target_dim=target_dim,
        **sizes,
    )


def _network(settings: Settings, dataset: DatasetSpec) -> NetworkSpec:
    return NetworkSpec(
        name=settings.network,
        input_dim=math.prod(dataset.input_shape),
        output_dim=dataset.target_dim,
        width=settings.width,
        num_hidden_layers=settings.num_hidden_layers,
        activation=settings.activation,
        activation_position=settings.activation_position,
        skip=settings.skip,
        mean_subtraction=settings.mean_subtraction,
        input_shape=dataset.input_shape if _is_for_images(settings) else None,
        feedback=settings.feedback,
    )


def _is_for_images(settings: Settings) -> bool:
    return settings.network in image_layers.ARCHITECTURES


def _weights(network: NetworkSpec) -> dict[str, tuple[str, int]] | None:
    """Role and fan-in of all that has numbers of its own; None if that is the roles of an mlp."""
    if network.name not in image_layers.ARCHITECTURES:
        return None
    return {layer.name: (layer.role, layer.fan_in) for layer in image_layers.layers(network)}


def _frozen(settings: Settings, weights: Mapping[str, tuple[str, int]] | None) -> tuple[str, ...]:
    if weights is None:
        return tuple(sorted(set(settings.frozen)))
    return tuple(sorted(name for name, (role, _) in weights.items() if role in settings.frozen))


def _measurements(
    plans: Mapping[str, MeasurementPlan], num_steps: int
) -> tuple[MeasurementSpec, ...]:
    specs = []
    for name, plan in sorted(plans.items()):
        measurements.registry.module(name)
        chosen = {num_steps if step == "end" else step for step in plan.steps}
        steps = tuple(sorted(step for step in chosen if step <= num_steps))
        if steps:
            specs.append(MeasurementSpec(name=name, steps=steps))
    return tuple(specs)


def _refuse_impossible(settings: Settings) -> None:
    if settings.num_hidden_layers < 1:
        raise ConfigurationError(
            f"depth: {settings.depth} {settings.depth_kind} leave no hidden layer"
        )
    for key in ("depth_exponent", "depth_lr_exponent"):
        if getattr(settings, key) is not None and not settings.skip:
            raise ConfigurationError(f"{key}: scales residual branches; it needs skip: true")
    if settings.branch_multiplier != 1.0 and not settings.skip:
        raise ConfigurationError("branch_multiplier: scales residual branches; it needs skip: true")
    if settings.mean_subtraction and not settings.skip:
        raise ConfigurationError("mean_subtraction: acts on residual branches; it needs skip: true")
    if settings.preconditioner_exponent is not None and settings.algorithm != "gauss_newton_target":
        raise ConfigurationError(
            f"preconditioner_exponent: is of gauss_newton_target, not {settings.algorithm}; leave it out"
        )
    if settings.loss == "cross_entropy" and settings.targets != "one_hot":
        raise ConfigurationError("loss: 'cross_entropy' needs targets: one_hot")


def _refuse_idle(settings: Settings, file: str | None, measured: Collection[str]) -> None:
    """Refuse what would change nothing; an algorithm of the user's own may use all but the optimiser's settings."""
    own = file is not None
    sgd = (settings.optimiser == "sgd", "with optimiser: sgd")
    adam = (settings.optimiser == "adam", "with optimiser: adam")
    equilibrium = not requirements.EQUILIBRIA.isdisjoint(measured)
    weighted = own or equilibrium or settings.algorithm == "predictive_coding"
    acting = {
        "momentum": sgd,
        "beta1": adam,
        "beta2": adam,
        "epsilon": adam,
        "energy_weight": (weighted, "with algorithm: predictive_coding"),
        "output_energy_weight": (weighted, "with algorithm: predictive_coding"),
    }
    for key, (acts, where) in acting.items():
        value = getattr(settings, key)
        if not acts and value != Settings.model_fields[key].default:
            raise ConfigurationError(f"{key}: {value} acts only {where}; leave it out")
    if own:
        return
    for role, changes in settings.exponent_changes.items():
        backward = role in table.FEEDBACK_ROLES
        quantities = {
            "branch": (settings.skip and role == "hidden", "on the role hidden with skip: true"),
            "epsilon": adam,
            "energy_weight": (weighted and not backward, "with algorithm: predictive_coding"),
            "step": (settings.inference in STEPWISE, f"with inference: {' or '.join(STEPWISE)}"),
        }
        for quantity in changes:
            acts, where = quantities.get(quantity, (True, ""))
            if backward and settings.feedback is None:
                acts, where = False, "with an algorithm that trains feedback weights"
            if not acts:
                key = f"exponent_changes.{role}.{quantity}"
                raise ConfigurationError(f"{key}: acts only {where}; leave it out")


def _refuse_inference(settings: Settings) -> None:
    required = {
        "num_inference_steps": settings.num_inference_steps,
        "activity_gradient": settings.activity_gradient,
        "activity_learning_rate": settings.activity_learning_rate,
    }
    optional = {
        "activity_initialisation": settings.activity_initialisation,
        "inference_order": settings.inference_order,
        "fixed_predictions": settings.fixed_predictions,
    }
    given = [key for key, value in {**required, **optional}.items() if value is not None]
    if settings.algorithm != "predictive_coding":
        if settings.inference is not None:
            given.insert(0, "inference")
        if given:
            raise ConfigurationError(
                f"{given[0]}: {settings.algorithm} has no inference phase; leave it out"
            )
    else:
        if settings.inference is None:
            raise ConfigurationError(
                "inference: predictive_coding needs one of gradient_descent, adam, exact"
            )
        if settings.inference == "exact":
            linear = settings.activation == "linear" and not _is_for_images(settings)
            if not linear or settings.loss != "mean_squared_error":
                raise ConfigurationError(
                    "inference: 'exact' is a closed form of linear mlps and mean_squared_error, network is "
                    f"'{settings.network}', activation '{settings.activation}', loss '{settings.loss}'; "
                    "use inference 'gradient_descent'"
                )
            if given:
                raise ConfigurationError(
                    f"{given[0]}: exact inference takes no steps; leave it out"
                )
        else:
            missing = [key for key, value in required.items() if value is None]
            if missing:
                raise ConfigurationError(f"{missing[0]}: {settings.inference} inference needs it")
            if settings.inference == "adam" and settings.inference_order == "sequential":
                raise ConfigurationError(
                    "inference_order: adam moves all activities at once; use synchronous"
                )


def _feedback(settings: Settings, file: str | None) -> Settings:
    """The settings with defaults of feedback weights, where the algorithm trains any."""
    required = ("feedback", "feedback_learning_rate")
    if not algorithms.trains_feedback(settings.algorithm, file):
        keys = (*required, "feedback_noise", *FEEDBACK_DEFAULTS)
        given = [key for key in keys if getattr(settings, key) is not None]
        if given:
            raise ConfigurationError(
                f"{given[0]}: {settings.algorithm} trains no feedback weights; leave it out"
            )
        return settings
    missing = [key for key in required if getattr(settings, key) is None]
    if missing:
        raise ConfigurationError(f"{missing[0]}: {settings.algorithm} needs it")
    if settings.network != "mlp" or settings.skip or settings.activation_position != "after_weight":
        raise ConfigurationError(
            "feedback: feedback nodes are those of an mlp without skips, with activation_position: after_weight"
        )
    if settings.feedback_loss == "difference_reconstruction" and settings.feedback_noise is None:
        raise ConfigurationError("feedback_noise: difference_reconstruction needs it")
    return _filled(settings, FEEDBACK_DEFAULTS)


def _filled(settings: Settings, defaults: Mapping[str, object]) -> Settings:
    """The settings with defaults where nothing is given."""
    absent = {key: v for key, v in defaults.items() if getattr(settings, key) is None}
    return settings.model_copy(update=absent)
