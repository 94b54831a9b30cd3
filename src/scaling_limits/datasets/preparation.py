"""Preparation of a dataset from published files, which are downloaded if necessary."""

import importlib
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from scaling_limits.datasets import catalogue, keras_npz, local, prepared, verify
from scaling_limits.datasets.corrupt import corrupt
from scaling_limits.datasets.description import DatasetInfo, Payload, Samples, Source
from scaling_limits.datasets.fetch import fetch
from scaling_limits.errors import DatasetError
from scaling_limits.files import writing


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

    Args:
        name: the dataset.
        data_path: folder with copies, which are read and never changed. If None, the official files are downloaded.
        downloads: folder in whose subfolder `<name>` downloads are kept; existing downloads are reused.
        output: file to write.
        user: files of the user's datasets by name.
        wait: pauses between attempts, for a number of seconds.
        report: receives messages about progress.

    Raises:
        ConfigurationError: there is no such dataset.
        DatasetError: `data_path` does not contain the dataset, and it was not downloaded before; a download is corrupt
            (it is then renamed); or the dataset could not be downloaded.
        WriteError: a file cannot be written; no partial file is left.
    """
    if name in user:
        info = catalogue.info(name, user)
        write(output, keras_npz.read(user[name]), info.checksum)
        return
    module = importlib.import_module(catalogue.module(name, user))
    info, sources = module.INFO, module.SOURCES
    samples = module.decode(_payloads(info, sources, data_path, downloads / name, wait, report))
    if not sources and (digest := prepared.digest(samples)) != info.checksum:
        raise DatasetError(
            f"{name}: expected digest {info.checksum}, found {digest}; another version of a library generated "
            "other samples"
        )
    write(output, samples, info.checksum)


def write(path: Path, samples: Samples, checksum: str) -> None:
    """Write the prepared form of a dataset atomically.

    Args:
        path: the file to write; its folder is created if it is missing.
        samples: the decoded samples.
        checksum: checksum of the published content from which they were decoded.

    Raises:
        WriteError: the file cannot be written; no partial file is left, and an older file is unchanged.
    """
    arrays: dict[str, Any] = prepared.arrays(samples)
    with writing(path) as file:
        np.savez(
            file,
            **arrays,
            maximum=np.float64(samples.maximum),
            checksum=np.array(checksum),
            digest=np.array(prepared.digest(samples)),
        )


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
    searched = [] if data_path is None else [local.find(source, data_path) for source in sources]
    reasons: list[str] = []
    for copies in searched:
        verified = verify.read(copies, reasons)
        if verified is not None:
            for reason in reasons:
                report(f"{info.name}: not used: {reason}")
            report(f"{info.name}: using {verified.folder}")
            return verified.payloads
    published = next((source for source in sources if source.mirrors), None)
    if published is None or (data_path is not None and not _downloaded(published, folder)):
        raise DatasetError(_absent(info, sources, data_path, searched, reasons))
    if data_path is not None:
        report(f"{info.name}: no complete copy in {data_path}; using {folder}")
    return _download(published, folder, wait, report)


def _absent(
    info: DatasetInfo,
    sources: tuple[Source, ...],
    data_path: Path | None,
    searched: Sequence[local.Copies],
    reasons: Sequence[str],
) -> str:
    """Describe which files were searched and where, which files are unusable and why, and what to do."""
    wanted = "\n    or ".join(
        dict.fromkeys(name for source in sources for name in local.formats(source))
    )
    is_published = any(source.mirrors for source in sources)
    if data_path is None:
        return (
            f"{info.name} cannot be downloaded: put it into a folder and set data.path to this folder; "
            f"expected\n    {wanted}"
        )
    folders = dict.fromkeys(folder for copies in searched for folder in copies.folders)
    lines = [
        f"{info.name}: no complete copy in {data_path}{', and nothing was downloaded' if is_published else ''}",
        f"  expected {wanted}",
        f"  searched: {', '.join(map(_readable, folders))}, and their subfolders named after the dataset",
        *(f"  not used: {reason}" for reason in reasons),
        *(f"  missing: {', '.join(copies.missing)}" for copies in searched if copies.missing),
    ]
    download = ", or remove data.path to download the dataset" if is_published else ""
    return "\n".join([*lines, f"Put all files of one of these formats there{download}"])


def _readable(folder: Path) -> str:
    return f"{folder}{'' if os.access(folder, os.R_OK | os.X_OK) else ' (not readable)'}"


def _filenames(source: Source) -> list[str]:
    """Return the names of the files on the mirrors: each payload, or the archive."""
    if source.archive:
        return [source.archive]
    return [f"{payload.name}.gz" if source.gzipped else payload.name for payload in source.payloads]


def _downloaded(source: Source, folder: Path) -> bool:
    return all((folder / filename).exists() for filename in _filenames(source))


def _download(
    source: Source, folder: Path, wait: Callable[[float], None], report: Callable[[str], None]
) -> dict[str, bytes]:
    def get(filename: str, read: Callable[[Path], dict[str, bytes]]) -> dict[str, bytes]:
        def check(path: Path) -> dict[str, bytes]:
            try:
                return read(path)
            except verify.MismatchError as error:
                raise corrupt(path, expected=error.expected, found=error.found) from error

        if (folder / filename).exists():
            return check(folder / filename)
        urls = [mirror + filename for mirror in source.mirrors]
        return fetch(urls, folder / filename, check=check, wait=wait, report=report)

    filenames = _filenames(source)
    if source.archive:
        return get(filenames[0], partial(verify.read_archive, source))
    payloads: dict[str, bytes] = {}
    for payload, filename in zip(source.payloads, filenames, strict=True):
        payloads |= get(filename, partial(_read_one, payload))
    return payloads


def _read_one(payload: Payload, path: Path) -> dict[str, bytes]:
    return {payload.name: verify.read_payload(payload, path)}
