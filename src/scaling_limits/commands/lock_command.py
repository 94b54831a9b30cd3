"""The command `lock`, which adds the confirmed verdicts of a preset to the lock of claims."""

from pathlib import Path

from scaling_limits.audit.lock import locked, read_lock, write_lock
from scaling_limits.audit.register import Key
from scaling_limits.audit.table import read_verdicts
from scaling_limits.audit.verdicts import Verdict
from scaling_limits.commands.invocation import Invocation
from scaling_limits.configuration import load

LOCK = Path("docs", "claims.lock.yaml")


def run(invocation: Invocation, preset: str) -> None:
    """Lock the claims of a preset whose results contain a confirmed verdict, and print how many were added.

    Args:
        invocation: the project's folder; changes to the configuration are ignored.
        preset: the name of the preset.

    Raises:
        ConfigurationError: the preset does not exist, its seeds are exploratory, or the lock is invalid.
        WriteError: the lock cannot be written.
    """
    configuration = load(invocation.root, {"preset": preset})
    results = invocation.root / "results" / preset
    verdicts: dict[Key, Verdict] = {
        (verdict.paper, verdict.figure, verdict.claim, preset): verdict
        for paper in configuration.papers
        for figure in configuration.figures(paper)
        for verdict in read_verdicts(results / paper / figure)
    }
    path = invocation.root / LOCK
    lock, added = locked(read_lock(path), configuration, verdicts)
    write_lock(path, lock)
    print(
        f"Locked {len(added):,} claims at the preset {preset}, {len(lock.claims[preset]):,} in all: {LOCK}"
    )
