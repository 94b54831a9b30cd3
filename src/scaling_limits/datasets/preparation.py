"""From published files, on this machine or not, to a prepared dataset."""

import importlib
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from scaling_limits.datasets import catalogue, keras_npz, local, prepared, verify
from scaling_limits.datasets.corrupt import corrupt
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

    Args:
        name: the dataset.
        data_path: folder with copies, which are read and never changed. Without one, the official files are downloaded.
        downloads: in its folder `<name>` downloads are kept, and used if they are there.
        output: file to write.
        user: files of the user's datasets by name.
        wait: sleeps between attempts.
        report: is told of progress.

    Raises:
        ConfigurationError: there is no such dataset.
        DatasetError: `data_path` does not hold the dataset, and it was not downloaded before; a download is corrupt
            (it is then moved aside); or the dataset could not be downloaded.
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
    """Say what was looked for and where, which files do not serve and why, and what to do."""
    wanted = "\n    or ".join(
        dict.fromkeys(form for source in sources for form in local.forms(source))
    )
    is_published = any(source.mirrors for source in sources)
    if data_path is None:
        return f"{info.name} has no download: put it into a folder and name that in data.path, as\n    {wanted}"
    folders = dict.fromkeys(folder for copies in searched for folder in copies.folders)
    lines = [
        f"{info.name}: no complete copy in {data_path}{', and nothing was downloaded' if is_published else ''}",
        f"  looked for {wanted}",
        f"  looked in {', '.join(map(_readable, folders))}: there, and in folders there named after the dataset",
        *(f"  not used: {reason}" for reason in reasons),
        *(f"  missing: {', '.join(copies.missing)}" for copies in searched if copies.missing),
    ]
    download = ", or leave the folder out, and it is downloaded" if is_published else ""
    return "\n".join([*lines, f"Put all files of one of these forms there{download}"])


def _readable(folder: Path) -> str:
    return f"{folder}{'' if os.access(folder, os.R_OK | os.X_OK) else ' (which cannot be read)'}"


def _filenames(source: Source) -> list[str]:
    """The files that mirrors keep, of each payload or of the archive."""
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
