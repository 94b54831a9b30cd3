"""The command `export`, which writes the stored results of a preset to an archive."""

import time
from pathlib import Path

import click
import pandas as pd

from scaling_limits.commands import archive, upkeep
from scaling_limits.commands.invocation import Invocation, warn_of_faults
from scaling_limits.commands.readable import counted, size
from scaling_limits.configuration import Configuration
from scaling_limits.errors import ConfigurationError, StoreError
from scaling_limits.pipeline.checksums import ChangedError, is_computed, require_unchanged
from scaling_limits.pipeline.keys import cell_key, library_versions

RESULTS = Path("results")


def run(invocation: Invocation, preset: str, path: Path) -> None:
    """Write the archive of a preset, and print its contents.

    Args:
        invocation: the project's folder and changes to its configuration.
        preset: the name of the preset.
        path: the archive; an existing file is replaced.

    Raises:
        ConfigurationError: the preset does not exist, the configuration is invalid, or `path` is a folder.
        StoreError: a stored file cannot be read.
        WriteError: the archive cannot be written.
    """
    if path.is_dir():
        raise ConfigurationError(None, f"{path}: is a folder; name a file, as {path / preset}.zip")
    configuration = invocation.having("preset", preset, "PRESET").configuration()
    wanted = upkeep.used_keys([configuration])
    warn_of_faults([configuration])
    results = invocation.root / RESULTS
    stored = [
        entry.path
        for entry in upkeep.survey(invocation.store().folder, wanted, time.time())
        if entry.state is upkeep.State.CURRENT
    ]
    files: dict[str, Path] = {}
    members: dict[str, str] = {}
    sources: set[str] = set()
    for file in stored:
        content = archive.read_file(file)
        origin = upkeep.origin_of(content)
        if origin is None:
            raise StoreError(f"{file}: changed during the export; export again")
        sources.add(origin.source)
        member = f"cells/{file.parent.name}/{file.name}"
        files[member], members[member] = file, archive.checksum(content)
    folders = _finished(configuration, results)
    for folder in folders:
        for name in archive.FIGURE_FILES:
            file = folder / name
            member = file.relative_to(results).as_posix()
            files[member], members[member] = file, archive.checksum(archive.read_file(file))
    manifest = archive.Manifest(
        preset=preset,
        sources=tuple(sorted(sources)),
        libraries=library_versions(),
        members=members,
    )
    archive.write(path, manifest, files)
    print(
        f"Exported {len(stored):,} of {counted(len(wanted.keys), 'cell')} and "
        f"{counted(len(folders), 'figure')} of the preset {preset} to {path} ({size(path.stat().st_size)})."
    )


def _finished(configuration: Configuration, results: Path) -> list[Path]:
    """Return the folders of complete figures that show the current cells, and warn about other figures."""
    finished = []
    for paper in configuration.papers:
        for name in configuration.sound_figures(paper):
            folder = results / configuration.main.preset / paper / name
            if not is_computed(folder):
                continue
            try:
                require_unchanged([folder])
            except ChangedError as error:
                click.echo(f"warning: left out: {error}", err=True)
                continue
            if _is_current(configuration, paper, name, folder):
                finished.append(folder)
            else:
                click.echo(
                    f"warning: left out: {folder}: computed with another configuration, code or libraries",
                    err=True,
                )
    return finished


def _is_current(configuration: Configuration, paper: str, name: str, folder: Path) -> bool:
    """Return whether the cells of a finished figure are those of the current configuration.

    Args:
        configuration: the current configuration.
        paper: the slug.
        name: the figure.
        folder: the folder of its files.
    """
    _, experiment = configuration.paper(paper).figure(name)
    shown = pd.read_parquet(folder / "cells.parquet", columns=["cell_id"])["cell_id"]
    return set(shown) == {cell_key(cell) for cell in configuration.cells(paper, experiment)}
