"""Handling of corrupt files: they are reported, renamed and never used."""

from pathlib import Path

from scaling_limits.errors import DatasetError


def corrupt(path: Path, *, expected: str, found: str) -> DatasetError:
    """Rename `path` and return the error to raise, with both checksums."""
    return DatasetError(
        f"{path} is corrupt: expected {expected}, found {found}; {_set_aside(path)}"
    )


def _set_aside(path: Path) -> str:
    aside = path.with_name(f"{path.name}.corrupt")
    number = 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.corrupt-{number}")
    # root may rename files in a read-only folder, but the intention of its owner is respected
    if path.parent.stat().st_mode & 0o222:
        try:
            path.rename(aside)
        except OSError:
            pass
        else:
            return f"moved aside to {aside.name} and not used"
    return "its folder is read-only, so it was left there; it was not used, replace or remove it"
