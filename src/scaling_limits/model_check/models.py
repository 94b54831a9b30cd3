"""One interface for models of Flax linen, Flax nnx and plain functions, with the outputs of all their modules."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from scaling_limits.errors import ConfigurationError

if TYPE_CHECKING:
    from flax import linen, nnx
    from flax.linen.module import InterceptorContext
    from jax import Array
    from jaxtyping import PyTree

OUTPUT = ""
"""The name of the whole model, whose output is the model's output."""
_CALL = "__call__"


class Captured(NamedTuple):
    """The outputs of a forward pass, the state after it, and what was captured by name of the module.

    `features` are the outputs of modules and what they sow, `inputs` those of modules with a `kernel`.
    """

    outputs: Array
    state: PyTree
    features: dict[str, Array]
    inputs: dict[str, Array]


@dataclass(frozen=True)
class Model:
    """A model of one width and depth.

    `init(key, x)` returns parameters, a nested dictionary, and the state that is not trained. `apply(params, state, x)`
    returns what is `Captured`.
    """

    init: Callable[[Array, Array], tuple[PyTree, PyTree]]
    apply: Callable[[PyTree, PyTree, Array], Captured]


def model_of(build: Callable[..., object], width: int, depth: int, **values: object) -> Model:
    """Build the model of a width and depth.

    Args:
        build: see `scaling_limits.check`.
        width: its first argument.
        depth: its second argument.
        **values: of hyperparameters that it takes by name.

    Raises:
        ConfigurationError: it returns no model.
    """
    from flax import linen, nnx

    if "rngs" in inspect.signature(build).parameters:
        return _of_nnx(lambda key: build(width, depth, rngs=nnx.Rngs(key), **values))
    built = build(width, depth, **values)
    if isinstance(built, linen.Module):
        return _of_linen(built)
    if isinstance(built, tuple) and len(built) == 2 and all(map(callable, built)):
        return _of_functions(*built)
    if isinstance(built, nnx.Module):
        problem = "returns an nnx module and has no parameter rngs; write build(width, depth, rngs), so that each seed"
        raise ConfigurationError("build", f"{problem} has its own weights")
    raise ConfigurationError(
        "build",
        f"returns {type(built).__name__}; valid: a Flax linen module, a Flax nnx module, or functions (init, apply)",
    )


def _of_linen(module: linen.Module) -> Model:
    from flax import linen

    def init(key: Array, x: Array) -> tuple[PyTree, PyTree]:
        state = dict(module.init({"params": key, "dropout": key}, x))
        return state.pop("params", {}), state

    def sow_inputs(
        call: Callable[..., PyTree],
        args: tuple[PyTree, ...],
        kwargs: Mapping[str, PyTree],
        context: InterceptorContext,
    ) -> PyTree:
        linen_module = context.module
        if context.method_name == _CALL and args and linen_module.has_variable("params", "kernel"):
            linen_module.sow("inputs", _CALL, args[0])
        return call(*args, **kwargs)

    def apply(params: PyTree, state: PyTree, x: Array) -> Captured:
        import jax

        with linen.intercept_methods(sow_inputs):
            outputs, changed = module.apply(
                {"params": params, **state},
                x,
                rngs={"dropout": jax.random.key(0)},
                mutable=[*state, "intermediates", "inputs"],
                capture_intermediates=True,
            )
        after = dict(changed)
        features, inputs = (after.pop(name, {}) for name in ("intermediates", "inputs"))
        return Captured(outputs, after, dict(_by_module(features)), dict(_by_module(inputs)))

    return Model(init, apply)


def _of_nnx(build: Callable[[Array], object]) -> Model:
    from flax import nnx

    graph: list[nnx.GraphDef[Any]] = []

    def init(key: Array, x: Array) -> tuple[PyTree, PyTree]:
        definition, *states = nnx.split(build(key), nnx.Param, ...)
        graph[:] = [definition]
        return nnx.to_pure_dict(states[0]), states[1]

    def apply(params: PyTree, state: PyTree, x: Array) -> Captured:
        module = nnx.merge(graph[0], nnx.State(params), state)
        forward: Callable[[Array], tuple[Array, PyTree]] = nnx.capture(
            module, nnx.Intermediate, method_outputs=nnx.Intermediate
        )
        outputs, intermediates = forward(x)
        # the merged module was changed in place, as batch norm does
        parts = nnx.split(module, nnx.Param, nnx.Intermediate, ...)
        return Captured(outputs, parts[-1], dict(_by_module(nnx.to_pure_dict(intermediates))), {})

    return Model(init, apply)


def _of_functions(
    init: Callable[[Array], PyTree], apply: Callable[[PyTree, Array], object]
) -> Model:
    def with_state(key: Array, x: Array) -> tuple[PyTree, PyTree]:
        return init(key), {}

    def captured(params: PyTree, state: PyTree, x: Array) -> Captured:
        result = apply(params, x)
        if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], Mapping)):
            raise ConfigurationError(
                "build",
                "apply must return (outputs, features), with features a dictionary of arrays by name of the layer",
            )
        return Captured(result[0], state, dict(result[1]), {})

    return Model(with_state, captured)


def _by_module(tree: PyTree, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Array]]:
    """Yield captured arrays by name: `module`, `module#2` in its second call, `module/sown` if it sows."""
    import jax
    import jax.numpy as jnp

    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _by_module(value, (*path, str(key)))
            continue
        name = "/".join(path if key == _CALL else (*path, str(key)))
        arrays = [a for a in jax.tree.leaves(value) if jnp.issubdtype(a.dtype, jnp.floating)]
        for count, array in enumerate(arrays, start=1):
            yield (name if count == 1 else f"{name}#{count}"), array
