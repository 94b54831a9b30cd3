"""The store of computed cells: `results/cells/<key>`, one file per cell, written atomically and verified when read.

A file consists of the SHA-256 checksum of its payload in hexadecimal, a line feed, and the payload. The payload is an
`.npz` archive of the measured arrays and of `meta`, a JSON text with the key, the axes of the arrays, the canonical
cell and its computing time.
"""

import hashlib
import io
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scaling_limits.errors import StoreError
from scaling_limits.files import JsonObject, write_file
from scaling_limits.measured import Measured


@dataclass(frozen=True)
class StoredCell:
    """A computed cell: its measured arrays by metric, and information about how it was computed."""

    measured: dict[str, Measured]
    meta: JsonObject


class Store:
    """The cells in one folder. Several processes may use it at once, because equal keys have equal contents."""

    def __init__(self, folder: Path | str):
        self.folder = Path(folder)

    def path(self, key: str) -> Path:
        """Return the path of the cell with this key, whether or not it exists."""
        return self.folder / key[:2] / f"{key}.cell"

    def __contains__(self, key: str) -> bool:
        return self.path(key).is_file()

    def save(self, key: str, cell: StoredCell) -> None:
        """Write a cell atomically.

        Raises:
            WriteError: the file cannot be written (disk full, no permission); no partial file is left.
        """
        axes = {name: {"axes": m.axes, "labels": m.labels} for name, m in cell.measured.items()}
        meta = json.dumps({"key": key, "axes": axes, **cell.meta}, sort_keys=True)
        buffer = io.BytesIO()
        arrays: dict[str, Any] = {f"m_{k}": m.values for k, m in cell.measured.items()}
        np.savez_compressed(buffer, meta=np.array(meta), **arrays)
        payload = buffer.getvalue()
        checksum = hashlib.sha256(payload).hexdigest().encode()
        write_file(self.path(key), checksum + b"\n" + payload)

    def load(self, key: str) -> StoredCell | None:
        """Read a cell; return None if it is not stored.

        A file that is damaged or contains another cell is renamed with a warning on stderr, and None is returned.

        Raises:
            StoreError: the file cannot be read or cannot be renamed.
        """
        path = self.path(key)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"cannot read cell {path}: {error.strerror}") from error
        expected, _, payload = content.partition(b"\n")
        found = hashlib.sha256(payload).hexdigest().encode()
        if expected != found:
            _set_aside(
                path,
                f"damaged (checksum {found.decode()[:16]}..., expected "
                f"{expected.decode(errors='replace')[:16]}...)",
            )
            return None
        with np.load(io.BytesIO(payload), allow_pickle=False) as archive:
            meta = json.loads(str(archive["meta"]))
            own = meta.pop("key", None)
            if own != key:
                _set_aside(path, f"that of another cell (key {own})")
                return None
            measured = {
                name: Measured(
                    archive[f"m_{name}"],
                    tuple(entry["axes"]),
                    {axis: tuple(labels) for axis, labels in entry["labels"].items()},
                )
                for name, entry in meta.pop("axes").items()
            }
        return StoredCell(measured, meta)


def _set_aside(path: Path, what: str) -> None:
    aside = path.with_suffix(".corrupt")
    try:
        os.replace(path, aside)
    except FileNotFoundError:
        pass  # another process already renamed it
    except OSError as error:
        raise StoreError(
            f"cell {path} is {what} and cannot be moved aside: {error.strerror}"
        ) from error
    print(
        f"warning: cell {path} is {what}: moved to {aside.name}, it will be computed again",
        file=sys.stderr,
    )
