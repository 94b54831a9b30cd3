"""The store: what lies there, and what nothing asks for any more."""

import time
from pathlib import Path

from scaling_limits.commands import upkeep
from scaling_limits.commands.given import Given
from scaling_limits.commands.readable import size

FOLDER = Path("results", "cells")


def run(given: Given, *, prune: bool = False, yes: bool = False) -> None:
    """Print the store's table; to `prune`, remove what nothing asks for, after asking unless `yes`.

    Raises:
        ConfigurationError: the configuration is not valid; nothing is removed.
        StoreError: a file cannot be removed.
    """
    wanted = upkeep.asked(upkeep.configurations(given.root, given.changes))
    now = time.time()
    entries = upkeep.survey(given.root / FOLDER, wanted, now)
    print(upkeep.table(entries, now))
    if any(entry.state is upkeep.State.CONFIGURATION for entry in entries):
        print(
            "Not configured are also cells of changes (--set, --configfile) that are not given here."
        )
    removable = [entry for entry in entries if entry.state in upkeep.REMOVABLE]
    files = "file" if len(removable) == 1 else "files"
    total = f"{len(removable):,} {files}, {size(sum(entry.size for entry in removable))}"
    if not prune or not removable:
        print(f"Nothing asks for {total}." if removable else "Nothing to remove.")
    elif yes or _agreed(f"Remove what is stale, damaged or left over, {total}? [y/N] "):
        upkeep.remove(removable)
        print(f"Removed {total}.")
    else:
        print("Nothing was removed.")


def _agreed(question: str) -> bool:
    try:
        return input(question).strip().lower() in ("y", "yes")
    except (EOFError, KeyboardInterrupt):
        print()
        return False
