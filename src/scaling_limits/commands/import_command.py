"""The command `import`, which adds the results of archives to the stored ones."""

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from scaling_limits.commands import archive, upkeep
from scaling_limits.commands.archive import Archive
from scaling_limits.commands.export_command import RESULTS
from scaling_limits.commands.invocation import Invocation, warn_of_faults
from scaling_limits.commands.readable import counted
from scaling_limits.configuration import Configuration
from scaling_limits.files import write_file, writing
from scaling_limits.pipeline.keys import library_versions
from scaling_limits.store import Store

OLD = 315532800
"""1980-01-01 in seconds since 1970, the modification time of imported files of figures."""


def run(invocation: Invocation, paths: Sequence[Path]) -> None:
    """Verify archives, add their cells and figures to the results, and print what was new.

    Args:
        invocation: the project's folder and changes to its configuration.
        paths: the archives; if several contain a cell or figure, the first one is used.

    Raises:
        ConfigurationError: the configuration is invalid; nothing is written.
        StoreError: an archive is damaged or cannot be read, and nothing is written; or a stored file cannot be read.
        WriteError: a file cannot be written; earlier files are kept, and the import can be repeated.
    """
    configurations = upkeep.configurations(invocation.root, invocation.changes)
    archives = [archive.verify(path) for path in paths]
    cells = {key for each in archives for key in each.cells}
    presets = {each.manifest.preset for each in archives}
    # reading all presets takes a minute, and the presets of the archives usually suffice
    configurations.sort(key=lambda each: each.main.preset not in presets)
    unused = _unused_keys(configurations, cells)
    store = invocation.store()
    new = sum(_add_cells(each, store) for each in archives)
    print(f"{counted(len(cells), 'cell')}: {new:,} new, {len(cells) - new:,} already there.")
    _add_figures(archives, invocation.root / RESULTS)
    if unused:
        print(
            f"No figure configured here asks for {len(unused):,} of these cells: they belong to another configuration "
            "(--set, --configfile), code or library versions. They are kept in the store but will never be used; "
            "`scaling-limits store prune` removes them."
        )
        for each in archives:
            differing = _differing_libraries(each)
            if differing:
                print(f"{each.path} was computed with {', '.join(differing)}.")


def _unused_keys(configurations: Sequence[Configuration], cells: set[str]) -> set[str]:
    """Return the keys of `cells` that no configuration uses; configurations are read until none is left."""
    unused = set(cells)
    for configuration in configurations:
        if not unused:
            break
        unused -= upkeep.used_keys([configuration]).keys.keys()
    if unused:
        warn_of_faults(configurations)
    return unused


def _add_cells(source: Archive, store: Store) -> int:
    """Write the cells that are missing or damaged here, and return their number."""
    missing = {key: name for key, name in source.cells.items() if not _is_stored(store.path(key))}
    contents = source.contents(list(missing.values()))
    for key, content in zip(missing, contents, strict=True):
        write_file(store.path(key), content)
    return len(missing)


def _is_stored(path: Path) -> bool:
    return path.is_file() and upkeep.origin_of(archive.read_file(path)) is not None


def _add_figures(archives: Sequence[Archive], results: Path) -> None:
    """Write the missing files of figures; print the number of figures, and the folders that differ."""
    new = there = 0
    conflicts = []
    for each in archives:
        for folder, names in each.figures.items():
            files = dict(zip(names, each.contents(names), strict=True))
            # an interrupted import may have written some of a figure's files
            here = {name: archive.read_file(results / name) for name in _computed(folder, results)}
            if here == files:
                there += 1
            elif here.items() <= files.items():
                new += 1
                for name in files.keys() - here.keys():
                    _write_old(results / name, files[name])
            else:
                conflicts.append(
                    f"{results / folder}: kept, it differs from the figure in {each.path}"
                )
    print(f"Figures: {new:,} new, {there:,} already there.", *conflicts, sep="\n")


def _write_old(path: Path, content: bytes) -> None:
    """Write a file that is older than all inputs of Snakemake's rules.

    Snakemake does not know with which configuration the file was made, so the next run must judge the figure again from
    the stored cells.
    """
    with writing(path) as file:
        file.write(content)
        file.flush()
        os.utime(file.fileno(), (OLD, OLD))


def _computed(folder: str, results: Path) -> list[str]:
    names = [str(PurePosixPath(folder, name)) for name in archive.FIGURE_FILES]
    return [name for name in names if (results / name).exists()]


def _differing_libraries(source: Archive) -> list[str]:
    """Return the libraries whose versions differ from those here, with both versions."""
    here = library_versions()
    return [
        f"{name} {version} (here {here.get(name, 'none')})"
        for name, version in sorted(source.manifest.libraries.items())
        if version != here.get(name)
    ]
