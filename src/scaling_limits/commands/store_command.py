"""List or clear the store: `python -m scaling_limits.commands.store_command list` or `prune`, see `make store`."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scaling_limits.commands import upkeep
from scaling_limits.commands.command_line import overrides, size
from scaling_limits.errors import ScalingLimitsError

FOLDER = Path("results", "cells")


def run(command: str, root: Path, changes: dict[str, Any], *, yes: bool) -> None:
    """Print the store's table; to `prune`, ask and remove what nothing asks for.

    Raises:
        ConfigurationError: the configuration is not valid; nothing is removed.
        StoreError: a file cannot be removed.
    """
    wanted = upkeep.asked(upkeep.configurations(root, changes))
    now = time.time()
    entries = upkeep.survey(root / FOLDER, wanted, now)
    print(upkeep.table(entries, now))
    if any(entry.state is upkeep.State.CONFIGURATION for entry in entries):
        print("Not configured are also the cells of a CONFIG other than the one given here.")
    removable = [entry for entry in entries if entry.state in upkeep.REMOVABLE]
    files = "file" if len(removable) == 1 else "files"
    total = f"{len(removable):,} {files}, {size(sum(entry.size for entry in removable))}"
    if command == "list" or not removable:
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line; a user's error ends it with its message and exit code 1."""
    parser = argparse.ArgumentParser(description="List the stored cells, or remove stale ones.")
    parser.add_argument("command", choices=["list", "prune"])
    parser.add_argument("--config", nargs="*", default=[], metavar="KEY=VALUE")
    parser.add_argument("--yes", action="store_true", help="remove without asking")
    options = parser.parse_args(arguments)
    try:
        run(options.command, Path(), overrides(options.config), yes=options.yes)
    except ScalingLimitsError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
