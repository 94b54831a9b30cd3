"""The times that stored cells carry, and the nominal rates by them."""

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scaling_limits.commands import upkeep
from scaling_limits.configuration.costs.declared import restored
from scaling_limits.configuration.costs.rates import NOMINAL_FILE, Timed, fitted, nominal
from scaling_limits.files import write_file


def timed(folder: Path, device: str) -> list[Timed]:
    """One cell of every shard in a store that was computed on such a device, with the times of all of them.

    Files that cannot be read, and cells that are none any more, are passed over.
    """
    shards: dict[str, list[dict[str, Any]]] = {}
    for meta in _metas(folder):
        if meta["device"] == device:
            shards.setdefault(meta["shard"], []).append(meta)
    found = []
    for metas in shards.values():
        try:
            cell = restored(metas[0]["cell"])
        except Exception:  # of older code, or of an algorithm's file that is gone
            continue
        running = statistics.median(meta["seconds"] for meta in metas)
        # where a compiled program was found in the cache, it took less
        preparing = max(meta["compile_seconds"] for meta in metas)
        found.append(Timed(cell, running, preparing))
    return found


def _metas(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("??/*.cell")):
        try:
            payload = upkeep.payload(path)
            meta = {} if payload is None else upkeep.meta(payload)
        except Exception:  # its checksum fits, but a file of someone else's may hold anything
            continue
        if meta.keys() >= {"cell", "shard", "device", "seconds", "compile_seconds"}:
            yield meta


def write_rates(folder: Path) -> None:
    """Write the nominal rates anew, by the store in a folder."""
    times = timed(folder, "cpu")
    rates = {kind: float(f"{rate:.3g}") for kind, rate in fitted(times, nominal()).items()}
    write_file(NOMINAL_FILE, json.dumps(rates, indent=1) + "\n")
    print(f"{NOMINAL_FILE}: the rates of {len(times):,} stored shards")
