"""The store: what lies there, and what nothing asks for any more."""

import time
from pathlib import Path

from scaling_limits.commands import upkeep
from scaling_limits.commands.given import Given, warn_of_faults
from scaling_limits.commands.readable import size

FOLDER = Path("results", "cells")


def run(given: Given, *, prune: bool = False, yes: bool = False) -> None:
    """Print the store's table; to `prune`, remove what nothing asks for, after asking unless `yes`.

    What is not configured stays while an experiment of the user's own is wrong: it may be one of its cells.

    Raises:
        ConfigurationError: the configuration is not valid; nothing is removed.
        StoreError: a file cannot be removed.
    """
    configurations = upkeep.configurations(given.root, given.changes)
    wanted = upkeep.asked(configurations)
    left_out = warn_of_faults(configurations)
    now = time.time()
    entries = upkeep.survey(given.root / FOLDER, wanted, now)
    print(upkeep.table(entries, now))
    if any(entry.state is upkeep.State.CONFIGURATION for entry in entries):
        print(
            "Not configured are also cells of changes (--set, --configfile) that are not given here."
        )
    removed = upkeep.REMOVABLE - ({upkeep.State.CONFIGURATION} if left_out else set())
    removable = [entry for entry in entries if entry.state in removed]
    if left_out:
        print("They may also be those of what is left out: they stay until that is mended.")
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
