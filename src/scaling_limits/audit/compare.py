"""Comparison of two sets of results.

A and B are folders of results (`results/<preset>`, or a copy of one) or the names of presets that were run.
"""

import json
from pathlib import Path

from scaling_limits.audit.summary import flat
from scaling_limits.audit.table import read_verdicts
from scaling_limits.audit.verdicts import verdict_text
from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.figures.names import natural

RESULTS = Path("results")
PROVENANCE = "provenance.json"
# redundant entries, which are determined by the settings
REPEATED = ("configuration_hash", "preset")


def results_of(name: str, root: Path) -> Path:
    """Return the folder of a preset's results, or the folder with this name.

    Raises:
        ConfigurationError: there is no such preset or folder, or the folder contains no figure.
    """
    if not name:
        raise ConfigurationError(None, "two results are compared: scaling-limits diff A B")
    folder = root / RESULTS / name
    folder = folder if folder.is_dir() else Path(name)
    if not folder.is_dir():
        run = sorted(path.name for path in (root / RESULTS).glob("*") if figures_in(path))
        raise ConfigurationError(None, unknown("preset with results, or folder", name, run))
    if not figures_in(folder):
        raise ConfigurationError(name, f"no figure's {PROVENANCE} lies below {folder}")
    return folder


def figures_in(folder: Path) -> dict[str, Path]:
    """Return the folders of figures below a folder of results, by `<paper>/<figure>`."""
    files = sorted(folder.glob(f"*/*/{PROVENANCE}"))
    return {f"{path.parent.parent.name}/{path.parent.name}": path.parent for path in files}


def differences(first: Path, second: Path) -> list[str]:
    """Return the differences between two folders of results as lines, figure by figure.

    Settings, sources and verdicts are compared.
    """
    left, right = figures_in(first), figures_in(second)
    lines = []
    for figure in sorted(left.keys() | right.keys(), key=natural):
        if figure not in left or figure not in right:
            lines.append(f"{figure}: only in {first if figure in left else second}")
            continue
        changed = [
            *_settings(left[figure], right[figure]),
            *_verdicts(left[figure], right[figure]),
        ]
        if changed:
            lines += [figure, *(f"  {line}" for line in changed)]
    return lines


def _settings(left: Path, right: Path) -> list[str]:
    before, after = _compared(left), _compared(right)
    return [
        f"{key}: {before.get(key, 'unset')} -> {after.get(key, 'unset')}"
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key) and key not in REPEATED
    ]


def _verdicts(left: Path, right: Path) -> list[str]:
    before, after = ({v.claim: v for v in read_verdicts(folder)} for folder in (left, right))
    lines = []
    for claim in sorted(before.keys() | after.keys()):
        then, now = verdict_text(before.get(claim)), verdict_text(after.get(claim))
        if then != now:
            lines.append(f"claim {claim}: {then} -> {now}")
    return lines


def _compared(folder: Path) -> dict[str, str]:
    """Return the compared part of a figure's provenance, as JSON by dotted names."""
    provenance = json.loads((folder / PROVENANCE).read_text(encoding="utf-8"))
    return {key: json.dumps(value) for key, value in flat(provenance["compared"]).items()}
