"""µP for a model's parameters: their initialisation, their optimiser, and the table of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import optax

from scaling_limits.errors import ConfigurationError
from scaling_limits.mup_rules.hyperparameters import complete, rescaled
from scaling_limits.mup_rules.leaves import Leaf, leaves_of, path_of
from scaling_limits.mup_rules.roles import Role
from scaling_limits.mup_rules.rules import Optimiser, Power, Ratios, Rule
from scaling_limits.mup_rules.table import as_table

if TYPE_CHECKING:
    import pandas as pd
    from jaxtyping import PyTree


@dataclass(frozen=True)
class Parameter:
    """A parameter of the target model: its shape, role, and the powers that scale it."""

    shape: tuple[int, ...]
    role: Role
    in_branch: bool
    rule: Rule

    @property
    def group(self) -> str:
        """The name of all parameters with the same powers."""
        return f"{self.role}, in branch" if self.in_branch else self.role


@dataclass(frozen=True)
class Scaler:
    """Scale the initialisation and the optimiser of a model from its base size; built by `scaling_limits.mup`.

    Attributes:
        parameters: path -> shape, role and powers.
        forward: place in the forward pass -> power of the multiplier that the model itself applies there.
        ratios: target over base size of width, depth and attention heads, the bases of all powers.
        update_rule: `sgd`, `adam` or `adamw`.
        base_params: path -> array or shape at the base width.
    """

    parameters: Mapping[str, Parameter]
    forward: Mapping[str, Power]
    ratios: Ratios
    update_rule: Optimiser
    base_params: Mapping[str, Leaf] = field(repr=False)

    @property
    def multipliers(self) -> dict[str, float]:
        """Multipliers that the model itself applies, relative to the base model, by their place in the forward pass.

        The places are `residual branches` (if the depth changes), `attention scores` (if the size of the heads does)
        and `logits` (of a tied readout).
        """
        return {place: power.at(self.ratios) for place, power in self.forward.items()}

    def rescale(self, params: PyTree) -> PyTree:
        """Return the initial parameters of the target model.

        Each parameter is multiplied by one number, after which its root mean square is that in `base_params` times the
        factor in the column `init_std` of `table`. The standard deviations of the user's initialiser at the base width
        are kept, whatever powers of the width it contains. A parameter that is zero in both trees stays zero. Within
        `jax.jit`, values are not checked.

        Args:
            params: parameters of the target model, initialised by the same code as `base_params`.

        Returns:
            A pytree like `params`.

        Raises:
            ConfigurationError: `base_params` has shapes instead of arrays; a parameter is not one of the target model,
                not finite, or zero in one of the trees only.
        """
        leaves = leaves_of(params, "params")
        for path, leaf in leaves.items():
            if self._parameter(path).shape != leaf.shape:
                raise ConfigurationError(
                    path,
                    f"has shape {leaf.shape}; the target model has {self._parameter(path).shape}",
                )
        base = {path: self.base_params[path] for path in leaves}
        own, at_base = _sizes(leaves, "params"), _sizes(base, "base_params")

        def factor(keys: tuple[object, ...], leaf: jax.Array) -> jax.Array:
            path = path_of(keys)
            return self._init_factor(path, own[path], at_base[path]).astype(leaf.dtype)

        return _product(params, jax.tree_util.tree_map_with_path(factor, params))

    def optimiser(
        self, inner: Callable[..., optax.GradientTransformation], **hyperparameters: object
    ) -> optax.GradientTransformation:
        """Return the optimiser of the target model.

        `inner` is called once for all parameters with the same powers. Its `learning_rate`, `eps` and `weight_decay`
        are multiplied by the factors of `table`, and `eps_root` by the square of that of `eps`; defaults of `inner`
        are rescaled too. Transformations of all gradients together, such as `optax.clip_by_global_norm`, are chained
        with the result instead, and a `mask` is a function of parameters, as `inner` sees those of one group.

        Args:
            inner: a constructor with optax's names of hyperparameters, such as `optax.adamw`.
            **hyperparameters: its keyword arguments at the base size, numbers or schedules.

        Raises:
            ConfigurationError: `inner` is already built, does not take these hyperparameters, or is of another update
                rule than the powers.
        """
        values = complete(inner, hyperparameters, self.update_rule)
        rules = {parameter.group: parameter.rule for parameter in self.parameters.values()}
        transforms = {
            group: inner(**rescaled(values, rule, self.ratios)) for group, rule in rules.items()
        }
        return optax.partition(transforms, self._groups)

    def table(self) -> pd.DataFrame:
        """Return the table of the parameterisation for this model.

        Returns:
            One row for each parameter, with the columns `parameter`, `shape`, `role`, `in_branch`, and the powers by
            which its initial standard deviation (`init_std`), `learning_rate`, `epsilon` (not under SGD) and
            `weight_decay` are multiplied; then one row for each `multiplier` that the model applies itself. m_N, m_L
            and m_head are the ratios of target to base width, depth and size of attention heads.
        """
        return as_table(self)

    def _parameter(self, path: str) -> Parameter:
        if path not in self.parameters:
            raise ConfigurationError(
                path,
                "is not a parameter of the target model. Parameters: " + ", ".join(self.parameters),
            )
        return self.parameters[path]

    def _groups(self, tree: PyTree) -> PyTree:
        return jax.tree_util.tree_map_with_path(
            lambda keys, _: self._parameter(path_of(keys)).group, tree
        )

    def _init_factor(self, path: str, size: jax.Array, base: jax.Array) -> jax.Array:
        if not _is_traced(size) and bool((size == 0) != (base == 0)):
            raise ConfigurationError(
                path,
                f"is zero in {'base_params' if size else 'params'} only; initialise both trees by the same code",
            )
        power = self.parameters[path].rule.init_std.at(self.ratios)
        return jnp.where(size == 0, 1.0, base * power / jnp.where(size == 0, 1.0, size))


def _sizes(leaves: Mapping[str, Leaf], argument: str) -> dict[str, jax.Array]:
    """Return the root mean square of each array.

    Raises:
        ConfigurationError: a leaf is a shape, or an array that is not traced has entries that are not finite.
    """
    for path, leaf in leaves.items():
        if isinstance(leaf, jax.ShapeDtypeStruct):
            raise ConfigurationError(
                path, f"is a shape in {argument}; rescale needs arrays in params and base_params"
            )
    sizes: dict[str, jax.Array] = _root_mean_squares(dict(leaves))
    for path, size in sizes.items():
        if not _is_traced(size) and not jnp.isfinite(size):
            raise ConfigurationError(path, f"is not finite in {argument}; give finite values")
    return sizes


def _is_traced(array: jax.Array) -> bool:
    return isinstance(array, jax.core.Tracer)


@jax.jit
def _root_mean_squares(leaves: dict[str, jax.Array]) -> dict[str, jax.Array]:
    return {
        path: jnp.sqrt(jnp.mean(jnp.square(leaf.astype(jnp.float32))))
        for path, leaf in leaves.items()
    }


@jax.jit
def _product(tree: PyTree, factors: PyTree) -> PyTree:
    return jax.tree.map(jnp.multiply, tree, factors)
