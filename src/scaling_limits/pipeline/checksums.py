"""Checksums of a figure's files, stored in its provenance.

They detect accidental changes and edits, but not an author who rewrites both file and checksum.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.files import JsonObject

CHECKED = ("cells.parquet", "records.parquet", "figure.json", "verdicts.json")
"""The files that are judged, drawn and shown."""
PROVENANCE = "provenance.json"


class ChangedError(ScalingLimitsError):
    """Files of figures differ from those that were collected."""


def checksums(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each of the `CHECKED` files in a figure's folder."""
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in CHECKED}


def is_computed(folder: Path) -> bool:
    """Return whether the folder contains any file of a computed figure."""
    return any((folder / name).exists() for name in (*CHECKED, PROVENANCE))


def require_unchanged(folders: Iterable[Path]) -> None:
    """Reject folders of figures with a missing or changed file.

    Raises:
        ChangedError: a file is missing or differs from the one collected; the message names every such file.
    """
    problems = [problem for folder in folders for problem in _problems(folder)]
    if problems:
        raise ChangedError("\n".join(problems))


def read_provenance(folder: Path) -> JsonObject:
    """Read the provenance in a figure's folder.

    Raises:
        ChangedError: the file is missing or cannot be read.
    """
    path = folder / PROVENANCE
    try:
        content: JsonObject = json.loads(path.read_bytes())
        content["compared"]["substitutions"], content["checksums"].items()
    except FileNotFoundError:
        raise ChangedError(f"{path}: missing; {_remedy(folder)}") from None
    except (ValueError, TypeError, AttributeError):
        raise ChangedError(f"{path}: not the JSON that was written; {_remedy(folder)}") from None
    except KeyError as key:
        raise ChangedError(
            f"{path}: has no {key}, as written by another version; {_remedy(folder)}"
        ) from None
    return content


def _problems(folder: Path) -> list[str]:
    try:
        written = read_provenance(folder)["checksums"]
    except ChangedError as error:
        return [str(error)]
    problems = []
    for name in CHECKED:
        path = folder / name
        if not path.exists():
            problems.append(f"{path}: missing; {_remedy(folder)}")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != written.get(name):
            problems.append(
                f"{path}: does not match its checksum in {PROVENANCE}, so one of them was changed; {_remedy(folder)}"
            )
    return problems


def _remedy(folder: Path) -> str:
    return f"remove {folder} and run {folder.parent.name}/{folder.name} again"
