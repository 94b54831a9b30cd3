"""Predictive coding: activities are inferred, then each node's weights follow the error of their node."""

from typing import Annotated, Literal

from pydantic import Field

from scaling_limits.algorithms.predictive_coding.stages import stages
from scaling_limits.algorithms.predictive_coding.zero_start import steps_from_zeros
from scaling_limits.cells import AlgorithmSpec, Cell, CellSettings, Fields, TracedOrNone
from scaling_limits.errors import ConfigurationError
from scaling_limits.networks.work import Count
from scaling_limits.parameterisations.settings import EnergyWeights

STEPWISE = ("gradient_descent", "adam")
KINKED = ("relu", "abs")
"""Activations with a kink, at which an equilibrium may lie."""
LEAST_TOLERANCES = {"float32": 1e-6, "float64": 1e-12}
"""Smallest residuals that round-off allows."""
ITERATIONS, PRODUCTS = 5, 6
"""Typical number of iterations until an equilibrium, and of products with the Hessian in each, for estimates."""
_DEFAULTS = {
    "activity_initialisation": "forward",
    "inference_order": "synchronous",
    "fixed_predictions": False,
}

READS = frozenset({"energy_weight", "step"})
"""Quantities of a row that predictive coding uses, in addition to those that all algorithms use."""


class Settings(EnergyWeights):
    """How activities are inferred. Symbols: `num_inference_steps` T, `activity_learning_rate` beta (mupc)."""

    inference: Literal["gradient_descent", "adam", "exact", "equilibrium"] = Field(
        description="how activities are inferred: gradient_descent or adam (steps), exact (closed form, linear "
        "networks) or equilibrium (numerical solver)"
    )
    num_inference_steps: Annotated[int, Field(ge=0)] | Literal["num_hidden_layers"] | None = Field(
        default=None,
        description="number T of inference steps, or num_hidden_layers for H steps; required by "
        "gradient_descent and adam",
    )
    activity_gradient: Literal["batch_mean", "per_sample"] | None = Field(
        default=None,
        description="energy that activities descend: its mean over the batch, or each sample's own; required by "
        "gradient_descent and adam",
    )
    activity_learning_rate: float | None = Field(
        default=None,
        gt=0,
        description="learning rate beta of the activities, before the row's factor; required "
        "by gradient_descent and adam",
    )
    activity_initialisation: Literal["forward", "zeros", "normal"] | None = Field(
        default=None,
        description="initial activities: those of a forward pass, zeros or standard normal draws; "
        "forward if absent",
    )
    inference_order: Literal["synchronous", "sequential"] | None = Field(
        default=None,
        description="order of updates within a step; sequential updates the layers from the output down, each "
        "with the new activities above it, and is not available with adam; synchronous if absent",
    )
    fixed_predictions: bool | None = Field(
        default=None,
        description="whether predictions and their derivatives keep their values at the initial activities; "
        "false if absent",
    )
    inference_tolerance: float | None = Field(
        default=None,
        gt=0,
        description="for gradient_descent and adam: inference ends early, after the first step whose activity "
        "gradient has a norm below this (over all hidden layers and samples of the batch); for "
        "equilibrium (required): largest allowed entry of the activity gradient of a sample's own "
        "energy",
    )
    activity_decay: float | None = Field(
        default=None,
        ge=0,
        description="strength alpha of activity decay: alpha/2 times the sum of squares of all hidden activities "
        "is added to the energy of inference",
    )


class Options(AlgorithmSpec):
    """The options of a cell; with `exact` inference only `inference`, with `equilibrium` also a tolerance and `smooth`.

    `sequential` inference updates the layers from the output down, each using the new values above it. With
    `fixed_predictions`, the predictions and their derivatives remain those of the initial activities. `smooth` is true
    if the network has no kinks, at which an equilibrium may lie; it is absent if inference takes steps in a network
    without kinks.
    """

    inference: Literal["gradient_descent", "adam", "exact", "equilibrium"]
    num_inference_steps: int | None = None
    activity_gradient: Literal["batch_mean", "per_sample"] | None = None
    activity_initialisation: Literal["forward", "zeros", "normal"] | None = None
    inference_order: Literal["synchronous", "sequential"] | None = None
    fixed_predictions: bool | None = None
    activity_learning_rate: TracedOrNone = None
    smooth: bool | None = None
    inference_tolerance: TracedOrNone = None
    activity_decay: TracedOrNone = None


def options(settings: CellSettings, inference_step: float) -> Fields:
    """Return the options of a cell; `inference_step` is the row's factor of the activity learning rate."""
    values = {name: getattr(settings, name) for name in Settings.model_fields}
    chosen = {name: value for name, value in values.items() if name in Options.model_fields}
    if settings.inference == "exact":
        return chosen
    kinks = settings.activation in KINKED
    if settings.inference == "equilibrium":
        return chosen | {"smooth": not kinks}
    if kinks:
        # measurements of the distance from an equilibrium need it
        chosen["smooth"] = False
    if settings.num_inference_steps == "num_hidden_layers":
        chosen["num_inference_steps"] = settings.num_hidden_layers
    chosen["activity_learning_rate"] *= inference_step
    absent = {name: value for name, value in _DEFAULTS.items() if chosen[name] is None}
    return chosen | absent


def metrics(cell: Cell) -> set[str]:
    """Return the metrics recorded at every step."""
    options = cell.algorithm
    result = {"train_loss", "inferred_loss", "energy"}
    if options.inference == "equilibrium":
        result |= {"inference_residual", "inference_unreached"}
    return result if options.inference_tolerance is None else {*result, "inference_steps"}


