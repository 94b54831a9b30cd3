r"""Predictive coding with supervised targets.

Energy of a sample, with z_0 = x and p_l the network's nodes,

    F = sum_{l<L} gamma_l/2 ||z_l - p_l(z_{l-1})||^2 + gamma_L loss(p_L(z_{L-1}), y)

(pc-tp Eq. 2; mupc Eq. 1 and pcn-limits Eq. 2 have unit weights gamma and the mean squared error).
Activities are inferred, then each node's weights follow its own error, `dW_l = -e_l dp_l/dW_l`. That
is dF/dW_l without gamma_l, as in pc-tp S.33.

*Gradient descent* and *adam* are steps on the activities (`activity_inference`).

*Exact.* For linear nodes p_l(z) = A_l z, mean squared error, B_l = A_L ... A_{l+1} and S = I +
sum_{l<L} (gamma_L/gamma_l) B_l B_l^T, e_L = S^{-1} r and e_l = (gamma_L/gamma_l) B_l^T e_L (pc-tp
Theorem 4.2, with the sign of S.92; mupc Eq. 30-31, pcn-limits Eq. 5, 24, 104).
"""

from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float
from pydantic import Field

from scaling_limits.algorithms.activity_inference import Inferred, energy_weight, infer
from scaling_limits.algorithms.layerwise import output_jacobians, weight_gradients
from scaling_limits.algorithms.problem import Problem
from scaling_limits.cells import AlgorithmSpec, TracedOrNone
from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.networks.network import Params, Scaling, Segment, Stacks
from scaling_limits.parameterisations.settings import EnergyWeights


def gradients(problem: Problem) -> tuple[Params, dict[str, Array]]:
    """Each node's own rule at the inferred activities, a batch mean.

    `problem.numbers["activity_learning_rate"]` is the step beta on the gradient of the batch mean of F
    (`activity_gradient: batch_mean`, so beta/B per sample) or of each sample's own F (`per_sample`);
    `problem.numbers["seed"]` that of normal initial activities, which are the same at each training step.

    Metrics, batch means: `train_loss` of the forward pass, `inferred_loss` of the output's
    prediction after inference, and `energy`, F there.

    Raises:
        ConfigurationError: for options that are missing or do not go together or with the network.
    """
    forward = problem.activities()
    inferred = _infer(problem, forward)
    grads = weight_gradients(problem, inferred.inputs, inferred.errors)
    loss = problem.loss(inferred.output)
    energy = energy_weight(problem, "output") * loss
    for segment, error in zip(problem.network.segments[:-1], inferred.errors[:-1], strict=True):
        weight = energy_weight(problem, segment.role)
        energy = energy + 0.5 * weight * (error**2).sum() / len(problem.x)
    losses = {"train_loss": problem.loss(forward[-1][0]), "inferred_loss": loss}
    return grads, {**losses, "energy": energy}


def errors(problem: Problem) -> Stacks:
    """e_l of each sample at the inferred activities; raises as `gradients` does."""
    return _infer(problem, problem.activities()).errors


def rescaling_matrix(problem: Problem) -> Float[Array, "out out"]:
    """S of a linear network: mean squared error r.r becomes gamma_L r S^{-1} r at equilibrium
    (pcn-limits Eq. 6, mupc 31, pc-tp Theorem 4.2).

    Raises:
        ConfigurationError: if the network is not linear.
    """
    if not problem.network.linear:
        raise ConfigurationError("the rescaling matrix is defined for linear networks only")
    return _linear_response(problem, problem.inputs(problem.activities()))[1]


def _infer(problem: Problem, forward: Stacks) -> Inferred:
    options = problem.options
    if options.inference in ("gradient_descent", "adam"):
        return infer(problem, forward)
    if options.inference == "exact":
        if not problem.network.linear or options.loss != "mean_squared_error":
            raise ConfigurationError(
                "inference: exact is a closed form of linear networks and mean_squared_error; "
                "use gradient_descent, or activation: linear"
            )
        return _exact(problem, forward)
    valid = ["gradient_descent", "adam", "exact"]
    raise ConfigurationError(unknown("inference", options.inference, valid))


def _exact(problem: Problem, forward: Stacks) -> Inferred:
    explained, rescaling = _linear_response(problem, problem.inputs(forward))
    output_error = jnp.linalg.solve(rescaling, (problem.y - forward[-1][0]).T).T
    errors: Stacks = tuple(jnp.einsum("bc,lcn->lbn", output_error, e) for e in explained)
    z, activities = problem.x, []
    nodes = zip(problem.network.segments, problem.params, errors, strict=True)
    for segment, stacked, error in nodes:
        z, stack = _rollout(segment, stacked, problem.scaling, z, error)
        activities.append(stack)
    return Inferred(errors, problem.inputs(tuple(activities)), problem.y - output_error)


