"""Training of a user's model: the loss, the optimiser, and the step that all checks share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.model_check.capture import layer_of
from scaling_limits.model_check.models import Captured, Model

if TYPE_CHECKING:
    import optax
    from jax import Array
    from jaxtyping import PyTree

LossFunction = Callable[["Array", "Array"], "Array"]
Loss = Literal["cross_entropy", "mean_squared_error"] | LossFunction
OptimiserBySize = Callable[
    ..., "optax.GradientTransformation | Mapping[str, optax.GradientTransformation]"
]
"""The optimiser of a width and depth, with hyperparameters by name: see `transformation_of`."""


def loss_of(loss: Loss, outputs: tuple[int, ...], y: Array) -> LossFunction:
    """Return the loss function (outputs, y) -> scalar.

    Args:
        loss: a name, or the function itself.
        outputs: the shape of the model's outputs.
        y: the targets: for `cross_entropy` integer classes, or probabilities of the outputs' shape.

    Raises:
        ConfigurationError: the name is unknown, or the shape of the targets is invalid.
    """
    import jax.numpy as jnp
    import optax

    if callable(loss):
        return loss
    integers = jnp.issubdtype(y.dtype, jnp.integer)
    if loss == "cross_entropy":
        valid = outputs[:-1] if integers else outputs
        entropy = (
            optax.softmax_cross_entropy_with_integer_labels
            if integers
            else optax.softmax_cross_entropy
        )
        function = lambda f, y: entropy(f, y).mean()  # noqa: E731
    elif loss == "mean_squared_error":
        valid = outputs
        function = lambda f, y: optax.l2_loss(f, y).sum(-1).mean()  # noqa: E731
    else:
        raise ConfigurationError(
            "loss", unknown("loss", loss, ("cross_entropy", "mean_squared_error"))
        )
    if y.shape != valid:
        raise ConfigurationError(
            "data",
            f"y has shape {y.shape}; for {loss} with {'integer' if integers else 'real'} targets and outputs of shape "
            f"{outputs}, valid is {valid}",
        )
    return function


def transformation_of(optimiser: object, params: PyTree) -> optax.GradientTransformation:
    """Return the optax transformation of all parameters.

    Args:
        optimiser: a transformation, or one for each pattern of layer names or parameter paths, as in
            {"readout": optax.sgd(0.1), "*": optax.sgd(1.0)}; the first matching pattern decides.
        params: the parameters.

    Raises:
        ConfigurationError: a parameter matches no pattern, a pattern matches no parameter, or it is no transformation.
    """
    import jax
    import optax

    from scaling_limits.mup_rules.leaves import by_path

    if not isinstance(optimiser, Mapping):
        if isinstance(optimiser, optax.GradientTransformation):
            return optimiser
        raise ConfigurationError(
            "optimiser",
            f"returns {type(optimiser).__name__}; valid: an optax transformation, or a dictionary of them by layer",
        )
    labels = {path: _group(path, optimiser) for path in by_path(params)}
    for pattern in optimiser:
        if not any(_matches(path, pattern) for path in labels):
            layers = ", ".join(sorted({layer_of(path) for path in labels}))
            raise ConfigurationError(
                "optimiser", f"group '{pattern}' matches no parameter; the layers are {layers}"
            )
    tree = jax.tree.unflatten(jax.tree.structure(params), list(labels.values()))
    return optax.multi_transform(dict(optimiser), tree)


def _matches(path: str, pattern: str) -> bool:
    """Whether a pattern matches a parameter or the layer that owns it."""
    return fnmatchcase(path, pattern) or fnmatchcase(layer_of(path), pattern)


def _group(path: str, groups: Mapping[str, object]) -> str:
    """Return the first pattern that matches a parameter."""
    for pattern in groups:
        if _matches(path, pattern):
            return pattern
    raise ConfigurationError(
        "optimiser",
        f"layer '{layer_of(path)}': parameter '{path}' matches no group; groups: {', '.join(groups)}",
    )


def step(
    model: Model,
    loss: LossFunction,
    transformation: optax.GradientTransformation,
    carry: tuple[PyTree, PyTree, PyTree],
    data: tuple[Array, Array],
) -> tuple[tuple[PyTree, PyTree, PyTree], Array, Captured]:
    """Update the parameters once on all samples.

    Args:
        model: the model.
        loss: of outputs and targets.
        transformation: that of the optimiser.
        carry: parameters, state, and the state of the optimiser.
        data: x and y.

    Returns:
        The new carry, and the loss and what was captured before the update.
    """
    import jax
    import optax

    params, state, moments = carry

    def objective(params: PyTree) -> tuple[Array, Captured]:
        captured = model.apply(params, state, data[0])
        return loss(captured.outputs, data[1]), captured

    (value, captured), gradients = jax.value_and_grad(objective, has_aux=True)(params)
    updates, moments = transformation.update(gradients, moments, params)
    return (optax.apply_updates(params, updates), captured.state, moments), value, captured
