"""From published files, on this machine or not, to a prepared dataset."""

import importlib
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from scaling_limits.datasets import catalogue, keras_npz, local, prepared, verify
from scaling_limits.datasets.description import DatasetInfo, Payload, Samples, Source
from scaling_limits.datasets.fetch import fetch
from scaling_limits.errors import DatasetError
from scaling_limits.files import unwritable


def _print(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def prepare(
    name: str,
    *,
    data_path: Path | None,
    downloads: Path,
    output: Path,
    user: Mapping[str, Path],
    wait: Callable[[float], None] = time.sleep,
    report: Callable[[str], None] = _print,
) -> None:
    """Write the dataset `name` to `output` (see `prepared`).

    A copy under `data_path` is used if there is one; otherwise the official files are downloaded
    into `downloads/<name>` and kept there. `wait` sleeps between attempts, `report` is told of
    progress.

    Raises:
        ConfigurationError: there is no such dataset.
        DatasetError: a file is corrupt (it is named and moved aside), missing or not to be had.
        WriteError: a file cannot be written; nothing of it is left behind.
    """
    if name in user:
        info = catalogue.info(name, user)
        _write(output, keras_npz.read(user[name]), info.checksum)
        return
    module = importlib.import_module(catalogue.module(name, user))
    info, sources = module.INFO, module.SOURCES
    samples = module.decode(_payloads(info, sources, data_path, downloads / name, wait, report))
    if not sources and prepared.digest(samples) != info.checksum:
        found = prepared.digest(samples)
        raise DatasetError(
            f"{name}: expected {info.checksum}, found {found}: another version of a library made it"
        )
    _write(output, samples, info.checksum)


def _write(output: Path, samples: Samples, checksum: str) -> None:
    try:
        prepared.write(output, samples, checksum)
    except OSError as error:
        raise unwritable(output, error) from error


def _payloads(
    info: DatasetInfo,
    sources: tuple[Source, ...],
    data_path: Path | None,
    folder: Path,
    wait: Callable[[float], None],
    report: Callable[[str], None],
) -> dict[str, bytes]:
    if not sources:
        return {}
    for source in sources:
        for copy in local.copies(source, data_path):
            try:
                payloads = verify.read(copy)
            except verify.OtherDatasetError as error:
                report(f"{info.name}: {error}; not used")
                continue
            report(f"{info.name}: using {copy.files[0].parent}")
            return payloads
        if lack := local.lacking(source, data_path):
            report(f"{info.name}: {lack}; not used")
    published = next((source for source in sources if source.mirrors), None)
    if published is None:
        wanted = ", ".join(payload.name for source in sources for payload in source.payloads)
        raise DatasetError(
            f"{info.name} has no download: {wanted} not found under data.path ({data_path})"
        )
    return _download(published, folder, wait, report)


def _download(
    source: Source, folder: Path, wait: Callable[[float], None], report: Callable[[str], None]
) -> dict[str, bytes]:
    def get(filename: str, check: Callable[[Path], dict[str, bytes]]) -> dict[str, bytes]:
        if (folder / filename).exists():
            return check(folder / filename)
        urls = [mirror + filename for mirror in source.mirrors]
        return fetch(urls, folder / filename, check=check, wait=wait, report=report)

    if source.archive:
        return get(source.archive, partial(verify.read_archive, source))
    payloads: dict[str, bytes] = {}
    for payload in source.payloads:
        filename = f"{payload.name}.gz" if source.gzipped else payload.name
        payloads |= get(filename, partial(_read_one, payload))
    return payloads


def _read_one(payload: Payload, path: Path) -> dict[str, bytes]:
    # in our own folder a namesake is a wrong file like any other
    return {payload.name: verify.read_payload(replace(payload, namesake=""), path)}
