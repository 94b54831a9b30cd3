"""How a preset shrinks an experiment: caps first, then the preset's own changes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from scaling_limits.configuration.models import Caps

_BOUNDED = ("width", "depth", "num_steps", "batch_size")


def shrink(paper: Mapping[str, Any], caps: Caps) -> dict[str, Any]:
    """The experiments of a paper's file within the caps, as changes to merge over that file.

    Values of an axis above a cap are left out (the cap itself takes their place when none remain); single values are
    lowered to it. `seeds` keeps the first ones; `points` thins other axes evenly, ends included.
    """
    changes: dict[str, Any] = {}
    for name, experiment in (paper.get("experiments") or {}).items():
        parts = {
            "settings": _settings(experiment.get("settings"), caps),
            "axes": _axes(experiment.get("axes"), caps),
        }
        grids = {
            grid: {
                "settings": _settings(content.get("settings"), caps),
                "axes": _axes(content.get("axes"), caps),
            }
            for grid, content in (experiment.get("grids") or {}).items()
            if isinstance(content, Mapping)
        }
        changes[name] = {**parts, "grids": grids}
    return {"experiments": changes}


def _settings(settings: Any, caps: Caps) -> dict[str, Any]:
    changed = {}
    for key in _BOUNDED:
        cap = getattr(caps, key)
        value = (settings or {}).get(key)
        if cap is not None and isinstance(value, int) and value > cap:
            changed[key] = cap
    return changed


def _axes(axes: Any, caps: Caps) -> dict[str, list[Any]]:
    changed = {}
    for key, values in (axes or {}).items():
        if not isinstance(values, list):
            continue
        kept = values
        if key in _BOUNDED:
            cap = getattr(caps, key)
            if cap is not None:
                kept = [value for value in values if value <= cap] or [cap]
        elif key == "seed":
            kept = values[: caps.seeds]
        elif caps.points is not None and len(values) > caps.points and _numbers(values):
            chosen = np.linspace(0, len(values) - 1, caps.points).round().astype(int)
            kept = [values[index] for index in chosen]
        if kept != values:
            changed[key] = kept
    return changed


def _numbers(values: list[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