def refuse(settings: CellSettings) -> None:
    """Reject settings of inference that are missing, unused or incompatible.

    Raises:
        ConfigurationError: naming the key.
    """
    required = ("num_inference_steps", "activity_gradient", "activity_learning_rate")
    if settings.inference in ("exact", "equilibrium"):
        idle = (*required, *_DEFAULTS, "activity_decay")
        if settings.inference == "exact":
            _refuse_exact(settings)
            idle = (*idle, "inference_tolerance")
        else:
            _refuse_equilibrium(settings)
        for key in idle:
            if getattr(settings, key) is not None:
                raise ConfigurationError(
                    key, f"has no effect with inference: {settings.inference}; leave it out"
                )
    else:
        for key in required:
            if getattr(settings, key) is None:
                raise ConfigurationError(key, f"required by inference: {settings.inference}")
        if settings.inference == "adam" and settings.inference_order == "sequential":
            raise ConfigurationError(
                "inference_order",
                "'sequential' is not available with inference: adam; use synchronous",
            )
        if settings.activity_initialisation == "zeros":
            needed, steps = steps_from_zeros(settings), settings.num_inference_steps
            if needed is None:
                raise ConfigurationError(
                    "fixed_predictions",
                    "with activity_initialisation: zeros, fixed predictions are zero, so only the lowest weights "
                    "learn; use activity_initialisation: forward or normal",
                )
            if steps != "num_hidden_layers" and steps < needed:
                raise ConfigurationError(
                    "num_inference_steps",
                    f"{steps} leaves activities at zero with activity_initialisation: zeros, so the weights above "
                    f"them never learn; use at least {needed}",
                )


def _refuse_exact(settings: CellSettings) -> None:
    linear = settings.network == "mlp" and settings.activation == "linear"
    if not linear or settings.loss != "mean_squared_error":
        raise ConfigurationError(
            "inference",
            "'exact' requires network: mlp, activation: linear and loss: mean_squared_error, not network: "
            f"{settings.network}, activation: {settings.activation} and loss: {settings.loss}; use inference: "
            "gradient_descent",
        )
    if settings.layer_norm:
        raise ConfigurationError(
            "layer_norm",
            "true is not available with inference: exact, which requires linear nodes; use false, or inference: "
            "gradient_descent",
        )
    _refuse_step_changes(settings)


def _refuse_equilibrium(settings: CellSettings) -> None:
    if settings.inference_tolerance is None:
        raise ConfigurationError("inference_tolerance", "required by inference: equilibrium")
    least = LEAST_TOLERANCES[settings.dtype]
    if settings.inference_tolerance < least:
        raise ConfigurationError(
            "inference_tolerance",
            f"{settings.inference_tolerance:g} is below {least:g}, the smallest residual that round-off allows in "
            f"{settings.dtype}; use a larger tolerance, or dtype: float64",
        )
    _refuse_step_changes(settings)


def _refuse_step_changes(settings: CellSettings) -> None:
    for quantity in settings.exponent_changes.get("inference", {}):
        raise ConfigurationError(
            f"exponent_changes.inference.{quantity}",
            f"acts only with inference: {' or '.join(STEPWISE)}; leave it out",
        )


def work(cell: Cell, count: Count) -> None:
    """Add the work of the closed form or of inference; with a tolerance, of the maximum number of steps."""
    options = cell.algorithm
    count.forward()
    if options.inference == "exact":
        outputs, batch = cell.network.output_dim, cell.batch_size
        units = sum(layer.units for layer in count.layers)
        count.jacobians(1)
        # the rescaling matrix, its inverse, and the errors computed from them
        count.multiply_adds(units * (outputs + batch) * outputs + outputs**3)
        count.activities(2, count.layers)
        count.backward()
    elif options.inference == "equilibrium":
        _equilibrium_work(cell, count)
    else:
        _inference_work(cell, count)
    count.weight_gradients()


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory of the loop over inference steps, or of the closed form."""
    options = cell.algorithm
    if options.inference == "exact":
        return {"units": 4}
    if options.inference == "equilibrium":
        # the state of conjugate gradients, and the values kept to repeat products
        return {"units": 16}
    if options.inference_order == "sequential":
        return {"units": 2 if options.fixed_predictions else 6}
    return {"units": 8}


def _equilibrium_work(cell: Cell, count: Count) -> None:
    """Add the work of as many iterations as wide networks take; the actual number is not known in advance."""
    with count.repeated(ITERATIONS):
        # gradients and residual at the new point, its energy, and the products
        for _ in range(3):
            count.forward()
        count.backward()
        count.backward()
        with count.repeated(PRODUCTS):
            count.forward()
            count.backward()
            count.backward()
    count.forward()


def _inference_work(cell: Cell, count: Count) -> None:
    options = cell.algorithm
    sequential = options.inference_order == "sequential"
    count.at_once(count.above_input)
    done = 0
    for end, num_moving in stages(options, cell.network.num_hidden_layers, cell.compiled):
        reached = count.topmost(num_moving)
        with count.repeated(end - done):
            if not options.fixed_predictions:
                count.at_once(reached)
            if sequential:
                # the new activities of each layer change the gradient of the layer below
                count.products(reached)
            else:
                count.at_once(reached)
                count.shifts(reached)
            count.activities(2, reached)
        done = end
    if not options.fixed_predictions:
        count.at_once(count.above_input)
