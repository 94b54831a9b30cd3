"""Parameters of a pytree by their paths, such as `params/Dense_0/kernel`."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

import jax
from jax.tree_util import GetAttrKey, keystr, tree_flatten_with_path
from jaxtyping import PyTree

from scaling_limits.errors import ConfigurationError

Leaf = jax.Array | jax.ShapeDtypeStruct
"""A parameter, or its shape."""


def path_of(keys: tuple[object, ...]) -> str:
    """Return the path of a leaf, without the `value` of Flax's variables."""
    boxed = len(keys) > 1 and isinstance(keys[-1], GetAttrKey) and keys[-1].name == "value"
    return keystr(keys[:-1] if boxed else keys, simple=True, separator="/")


def by_path(tree: PyTree) -> dict[str, jax.Array]:
    """Return the arrays of a tree by path, as in `block_0/dense/kernel`; shapes remain shapes."""
    return {path_of(keys): leaf for keys, leaf in tree_flatten_with_path(tree)[0]}


def leaves_of(tree: PyTree, argument: str) -> dict[str, Leaf]:
    """Return the arrays or shapes of a tree by path.

    Args:
        tree: a pytree of arrays or of `jax.ShapeDtypeStruct`.
        argument: the name of the tree in errors.

    Raises:
        ConfigurationError: the tree is empty, or a leaf is no array of real numbers.
    """
    leaves: dict[str, Leaf] = dict(by_path(tree))
    if not leaves:
        raise ConfigurationError(argument, "has no parameters; give the pytree of a model's")
    for path, leaf in leaves.items():
        dtype = getattr(leaf, "dtype", None)
        if dtype is None or not jax.numpy.issubdtype(dtype, jax.numpy.floating):
            kind = f"has type {type(leaf).__name__}" if dtype is None else f"has dtype {dtype}"
            raise ConfigurationError(path, f"{kind} in {argument}; give floating-point arrays only")
    return leaves


def matching(pattern: str, paths: Iterable[str], argument: str) -> list[str]:
    """Return the paths that match a pattern, in which `*` is any text.

    Raises:
        ConfigurationError: there are none.
    """
    known = list(paths)
    matches = [path for path in known if fnmatchcase(path, pattern)]
    if not matches:
        raise ConfigurationError(
            f"{argument}[{pattern!r}]", f"matches no parameter. Parameters: {', '.join(known)}"
        )
    return matches
