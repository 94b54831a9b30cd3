"""The coordinate check of a model that a Python file defines."""

import runpy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import scaling_limits
from scaling_limits.errors import ConfigurationError, ScalingLimitsError

_NEEDED = ("build", "optimiser", "data")


def run(
    file: Path,
    picture: Path | None,
    *,
    widths: Sequence[int],
    depths: Sequence[int],
    seeds: int,
    steps: int,
) -> bool:
    """Check the model of a file and print the report.

    Args:
        file: defines `build`, `optimiser`, `data` and optionally `loss`, as the arguments of `scaling_limits.check`.
        picture: where to save the plot; not drawn if None.
        widths: the widths of the models.
        depths: their depths.
        seeds: the number of initial models at each size.
        steps: the number of training steps.

    Returns:
        Whether the model is stable.

    Raises:
        ConfigurationError: the file cannot be read or run, lacks a definition, or the check rejects one.
    """
    defined = _defined(file)
    loss = {"loss": defined["loss"]} if "loss" in defined else {}
    try:
        report = scaling_limits.check(
            defined["build"],
            defined["optimiser"],
            data=defined["data"],
            **loss,
            widths=widths,
            depths=depths,
            seeds=seeds,
            steps=steps,
        )
    except ConfigurationError as error:
        raise ConfigurationError(None, error, place=file) from error
    print(report)
    if picture is not None:
        try:
            report.plot().savefig(picture)
        except (OSError, ValueError) as error:
            raise ConfigurationError(None, f"cannot be written: {error}", place=picture) from error
    return report.verdict == "stable"


def _defined(file: Path) -> dict[str, Any]:
    """Run the file and return what it defines."""
    if not file.is_file():
        raise ConfigurationError(None, "there is no such file", place=file)
    try:
        defined = runpy.run_path(str(file))
    except ScalingLimitsError:
        raise
    except Exception as error:
        problem = f"cannot be run: {type(error).__name__}: {error}"
        raise ConfigurationError(None, problem, place=file) from error
    missing = [name for name in _NEEDED if name not in defined]
    if missing:
        raise ConfigurationError(
            None, f"does not define '{missing[0]}'; needed are {', '.join(_NEEDED)}", place=file
        )
    return defined
