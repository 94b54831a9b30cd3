"""The command `store`, which lists stored cells and removes stale ones."""

import time

from scaling_limits.commands import upkeep
from scaling_limits.commands.invocation import Invocation, warn_of_faults
from scaling_limits.commands.readable import size


def run(invocation: Invocation, *, prune: bool = False, yes: bool = False) -> None:
    """Print the table of the store; with `prune`, remove stale and damaged files.

    While one of the user's own experiments is invalid, stale cells that belong to no experiment are kept, since they
    may be its cells.

    Args:
        invocation: the project's folder and changes to its configuration.
        prune: whether to remove files.
        yes: whether to remove them without asking.

    Raises:
        ConfigurationError: the configuration is invalid; nothing is removed.
        StoreError: a file cannot be removed.
    """
    configurations = upkeep.configurations(invocation.root, invocation.changes)
    wanted = upkeep.used_keys(configurations)
    left_out = warn_of_faults(configurations)
    now = time.time()
    entries = upkeep.survey(invocation.store().folder, wanted, now)
    entries += upkeep.unfinished_datasets(invocation.datasets(), now)
    print(upkeep.table(entries, now))
    stale = [entry for entry in entries if entry.state is upkeep.State.STALE]
    unconfigured = {entry for entry in stale if not entry.experiment}
    if unconfigured:
        print(
            "Stale cells of no experiment ('-') may belong to changes (--set, --configfile) that are not given here."
        )
    removable = [entry for entry in entries if entry.state is not upkeep.State.CURRENT]
    if left_out:
        print("They may also belong to what is left out, and are kept until that is mended.")
        removable = [entry for entry in removable if entry not in unconfigured]
    files = "file" if len(removable) == 1 else "files"
    total = f"{len(removable):,} {files}, {size(sum(entry.size for entry in removable))}"
    if not prune or not removable:
        print(f"Nothing asks for {total}." if removable else "Nothing to remove.")
    elif yes or _agreed(f"Remove stale and damaged files, {total}? [y/N] "):
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