def _linear_response(problem: Problem, inputs: Stacks) -> tuple[Stacks, Array]:
    """(gamma_L/gamma_l) B_l `[count, out, units]` of every node, and S."""
    # the Jacobians of a linear network are those of any one sample
    jacobians = output_jacobians(problem, tuple(stack[:, :1] for stack in inputs))
    weights = [energy_weight(problem, segment.role) for segment in problem.network.segments]
    explained, rescaling = [], []
    for jacobian, weight in zip(jacobians, weights, strict=True):
        explained.append(weights[-1] / weight * jacobian[:, 0])
        rescaling.append(jnp.einsum("lcn,ldn->cd", explained[-1], jacobian[:, 0]))
    return tuple(explained), jnp.stack(rescaling).sum(axis=0)


def _rollout(
    segment: Segment, stacked: Any, scaling: Scaling, z: Array, errors: Array
) -> tuple[Array, Array]:
    """The last and all of z_l = p_l(z_{l-1}) + e_l over a run of equal nodes."""

    def step(z: Array, node: tuple[Any, Array]) -> tuple[Array, Array]:
        params, error = node
        z = segment.apply(params, scaling, z) + error
        return z, z

    if segment.count == 1:
        z, _ = step(z, jax.tree.map(lambda leaf: leaf[0], (stacked, errors)))
        return z, z[None]
    return jax.lax.scan(step, z, (stacked, errors))


STEPWISE = ("gradient_descent", "adam")
_DEFAULTS = {
    "activity_initialisation": "forward",
    "inference_order": "synchronous",
    "fixed_predictions": False,
}

READS = frozenset({"energy_weight", "step"})
"""What it reads of a row, besides what all algorithms do."""


class Settings(EnergyWeights):
    """How activities are inferred. Symbols: `num_inference_steps` T, `activity_learning_rate` beta (mupc)."""

    inference: Literal["gradient_descent", "adam", "exact"] = Field(
        description="steps on the activities, or the closed form of linear networks"
    )
    num_inference_steps: Annotated[int, Field(ge=0)] | Literal["num_hidden_layers"] | None = None
    activity_gradient: Literal["batch_mean", "per_sample"] | None = Field(
        default=None,
        description="of the energy that activities descend: the batch mean or the sample's own",
    )
    activity_learning_rate: float | None = Field(default=None, gt=0)
    activity_initialisation: Literal["forward", "zeros", "normal"] | None = Field(
        default=None, description="forward if absent"
    )
    inference_order: Literal["synchronous", "sequential"] | None = Field(
        default=None, description="synchronous if absent"
    )
    fixed_predictions: bool | None = Field(default=None, description="false if absent")


class Options(AlgorithmSpec):
    """Those that a cell holds; `exact` inference has no others.

    `sequential` inference updates the layers from the output down, each from the new values above it; with
    `fixed_predictions` the predictions and their derivatives stay those of the initial activities.
    """

    inference: Literal["gradient_descent", "adam", "exact"]
    num_inference_steps: int | None = None
    activity_gradient: Literal["batch_mean", "per_sample"] | None = None
    activity_initialisation: Literal["forward", "zeros", "normal"] | None = None
    inference_order: Literal["synchronous", "sequential"] | None = None
    fixed_predictions: bool | None = None
    activity_learning_rate: TracedOrNone = None


def options(settings: Any, inference_step: float) -> dict[str, Any]:
    """The options as numbers; `inference_step` is the row's factor of the activity learning rate."""
    given = {name: getattr(settings, name) for name in Settings.model_fields}
    chosen = {name: value for name, value in given.items() if name in Options.model_fields}
    if settings.inference == "exact":
        return chosen
    if settings.num_inference_steps == "num_hidden_layers":
        chosen["num_inference_steps"] = settings.num_hidden_layers
    chosen["activity_learning_rate"] *= inference_step
    absent = {name: value for name, value in _DEFAULTS.items() if chosen[name] is None}
    return chosen | absent


def refuse(settings: Any) -> None:
    """Refuse settings of inference that are missing, idle, or do not go together.

    Raises:
        ConfigurationError: naming the key.
    """
    required = ("num_inference_steps", "activity_gradient", "activity_learning_rate")
    if settings.inference == "exact":
        _refuse_exact(settings)
        for key in (*required, *_DEFAULTS):
            if getattr(settings, key) is not None:
                raise ConfigurationError(f"{key}: exact inference takes no steps; leave it out")
    else:
        for key in required:
            if getattr(settings, key) is None:
                raise ConfigurationError(f"{key}: {settings.inference} inference needs it")
        if settings.inference == "adam" and settings.inference_order == "sequential":
            raise ConfigurationError(
                "inference_order: adam moves all activities at once; use synchronous"
            )


def _refuse_exact(settings: Any) -> None:
    linear = settings.network == "mlp" and settings.activation == "linear"
    if not linear or settings.loss != "mean_squared_error":
        raise ConfigurationError(
            "inference: 'exact' is a closed form of linear mlps and mean_squared_error, network is "
            f"'{settings.network}', activation '{settings.activation}', loss '{settings.loss}'; "
            "use inference 'gradient_descent'"
        )
    for quantity in settings.exponent_changes.get("inference", {}):
        raise ConfigurationError(
            f"exponent_changes.inference.{quantity}: acts only with inference: {' or '.join(STEPWISE)}; leave it out"
        )
